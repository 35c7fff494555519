#pragma once

// A file to read from: incompressible data in a directory that the user names, and readers of it.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "harness/host/random_word.hpp"
#include "harness/values/facts.hpp"

namespace peakline::host {

struct StorageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Says where a directory lies, by /proc/self/mountinfo and sysfs; what they do not say stays empty.
StorageFacts storage_facts(const std::filesystem::path& directory);

// The 64-bit word at that place of a file: nothing compresses what they make up.
inline std::uint64_t stored_word(std::uint64_t place) { return random_word(0, place); }

// Throws StorageError, with the reason, where no file of that size can be made: no such directory,
// not enough space.
void check_storage(const std::filesystem::path& directory, std::size_t bytes);

// The file has no name, so that it is gone when the last process that has it open ends, however
// that ends. Readers get the descriptor.
class StorageFile {
 public:
  // Fills `bytes`, a multiple of kStorageUnit, past the page cache where the file system allows it.
  // Throws what check_storage() throws, and StorageError where writing fails.
  StorageFile(const std::filesystem::path& directory, std::size_t bytes);
  // One that another process has filled.
  explicit StorageFile(int descriptor);
  ~StorageFile();
  StorageFile(const StorageFile&) = delete;
  StorageFile& operator=(const StorageFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::size_t bytes() const { return bytes_; }
  // Whether reads go past the page cache.
  bool direct() const;
  // Forgets what the page cache has of it.
  void drop_cached() const;
  // Reads so many bytes from that place on. Returns 0, or an errno: EIO at the end of the file.
  int read(std::uint64_t offset, std::size_t bytes, std::byte* to) const;
  // Opens the file by way of the page cache.
  std::unique_ptr<StorageFile> cached() const;

 private:
  int descriptor_ = -1;
  std::size_t bytes_ = 0;
};

// Files consist of whole units, and blocks divide a unit.
inline constexpr std::size_t kStorageUnit = std::size_t{64} << 20;

// Memory that O_DIRECT takes.
class BlockBuffer {
 public:
  explicit BlockBuffer(std::size_t bytes);
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> data_;
};

// Reads blocks with `depth` of them under way.
class BlockReader {
 public:
  // Receives a block that was read: its number, as place_of gave it, and its bytes.
  using Seen = std::function<void(std::uint64_t block, const std::byte* data)>;
  using PlaceOf = std::function<std::uint64_t(std::uint64_t i)>;

  virtual ~BlockReader() = default;
  // Reads `count` blocks, the i-th that of place_of(first + i); waits. Throws StorageError. seen:
  // for each of them, from one thread at a time; empty for none.
  virtual void read(std::uint64_t first, std::uint64_t count, const PlaceOf& place_of,
                    const Seen& seen = {}) = 0;
  // "io_uring" or "threads".
  virtual std::string engine() const = 0;
};

// io_uring reads where the kernel allows it, else `depth` threads. The reader belongs to the thread
// that makes it.
std::unique_ptr<BlockReader> make_block_reader(const StorageFile& file, std::size_t block_bytes,
                                               int depth);
// The two of which it chooses; the first is null where the kernel has none for us.
std::unique_ptr<BlockReader> make_uring_reader(const StorageFile& file, std::size_t block_bytes,
                                               int depth);
std::unique_ptr<BlockReader> make_thread_reader(const StorageFile& file, std::size_t block_bytes,
                                                int depth);

}  // namespace peakline::host
