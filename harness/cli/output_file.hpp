#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "harness/values/profile.hpp"

namespace peakline::bench {

// Writes a new file. Throws UsageError, beginning with the option, if that fails.
void create_output(std::string_view option, const std::filesystem::path& file,
                   std::string_view text);

// An option's report, which may replace an earlier one of its kind; see
// profile_format::write_report.
class ReportOutput {
 public:
  // file: nullopt without the option; nothing is then written. Throws UsageError, beginning with
  // the option, if the report could not be written there.
  ReportOutput(std::string_view option, std::optional<std::string> file,
               std::string_view beginning);
  // report: makes the text from that of the report it replaces. Throws UsageError likewise.
  void write(const std::function<std::string(std::string_view earlier)>& report) const;

 private:
  std::string option_;
  std::optional<std::string> file_;
  std::string_view beginning_;
};

// Reserves a run's output with the profile's initial state, to detect write errors early and keep
// the name from other runs. output: a file, or a folder that gets <name>.json (<name>-2.json for
// further runs in the same second); a folder with a trailing slash is created. Throws UsageError.
std::filesystem::path create_profile_output(const std::string& output, const std::string& name,
                                            const Profile& profile);

}  // namespace peakline::bench
