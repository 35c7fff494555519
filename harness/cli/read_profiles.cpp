#include "harness/cli/read_profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <thread>

#include "harness/cli/terminal.hpp"
#include "harness/conclude/headlines.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/plan.hpp"
#include "harness/values/packed.hpp"

namespace peakline::bench {

namespace {

// By its first bytes, as a folder may have thousands of large profiles.
bool holds_population(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::array<char, 256> head{};
  in.read(head.data(), head.size());
  return is_population({head.data(), static_cast<std::size_t>(in.gcount())});
}

}  // namespace

std::vector<std::string> profiles_in(const std::vector<std::string>& paths,
                                     Populations populations) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const std::size_t before = files.size();
    for (fs::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      // A pipe could block forever.
      const bool is_file = entry->is_regular_file(error);
      const bool wanted = populations == Populations::kWith || !name.ends_with(kPopulationSuffix);
      if (!is_file || !wanted || !is_profile_name(entry->path()) || name.starts_with('.')) continue;
      const std::string file = entry->path().string();
      if (populations == Populations::kWithout && holds_population(file))
        note(fmt::format("left out: {}: a reference, not a profile", file));
      else
        files.push_back(file);
    }
    if (error) throw UsageError(fmt::format("{}: {}", path, error.message()));
    if (files.size() == before)
      throw UsageError(
          fmt::format("{}: expected a folder with profiles (*.json, *.json.gz)", path));
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  return files;
}

Profile read_one(const std::string& file) {
  Profile profile = read_profile(file);
  use_own_labels(profile);
  return profile;
}

std::vector<ReadResult> try_read_profiles(const std::vector<std::string>& files) {
  // Threads are bound by memory, of which a hostile file takes a lot.
  constexpr std::size_t kMaxThreads = 4;
  std::vector<ReadResult> results(files.size());
  std::atomic<std::size_t> next = 0;
  const auto read = [&] {
    for (std::size_t i; (i = next++) < files.size();) {
      ReadResult& result = results[i];
      result.file = files[i];
      try {
        result.profile = read_one(files[i]);
        pack(result.profile);
      } catch (...) {
        result.error = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    const std::size_t cpus = std::max(1U, std::thread::hardware_concurrency());
    try {
      for (std::size_t n = std::min({files.size(), cpus, kMaxThreads}); n > 1; --n) {
        threads.emplace_back(read);
      }
    } catch (const std::system_error&) {
      // Without more threads, the existing ones read everything.
    }
    read();
  }
  return results;
}

RunIdentity identity_of(const Profile& profile) {
  return {profile.host.hostname, profile.created, profile.duration_s};
}

std::vector<Profile> read_profiles(const std::vector<std::string>& files) {
  std::vector<Profile> profiles;
  std::map<RunIdentity, std::string> known;
  for (ReadResult& result : try_read_profiles(files)) {
    if (result.error) std::rethrow_exception(result.error);
    const auto [found, added] = known.try_emplace(identity_of(result.profile), result.file);
    if (!added)
      throw UsageError(
          fmt::format("{}: the same run as {}; give each run once", result.file, found->second));
    profiles.push_back(std::move(result.profile));
  }
  return profiles;
}

}  // namespace peakline::bench
