#include "harness/profile/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "harness/profile/document.hpp"
#include "harness/profile/gzip.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/values/text.hpp"

namespace peakline {

using namespace profile_format;

namespace {

constexpr std::string_view kZipped = ".json.gz";

// Other writers, or an attacker, may take names.
constexpr int kNameAttempts = 100;

// Texts above this size are read one at a time: a hostile one takes 25 times its size in memory, so
// four smaller ones take no more than one of kMaxBytes.
constexpr std::size_t kLarge = kMaxBytes / 4;

std::string system_error() { return std::strerror(errno); }

// Shortens only absurdly long paths.
std::string shown_path(const std::filesystem::path& file) {
  constexpr std::size_t kMaxChars = 300;
  return printable(file.string(), kMaxChars);
}

[[noreturn]] void fail() { throw std::system_error(errno, std::generic_category()); }

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail();
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// A temporary file in the target's folder, removed unless it takes the target's name. Only a writer
// who is killed leaves one.
class NewFile {
 public:
  // This and the other functions throw std::system_error.
  explicit NewFile(std::filesystem::path target) : target_(std::move(target)) {
    // Without the target's name, which may have the maximum length.
    for (int i = 0; fd_ < 0 && i < kNameAttempts; ++i) {
      name_ = target_.parent_path() / fmt::format(".peakline-{}-{}.tmp", getpid(), i);
      fd_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd_ < 0 && errno != EEXIST) break;
    }
    if (fd_ < 0) fail();
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    ::close(fd_);
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  void write(std::string_view text) {
    write_all(fd_, text);
    // Content before name: a power cut must not leave an empty file.
    if (::fsync(fd_) != 0 && errno != EINVAL) fail();
  }

  // Takes the target's name; false if it exists.
  bool create() {
    if (rename(RENAME_NOREPLACE) == 0) return true;
    if (errno == EINVAL || errno == ENOSYS) {
      // The file system cannot, as NFS: reserve the name first.
      const int taken = ::open(target_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (taken >= 0) {
        ::close(taken);
        replace();
        return true;
      }
    }
    if (errno != EEXIST) fail();
    return false;
  }

  void replace() {
    if (rename(0) != 0) fail();
  }

 private:
  int rename(unsigned flags) {
    const int result = ::renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, target_.c_str(), flags);
    if (result == 0) name_.clear();
    return result;
  }

  std::filesystem::path target_;
  std::filesystem::path name_;  // temporary; empty: none
  int fd_ = -1;
};

// Turns errors of `write` into a ProfileError.
auto writing(const std::filesystem::path& file, const auto& write) {
  try {
    return write();
  } catch (const std::system_error& error) {
    const std::filesystem::path folder = file.parent_path();
    std::error_code ignored;
    if (error.code() == std::errc::no_such_file_or_directory &&
        !std::filesystem::exists(folder, ignored))
      throw ProfileError(
          fmt::format("{}: there is no directory {}", shown_path(file), shown_path(folder)));
    throw ProfileError(
        fmt::format("{}: cannot be written: {}", shown_path(file), error.code().message()));
  }
}

// The standard stream behind a file such as /dev/stdout, or -1; opening it would overwrite.
int standard_stream(const struct stat& file) {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat stream = {};
    if (::fstat(fd, &stream) == 0 && stream.st_dev == file.st_dev && stream.st_ino == file.st_ino)
      return fd;
  }
  return -1;
}

bool begins_with(const std::filesystem::path& file, std::string_view beginning) {
  std::ifstream in(file, std::ios::binary);
  std::string found(beginning.size(), '\0');
  return in.read(found.data(), static_cast<std::streamsize>(found.size())) && found == beginning;
}

struct ReportTarget {
  bool stream = false;
  int fd = -1;                 // of a standard stream
  std::filesystem::path file;  // symbolic links resolved; they stay
};

// Decides how a report is written. Throws ProfileError or std::system_error.
ReportTarget report_target(const std::filesystem::path& file, std::string_view beginning) {
  if (file.empty()) throw ProfileError("a file without a name cannot be written");
  struct stat found = {};
  if (::stat(file.c_str(), &found) != 0) {
    if (errno != ENOENT) fail();
    if (::lstat(file.c_str(), &found) == 0)
      throw ProfileError(shown_path(file) + ": a link that leads nowhere");
    return {.file = file};
  }
  const int fd = standard_stream(found);
  if (fd >= 0 || S_ISCHR(found.st_mode) || S_ISFIFO(found.st_mode))
    return {.stream = true, .fd = fd, .file = file};
  if (!S_ISREG(found.st_mode))
    throw ProfileError(shown_path(file) + ": expected a file, a pipe or a character device");
  if (found.st_size > 0 && !begins_with(file, beginning))
    throw ProfileError(shown_path(file) +
                       ": not an earlier report of this kind, so it is not overwritten");
  return {.file = std::filesystem::canonical(file)};
}

void write_stream(const ReportTarget& target, std::string_view text) {
  const int fd = target.fd >= 0 ? ::fcntl(target.fd, F_DUPFD_CLOEXEC, 0)
                                : ::open(target.file.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) fail();
  const std::unique_ptr<const int, void (*)(const int*)> closing(&fd,
                                                                 [](const int* f) { ::close(*f); });
  write_all(fd, text);
}

std::string packed(const Profile& profile, const std::filesystem::path& file) {
  const std::string text = to_json(profile);
  return file.string().ends_with(kZipped) ? zipped(text) : text;
}

}  // namespace

