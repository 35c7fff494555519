#include "harness/cli/storage_options.hpp"

#include <fmt/format.h>

#include "harness/cli/help.hpp"
#include "harness/cli/measure_options.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/run/plan.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {
namespace {

constexpr std::uint64_t kLeastBytes = host::kStorageUnit, kMostBytes = std::uint64_t{1} << 44;

}  // namespace

void StorageOptions::add_to(CLI::App& app) {
  begin_options(app, "Storage");
  auto* storage =
      app.add_option("--storage", directory,
                     "Measure how fast data can be read from this directory, and through "
                     "host memory to each GPU, using a temporary file")
          ->type_name("DIR")
          ->check(not_empty("a directory"));
  app.add_option("--storage-size", bytes,
                 "Size of that file, such as 8GiB; at least 64MiB, rounded down to a multiple of "
                 "that; more than "
                 "the caches of the storage (default: 8GiB)")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->needs(storage);
}

std::unique_ptr<host::StorageFile> open_storage(const StorageOptions& options, Progress& progress) {
  if (options.directory.empty()) return nullptr;
  if (options.bytes < kLeastBytes || options.bytes > kMostBytes)
    throw UsageError(
        fmt::format("--storage-size: expected 64MiB to 16TiB, found {} bytes", options.bytes));
  const std::uint64_t bytes = options.bytes / host::kStorageUnit * host::kStorageUnit;
  try {
    host::check_storage(options.directory, bytes);
    progress.note(fmt::format("writing {} to {}", format_size(static_cast<double>(bytes)),
                              shown(options.directory)));
    return std::make_unique<host::StorageFile>(options.directory, bytes);
  } catch (const host::StorageError& error) {
    throw UsageError(fmt::format("--storage {}: {}", shown(options.directory), error.what()));
  }
}

}  // namespace peakline::bench
