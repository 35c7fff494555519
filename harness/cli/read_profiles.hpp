#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline::bench {

// Reads one profile, with the labels of this program. Throws ProfileError.
Profile read_one(const std::string& file);

// A packed profile (harness/values/packed.hpp), since a fleet is in memory at once.
struct ReadResult {
  std::string file;
  Profile profile;
  std::exception_ptr error;  // why it could not be read
};

// Suffix by which populations are found beside profiles, and not taken for one:
// "node7.population.json".
inline constexpr std::string_view kPopulationSuffix = ".population.json";

// Expands folders to their profiles, by suffix; hidden files, such as those being written, are
// omitted. So are populations by default: by suffix, or by content and with a note, as a fleet's
// reference may be kept beside its profiles. Throws UsageError for a folder without any.
enum class Populations { kWithout, kWith };
std::vector<std::string> profiles_in(const std::vector<std::string>& paths,
                                     Populations populations = Populations::kWithout);

// Reads concurrently; results in order.
std::vector<ReadResult> try_read_profiles(const std::vector<std::string>& files);

// Start second and duration in nanoseconds identify a machine's run.
using RunIdentity = std::tuple<std::string, std::string, double>;
RunIdentity identity_of(const Profile& profile);

// Throws the first file's error, or UsageError if two files hold the same run.
std::vector<Profile> read_profiles(const std::vector<std::string>& files);

}  // namespace peakline::bench
