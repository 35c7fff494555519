#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline::bench {

// Reads one profile, with the labels of this program. Throws ProfileError.
Profile read_one(const std::string& file);

// A packed profile (harness/judge/packed.hpp): a whole fleet's are in memory at once.
struct ReadResult {
  std::string file;
  Profile profile;
  std::exception_ptr error;  // why it could not be read
};

// The suffix of a population beside profiles, by which it is found and not taken for a profile:
// "node7.population.json".
inline constexpr std::string_view kPopulationSuffix = ".population.json";

// Files stay as they are; of a folder, what a profile may be called and is not hidden: profiles
// that are being written are. Populations are left out by their name, unless they are asked for.
// Throws UsageError for a folder without any.
enum class Populations { kWithout, kWith };
std::vector<std::string> profiles_in(const std::vector<std::string>& paths,
                                     Populations populations = Populations::kWithout);

// Reads several at once, in the order given.
std::vector<ReadResult> try_read_profiles(const std::vector<std::string>& files);

// Reads profiles. Throws the error of the first unreadable one, and UsageError if two files hold
// the same run, which would count twice.
std::vector<Profile> read_profiles(const std::vector<std::string>& files);

}  // namespace peakline::bench
