#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "harness/host/storage.hpp"
#include "harness/run/progress.hpp"

namespace peakline::bench {

// The directory that `run` reads from, and the size of its file.
struct StorageOptions {
  std::string directory;
  std::uint64_t bytes = std::uint64_t{8} << 30;

  void add_to(CLI::App& app);
};

// Writes the file; null where none was asked for. Throws UsageError where there can be none.
std::unique_ptr<host::StorageFile> open_storage(const StorageOptions& options, Progress& progress);

}  // namespace peakline::bench
