#include "harness/cli/output_file.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "harness/profile/file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/plan.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(std::string_view option, std::string_view why) {
  throw UsageError(fmt::format("{}: {}", option, why));
}

[[noreturn]] void refuse_existing(std::string_view option, const fs::path& file) {
  constexpr std::size_t kMaxChars = 300;
  refuse(option, printable(file.string(), kMaxChars) + " already exists and is not overwritten");
}

fs::path new_in_folder(const fs::path& folder, const std::string& name, const Profile& profile) {
  for (int number = 1;; ++number) {
    fs::path file =
        folder / (number == 1 ? name + ".json" : fmt::format("{}-{}.json", name, number));
    if (create_profile(profile, file)) return file;
  }
}

}  // namespace

void create_output(std::string_view option, const fs::path& file, std::string_view text) {
  try {
    if (!profile_format::create_text(text, file)) refuse_existing(option, file);
  } catch (const ProfileError& error) {
    refuse(option, error.what());
  }
}

ReportOutput::ReportOutput(std::string_view option, std::optional<std::string> file,
                           std::string_view beginning)
    : option_(option), file_(std::move(file)), beginning_(beginning) {
  try {
    if (file_) profile_format::require_report_file(*file_, beginning_);
  } catch (const ProfileError& error) {
    refuse(option_, error.what());
  }
}

void ReportOutput::write(const std::function<std::string(std::string_view)>& report) const {
  try {
    if (!file_) return;
    const std::string earlier = profile_format::earlier_report(*file_, beginning_);
    profile_format::write_report(report(earlier), *file_, beginning_);
  } catch (const ProfileError& error) {
    refuse(option_, error.what());
  }
}

fs::path create_profile_output(const std::string& output, const std::string& name,
                               const Profile& profile) {
  if (output.empty()) throw UsageError("--output: expected a file or a directory");
  const std::string option = "--output " + shown(output);
  fs::path file = output;
  std::error_code error;
  if (!file.has_filename() && !fs::exists(file, error)) {
    fs::create_directories(file, error);
    if (error) refuse(option, "the directory cannot be created: " + error.message());
  }
  try {
    if (fs::is_directory(file, error)) return new_in_folder(file, name, profile);
    if (!file.has_filename()) refuse(option, "not a directory");
    if (fs::exists(file, error) && !fs::is_regular_file(file, error))
      refuse(option, "neither a file nor a directory: a profile is put in place as a whole");
    // A name without suffix may exist as a file such as /dev/stdout.
    if (fs::exists(file, error)) refuse_existing("--output", file);
    if (!is_profile_name(file)) file += ".json";
    if (!create_profile(profile, file)) refuse_existing("--output", file);
    return file;
  } catch (const ProfileError& cannot) {
    refuse("--output", cannot.what());
  }
}

}  // namespace peakline::bench
