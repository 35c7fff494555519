#include "harness/cuda/shared_library.hpp"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <sstream>
#include <system_error>

namespace peakline::cuda {
namespace {

std::vector<std::filesystem::path> prefixes() {
  std::error_code unreadable;
  std::vector<std::filesystem::path> programs = {
      std::filesystem::read_symlink("/proc/self/exe", unreadable).parent_path()};
  const char* path = std::getenv("PATH");
  std::istringstream entries(path != nullptr ? path : "");
  for (std::string entry; std::getline(entries, entry, ':');)
    if (entry.starts_with('/')) programs.emplace_back(entry);
  programs.emplace_back("/usr/local/cuda/bin");
  for (auto& folder : programs) folder = folder.parent_path();
  return programs;
}

}  // namespace

SharedLibrary open_library(const std::string& name) {
  constexpr int kMode = RTLD_NOW | RTLD_LOCAL;
  if (void* handle = dlopen(name.c_str(), kMode)) return {.handle = handle, .why_not = {}};
  SharedLibrary library;
  for (const auto& file : library_files(prefixes(), name)) {
    library.handle = dlopen(file.c_str(), kMode);
    if (library.handle != nullptr) return {.handle = library.handle, .why_not = {}};
    library.why_not = dlerror();
  }
  return library;
}

std::vector<std::filesystem::path> library_files(std::span<const std::filesystem::path> prefixes,
                                                 const std::string& name) {
  std::vector<std::filesystem::path> files;
  for (const auto& prefix : prefixes)
    for (const char* folder : {"lib64", "lib", "lib/python3*/*-packages/nvidia/*/lib",
                               "nvidia/*/lib"}) {  // last: `pip install --target`
      glob_t found{};
      if (glob((prefix / folder / name).c_str(), 0, nullptr, &found) == 0)
        files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
      globfree(&found);
    }
  return files;
}

}  // namespace peakline::cuda
