#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "harness/host/storage.hpp"
#include "harness/run/progress.hpp"

namespace peakline::bench {

// The directory in which `run` reads a file, and the file's size.
struct StorageOptions {
  std::string directory;
  std::uint64_t bytes = std::uint64_t{8} << 30;

  void add_to(CLI::App& app);
};

// Writes the file; nullptr if not requested. Throws UsageError.
std::unique_ptr<host::StorageFile> open_storage(const StorageOptions& options, Progress& progress);

}  // namespace peakline::bench
