#include "harness/cli/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <system_error>
#include <utility>

#include "harness/run/file_descriptor.hpp"
#include "harness/run/plan.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

// A path is shown whole where it is of a length that people use.
std::string shown_path(const std::filesystem::path& file) {
  constexpr std::size_t kMaxChars = 300;
  return printable(file.string(), kMaxChars);
}

}  // namespace

OutputFile::OutputFile(std::string_view option, std::filesystem::path file)
    : file_(std::move(file)) {
  if (create(option)) return;
  throw UsageError(
      fmt::format("{}: {} already exists and is not overwritten", option, shown_path(file_)));
}

OutputFile::OutputFile(std::string_view option, const std::filesystem::path& folder,
                       const std::string& name) {
  for (int number = 1;; ++number) {
    file_ = folder / (number == 1 ? name + ".json" : fmt::format("{}-{}.json", name, number));
    if (create(option)) return;
  }
}

OutputFile::~OutputFile() {
  std::error_code error;
  if (std::filesystem::file_size(file_, error) == 0) std::filesystem::remove(file_, error);
}

bool OutputFile::create(std::string_view option) const {
  const FileDescriptor fd(::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() >= 0) return true;
  if (errno == EEXIST) return false;
  const int why = errno;
  const std::filesystem::path folder = file_.parent_path();
  if (std::error_code ignored; why == ENOENT && !std::filesystem::exists(folder, ignored))
    throw UsageError(fmt::format("{}: {}: there is no directory {}", option, shown_path(file_),
                                 shown_path(folder)));
  throw UsageError(
      fmt::format("{}: {}: cannot be written: {}", option, shown_path(file_), std::strerror(why)));
}

std::string file_name_part(std::string_view hostname) {
  constexpr std::size_t kMaxChars = 64;  // Linux's own limit for a host's name
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  std::string part(hostname);
  std::ranges::replace_if(part, std::not_fn(fits), '-');
  // Neither a hidden file nor what a command takes for an option.
  part.erase(0, part.find_first_not_of(".-"));
  part = part.substr(0, kMaxChars);
  return part.empty() ? "host" : part;
}

}  // namespace peakline::bench
