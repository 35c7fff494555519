#include "bench/gemm/cublaslt_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>

#include <cstdlib>
#include <sstream>

namespace peakline::bench {
namespace {

// Where this program is installed, then what is in PATH (Python environments, a toolkit), then
// where a toolkit usually is.
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

void* open_library() {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  // By its name, the loader finds what LD_LIBRARY_PATH and ldconfig know, and the toolkit that the
  // program was built with.
  if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const auto files = library_files(prefixes(), name);
  for (const auto& file : files)
    if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  if (!files.empty()) throw CublasLtMissing(fmt::format("cuBLASLt: {}", dlerror()));
  throw CublasLtMissing(
      fmt::format("{} not found: install nvidia-cublas with pip or a CUDA {} toolkit, or name its "
                  "folder in LD_LIBRARY_PATH",
                  name, CUBLAS_VER_MAJOR));
}

}  // namespace

std::vector<std::filesystem::path> library_files(std::span<const std::filesystem::path> prefixes,
                                                 const std::string& name) {
  std::vector<std::filesystem::path> files;
  for (const auto& prefix : prefixes)
    for (const char* folder : {"lib64", "lib", "lib/python3*/*-packages/nvidia/cu*/lib",
                               "nvidia/cu*/lib"}) {  // the last: of `pip install --target`
      glob_t found{};
      if (glob((prefix / folder / name).c_str(), 0, nullptr, &found) == 0)
        files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
      globfree(&found);
    }
  return files;
}

CublasLtLibrary::CublasLtLibrary() : handle_(open_library()) {}

CublasLtLibrary::Symbol CublasLtLibrary::find(const char* name) const {
  if (void* address = dlsym(handle_, name)) return {address};
  throw CublasLtMissing(fmt::format("cuBLASLt: {}", dlerror()));
}

const CublasLtLibrary& cublaslt_library() {
  static const CublasLtLibrary kLibrary;
  return kLibrary;
}

}  // namespace peakline::bench
