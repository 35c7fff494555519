#pragma once

// A file of incompressible data in a directory that the user names, and its readers.

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

// Describes where a directory lies, by /proc/self/mountinfo and sysfs; unknown fields stay empty.
StorageFacts storage_facts(const std::filesystem::path& directory);

// The 64-bit word at a place of the file; the words are incompressible.
inline std::uint64_t stored_word(std::uint64_t place) { return random_word(0, place); }

// Throws StorageError with the reason if no file of that size can be made.
void check_storage(const std::filesystem::path& directory, std::size_t bytes);

// An unnamed file, which disappears with the last process that has it open, even if killed.
class StorageFile {
 public:
  // Writes `bytes`, a multiple of kStorageUnit, past the page cache if possible. Throws
  // StorageError.
  StorageFile(const std::filesystem::path& directory, std::size_t bytes);
  // Takes a file that another process has filled.
  explicit StorageFile(int descriptor);
  ~StorageFile();
  StorageFile(const StorageFile&) = delete;
  StorageFile& operator=(const StorageFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::size_t bytes() const { return bytes_; }
  bool direct() const;
  void drop_cached() const;
  // Returns 0 or an errno; EIO at the end of the file.
  int read(std::uint64_t offset, std::size_t bytes, std::byte* to) const;
  // Reopens the file with the page cache.
  std::unique_ptr<StorageFile> cached() const;

 private:
  int descriptor_ = -1;
  std::size_t bytes_ = 0;
};

// Files consist of whole units; blocks divide a unit.
inline constexpr std::size_t kStorageUnit = std::size_t{64} << 20;

// Memory aligned for O_DIRECT.
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

// Reads blocks, `depth` at a time.
class BlockReader {
 public:
  // block: as place_of returned it.
  using Seen = std::function<void(std::uint64_t block, const std::byte* data)>;
  using PlaceOf = std::function<std::uint64_t(std::uint64_t i)>;

  virtual ~BlockReader() = default;
  // Reads `count` blocks, number place_of(first + i) each, and waits. Throws StorageError. seen:
  // called for each block, by one thread at a time.
  virtual void read(std::uint64_t first, std::uint64_t count, const PlaceOf& place_of,
                    const Seen& seen = {}) = 0;
  virtual std::string engine() const = 0;
};

// io_uring if allowed, else `depth` threads. Use the reader on the thread that made it.
std::unique_ptr<BlockReader> make_block_reader(const StorageFile& file, std::size_t block_bytes,
                                               int depth);
// nullptr where the kernel refuses io_uring.
std::unique_ptr<BlockReader> make_uring_reader(const StorageFile& file, std::size_t block_bytes,
                                               int depth);
std::unique_ptr<BlockReader> make_thread_reader(const StorageFile& file, std::size_t block_bytes,
                                                int depth);

}  // namespace peakline::host