namespace profile_format {

std::string read_text(const std::filesystem::path& file) {
  const std::string name = file.string();
  if (name.empty()) throw ProfileError("a file without a name cannot be read");
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::none)
    throw ProfileError(fmt::format("{}: cannot be read: {}", name, error.message()));
  if (!std::filesystem::exists(status)) throw ProfileError(name + ": no such file");
  if (std::filesystem::is_directory(status)) {
    throw ProfileError(name + ": a directory, not a profile");
  }
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) throw ProfileError(fmt::format("{}: cannot be read: {}", name, system_error()));
  const auto too_large = [&] {
    return ProfileError(
        fmt::format("{}: larger than {} MiB: not a profile", name, kMaxBytes >> 20));
  };
  // Pipes have no size, so read up to the limit.
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (in.read(chunk.data(), chunk.size()) || in.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMaxBytes) throw too_large();
  }
  if (in.bad()) throw ProfileError(fmt::format("{}: cannot be read: {}", name, system_error()));
  if (!is_gzip(text)) return text;
  std::optional<std::string> unpacked = unzipped(text, kMaxBytes, name);
  if (!unpacked) throw too_large();
  return *std::move(unpacked);
}

void write_text(std::string_view text, const std::filesystem::path& file) {
  writing(file, [&] {
    NewFile written(file);
    written.write(text);
    written.replace();
  });
}

bool create_text(std::string_view text, const std::filesystem::path& file) {
  return writing(file, [&] {
    NewFile written(file);
    written.write(text);
    return written.create();
  });
}

void require_report_file(const std::filesystem::path& file, std::string_view beginning) {
  writing(file, [&] {
    const ReportTarget target = report_target(file, beginning);
    if (!target.stream)
      const NewFile attempt(target.file);
    else if (target.fd < 0 && ::access(file.c_str(), W_OK) != 0)
      fail();
  });
}

std::string earlier_report(const std::filesystem::path& file, std::string_view beginning) {
  return writing(file, [&] {
    const ReportTarget target = report_target(file, beginning);
    std::error_code error;
    return target.stream || !std::filesystem::exists(target.file, error) ? std::string()
                                                                         : read_text(target.file);
  });
}

void write_report(std::string_view text, const std::filesystem::path& file,
                  std::string_view beginning) {
  writing(file, [&] {
    const ReportTarget target = report_target(file, beginning);
    if (target.stream)
      write_stream(target, text);
    else
      write_text(text, target.file);
  });
}

}  // namespace profile_format

bool is_profile_name(const std::filesystem::path& file) {
  return file.extension() == ".json" || file.string().ends_with(kZipped);
}

Profile read_profile(const std::filesystem::path& file) {
  const std::string name = file.string();
  static std::mutex large;
  try {
    const std::string text = read_text(file);
    std::unique_lock lock(large, std::defer_lock);
    if (text.size() > kLarge) lock.lock();
    return profile_from_json(text, name);
  } catch (const std::bad_alloc&) {
    throw ProfileError(name + ": too large for this machine's memory");
  }
}

std::vector<Population> read_populations(const std::filesystem::path& file) {
  return populations_from_json(read_text(file), file.string());
}

void write_profile(const Profile& profile, const std::filesystem::path& file) {
  write_text(packed(profile, file), file);
}

bool create_profile(const Profile& profile, const std::filesystem::path& file) {
  return create_text(packed(profile, file), file);
}

}  // namespace peakline
