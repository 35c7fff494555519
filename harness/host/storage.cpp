#include "harness/host/storage.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <sstream>

#include "harness/values/units.hpp"

namespace peakline::host {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kWriteBytes = std::size_t{4} << 20;
// For the file system's own needs and other writers.
constexpr double kSpareShare = 0.02;
// Above the descriptors of a worker's pipes.
constexpr int kLowestDescriptor = 64;

std::string why(int error) { return std::strerror(error); }

// mountinfo fields of the longest mount point above a directory, the last of equals.
struct Mount {
  std::string point, options, file_system, source;
};

std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool octal = text[i] == '\\' && i + 3 < text.size();
    plain +=
        octal ? static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8)) : text[i];
    if (octal) i += 3;
  }
  return plain;
}

bool lies_under(const fs::path& path, const fs::path& point) {
  const auto [end, ignored] = std::mismatch(point.begin(), point.end(), path.begin(), path.end());
  return end == point.end() || (end->empty() && std::next(end) == point.end());
}

Mount mount_of(const fs::path& directory) {
  std::ifstream lines("/proc/self/mountinfo");
  Mount found;
  for (std::string line; std::getline(lines, line);) {
    // "36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/root rw,errors=continue"
    std::istringstream words(line);
    std::string skipped, point, options, word;
    words >> skipped >> skipped >> skipped >> skipped >> point >> options;
    while (words >> word && word != "-") {
    }
    Mount mount{.point = unescaped(point), .options = options, .file_system = {}, .source = {}};
    words >> mount.file_system >> mount.source;
    mount.source = unescaped(mount.source);
    if (mount.point.size() >= found.point.size() && lies_under(directory, mount.point))
      found = std::move(mount);
  }
  return found;
}

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
  return line;
}

// The sysfs folder of a whole disk, also for a partition; empty without one.
fs::path disk_of(dev_t device) {
  std::error_code error;
  fs::path folder = fs::canonical(
      fmt::format("/sys/dev/block/{}:{}", gnu_dev_major(device), gnu_dev_minor(device)), error);
  if (error) return {};
  return fs::exists(folder / "partition", error) ? folder.parent_path() : folder;
}

// Opens an unnamed file, or unlinks a named one at once where the file system has none.
int open_unnamed(const fs::path& directory) {
  int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) return -1;
  std::string name = (directory / ".peakline-XXXXXX").string();
  descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor >= 0) ::unlink(name.c_str());
  return descriptor;
}

// Reopens the file with other flags; -1 and errno if the file system refuses.
int reopened(int descriptor, int flags) {
  return ::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), flags | O_CLOEXEC);
}

// Moves a descriptor above those of a worker's pipes, so that workers inherit it.
int kept_open(int descriptor) {
  const int kept = ::fcntl(descriptor, F_DUPFD, kLowestDescriptor);
  const int error = errno;
  ::close(descriptor);
  if (kept < 0) throw StorageError("cannot keep the file open: " + why(error));
  return kept;
}

void fill(int descriptor, std::size_t bytes) {
  const BlockBuffer buffer(kWriteBytes);
  auto* const words = reinterpret_cast<std::uint64_t*>(buffer.data());
  constexpr std::size_t kWords = kWriteBytes / sizeof(std::uint64_t);
  for (std::size_t done = 0; done < bytes;) {
    for (std::size_t i = 0; i < kWords; ++i)
      words[i] = stored_word(done / sizeof(std::uint64_t) + i);
    for (std::size_t written = 0; written < kWriteBytes;) {
      const ssize_t n = ::pwrite(descriptor, buffer.data() + written, kWriteBytes - written,
                                 static_cast<off_t>(done + written));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0)
        throw StorageError(fmt::format("could not write {}: {}",
                                       format_size(static_cast<double>(bytes)),
                                       why(n < 0 ? errno : ENOSPC)));
      written += static_cast<std::size_t>(n);
    }
    done += kWriteBytes;
  }
  if (::fsync(descriptor) != 0) throw StorageError("could not write to disk: " + why(errno));
}

}  // namespace

StorageFacts storage_facts(const fs::path& directory) {
  std::error_code error;
  const fs::path path = fs::canonical(directory, error);
  StorageFacts facts;
  facts.path = (error ? directory : path).string();
  const Mount mount = mount_of(error ? directory : path);
  facts.file_system = mount.file_system;
  facts.source = mount.source;
  facts.mount_options = mount.options;
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return facts;
  const fs::path disk = disk_of(status.st_dev);
  if (!disk.empty()) facts.device_model = first_line(disk / "device/model");
  return facts;
}

void check_storage(const fs::path& directory, std::size_t bytes) {
  std::error_code error;
  if (!fs::is_directory(directory, error))
    throw StorageError(fs::exists(directory, error) ? "not a directory" : "no such directory");
  struct statvfs space {};
  if (::statvfs(directory.c_str(), &space) != 0) throw StorageError(why(errno));
  const double free = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  const auto wanted = static_cast<double>(bytes);
  const bool limited = space.f_blocks != 0;  // ramfs reports none: memory is the limit
  if (limited && wanted * (1 + kSpareShare) > free)
    throw StorageError(
        fmt::format("{} do not fit into the {} that are free; --storage-size takes less",
                    format_size(wanted), format_size(free)));
}

StorageFile::StorageFile(const fs::path& directory, std::size_t bytes) : bytes_(bytes) {
  check_storage(directory, bytes);
  const int plain = open_unnamed(directory);
  if (plain < 0) throw StorageError("no file can be made there: " + why(errno));
  const int direct = reopened(plain, O_RDWR | O_DIRECT);
  if (direct >= 0) ::close(plain);
  descriptor_ = kept_open(direct >= 0 ? direct : plain);
  try {
    fill(descriptor_, bytes);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

StorageFile::StorageFile(int descriptor) : descriptor_(descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw StorageError(why(errno));
  bytes_ = static_cast<std::size_t>(status.st_size);
}

StorageFile::~StorageFile() { ::close(descriptor_); }

bool StorageFile::direct() const {
  const int flags = ::fcntl(descriptor_, F_GETFL);
  return flags >= 0 && (flags & O_DIRECT) != 0;
}

void StorageFile::drop_cached() const { ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); }

int StorageFile::read(std::uint64_t offset, std::size_t bytes, std::byte* to) const {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n =
        ::pread(descriptor_, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

std::unique_ptr<StorageFile> StorageFile::cached() const {
  const int again = reopened(descriptor_, O_RDONLY);
  if (again < 0) throw StorageError("the file cannot be opened again: " + why(errno));
  return std::make_unique<StorageFile>(again);
}

BlockBuffer::BlockBuffer(std::size_t bytes)
    : data_(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes))) {
  if (!data_) throw std::bad_alloc();
}
void BlockBuffer::Free::operator()(std::byte* memory) const { std::free(memory); }

}  // namespace peakline::host
