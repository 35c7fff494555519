#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "harness/values/profile.hpp"

namespace peakline::bench {

// Writes a new file, so that nothing is overwritten. Throws UsageError, beginning with the option,
// where it exists or cannot be written.
void create_output(std::string_view option, const std::filesystem::path& file,
                   std::string_view text);

// A report that an option asks for. It may take the place of an earlier one of its kind; see
// profile_format::write_report.
class ReportOutput {
 public:
  // file: nullopt where the option is not given, so that nothing is written. Throws UsageError,
  // beginning with the option, where the report could not be written there.
  ReportOutput(std::string_view option, std::optional<std::string> file,
               std::string_view beginning);
  // Throws UsageError likewise. report: makes the text.
  void write(const std::function<std::string()>& report) const;

 private:
  std::string option_;
  std::optional<std::string> file_;
  std::string_view beginning_;
};

// The file that a run writes, with the profile's beginning in it: what keeps it from being written
// shows before anything is measured, and no other run can take its name. Throws UsageError.
//   output: the option's value. In a folder it is <name>.json, or <name>-2.json and so on for runs
//   that begin in the same second; a folder that ends in a slash is created.
std::filesystem::path create_profile_output(const std::string& output, const std::string& name,
                                            const Profile& profile);

// A host's name as part of a file's name: letters, digits, dots, hyphens and underscores, of which
// the first is a letter, a digit or an underscore, at most 64; "host" where none are left.
std::string file_name_part(std::string_view hostname);

}  // namespace peakline::bench
