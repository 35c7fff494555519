#include "harness/profile/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>

#include "harness/profile/document.hpp"
#include "harness/profile/gzip.hpp"
#include "harness/profile/profile.hpp"

namespace peakline {

using namespace profile_format;

namespace {

constexpr std::string_view kZipped = ".json.gz";

// Names of the temporary file may be taken by runs that were killed, or by an attacker.
constexpr int kNameAttempts = 100;

// Threads read texts above this one at a time: a hostile one takes fourteen times its size, so that
// four below it take what one of kMaxBytes does.
constexpr std::size_t kLarge = kMaxBytes / 4;

std::string system_error() { return std::strerror(errno); }

// A new file beside the target, which is removed again unless it takes the target's place.
class TemporaryFile {
 public:
  // Throws std::system_error, as the other functions do.
  explicit TemporaryFile(const std::filesystem::path& target) {
    for (int i = 0; i < kNameAttempts; ++i) {
      path_ = target.parent_path() /
              fmt::format(".{}.{}.{}.tmp", target.filename().string(), getpid(), i);
      fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (fd_ >= 0 || errno != EEXIST) break;
    }
    if (fd_ < 0) fail();
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::write(fd_, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail();
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    // On disk before the rename, or a power cut could leave an empty file under the final name.
    if (::fsync(fd_) != 0 && errno != EINVAL) fail();
  }

  void replace(const std::filesystem::path& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) fail();
    path_.clear();
  }

 private:
  [[noreturn]] static void fail() { throw std::system_error(errno, std::generic_category()); }

  std::filesystem::path path_;  // empty: renamed
  int fd_ = -1;
};

}  // namespace

namespace profile_format {

std::string read_text(const std::filesystem::path& file) {
  const std::string name = file.string();
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
  // Read up to the limit instead of asking for the size, which pipes do not have.
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
  try {
    TemporaryFile temporary(file);
    temporary.write(text);
    temporary.replace(file);
  } catch (const std::system_error& error) {
    throw ProfileError(
        fmt::format("{}: cannot be written: {}", file.string(), error.code().message()));
  }
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

void write_profile(const Profile& profile, const std::filesystem::path& file) {
  const std::string text = to_json(profile);
  write_text(file.string().ends_with(kZipped) ? zipped(text) : text, file);
}

}  // namespace peakline
