#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace peakline::bench {

// An output file, created before anything is measured: what keeps it from being written shows at
// once, and no other run can take its name. Removed at the end if nothing was written to it.
class OutputFile {
 public:
  // option: for messages. Throws UsageError where the file exists, so that nothing is overwritten.
  OutputFile(std::string_view option, std::filesystem::path file);
  // <name>.json in the folder, or <name>-2.json and so on for runs that begin in the same second.
  OutputFile(std::string_view option, const std::filesystem::path& folder, const std::string& name);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::filesystem::path& path() const { return file_; }

 private:
  // False where it exists.
  bool create(std::string_view option) const;

  std::filesystem::path file_;
};

// A host's name as part of a file's name: letters, digits, dots, hyphens and underscores, of which
// the first is a letter, a digit or an underscore, at most 64; "host" where none are left.
std::string file_name_part(std::string_view hostname);

}  // namespace peakline::bench
