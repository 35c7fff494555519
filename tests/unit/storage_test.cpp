// The file that storage is measured with: its content, that it has no name, and its readers.

#include "harness/host/storage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <set>
#include <string>

namespace peakline::host {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kBlock = 64 << 10;

class StorageTest : public testing::Test {
 protected:
  StorageTest() {
    std::string name = (fs::temp_directory_path() / "peakline-test-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~StorageTest() override { fs::remove_all(directory_); }

  static void expect_reads_it(BlockReader& reader, std::uint64_t count) {
    std::multiset<std::uint64_t> seen;
    std::uint64_t wrong = 0;
    reader.read(
        3, count, [](std::uint64_t i) { return i % 8; },
        [&](std::uint64_t block, const std::byte* data) {
          seen.insert(block);
          const auto* const words = reinterpret_cast<const std::uint64_t*>(data);
          for (std::size_t i = 0; i < kBlock / 8; ++i)
            wrong += words[i] != stored_word(block * (kBlock / 8) + i);
        });
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(seen.size(), count);
    EXPECT_EQ(seen.count(3), (count + 7) / 8);
  }

  fs::path directory_;
};

TEST_F(StorageTest, TheFileHasNoName) {
  const StorageFile file(directory_, kStorageUnit);
  EXPECT_EQ(file.bytes(), kStorageUnit);
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(StorageTest, BothReadersReadWhatWasWritten) {
  const StorageFile file(directory_, kStorageUnit);
  for (const int depth : {1, 4, 40}) {
    expect_reads_it(*make_thread_reader(file, kBlock, depth), 33);
    if (const auto uring = make_uring_reader(file, kBlock, depth)) expect_reads_it(*uring, 33);
  }
  const auto cached = file.cached();
  EXPECT_FALSE(cached->direct());
  EXPECT_EQ(cached->bytes(), file.bytes());
  expect_reads_it(*make_thread_reader(*cached, kBlock, 2), 8);
}

TEST_F(StorageTest, ReadingBeyondTheEndIsAnError) {
  const StorageFile file(directory_, kStorageUnit);
  const auto beyond = [](std::uint64_t) { return std::uint64_t{1} << 20; };
  EXPECT_THROW(make_thread_reader(file, kBlock, 2)->read(0, 4, beyond), StorageError);
  if (const auto uring = make_uring_reader(file, kBlock, 2)) {
    EXPECT_THROW(uring->read(0, 4, beyond), StorageError);
  }
}

TEST_F(StorageTest, WhereThereCanBeNoFile) {
  EXPECT_THAT([&] { StorageFile(directory_ / "none", kStorageUnit); },
              ThrowsMessage<StorageError>("no such directory"));
  EXPECT_THAT([&] { StorageFile(directory_, std::size_t{1} << 60); },
              ThrowsMessage<StorageError>(HasSubstr("--storage-size takes less")));
  EXPECT_THROW(StorageFile("/proc/self", kStorageUnit), StorageError);
}

TEST(StorageFacts, SaysWhatIsMounted) {
  const StorageFacts shared = storage_facts("/dev/shm");
  EXPECT_EQ(shared.file_system, "tmpfs");
  EXPECT_THAT(shared.mount_options, HasSubstr("rw"));
  const StorageFacts root = storage_facts("/");
  EXPECT_FALSE(root.file_system.empty());
  EXPECT_EQ(root.path, "/");
}

}  // namespace
}  // namespace peakline::host
