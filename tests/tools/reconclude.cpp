// Writes a profile whose conclusions are those that this program draws from the measurements of
// another one, and which names no machine if asked: usage: peakline_reconclude [--anonymize]
// PROFILE OUT.

#include <iostream>
#include <string>
#include <vector>

#include "bench/catalog.hpp"
#include "harness/conclude/conclusions.hpp"
#include "harness/profile/profile.hpp"

int main(int argc, char** argv) {
  using namespace peakline;
  std::vector<std::string> files(argv + 1, argv + argc);
  const bool anonymize = !files.empty() && files[0] == "--anonymize";
  if (anonymize) files.erase(files.begin());
  if (files.size() != 2) {
    std::cerr << "usage: peakline_reconclude [--anonymize] PROFILE OUT\n";
    return 2;
  }
  try {
    Profile profile = read_profile(files[0]);
    if (anonymize) profile = anonymized(std::move(profile));
    bench::CatalogInput input{.threads = profile.host.usable_threads.value_or(1),
                              .energy = true,
                              .storage = profile.host.storage.has_value()};
    if (profile.devices.size() > 1) {
      input.gpus.clear();
      for (const DeviceFacts& device : profile.devices) input.gpus.push_back(device.index);
    }
    bench::Registry registry;
    bench::register_all(registry, input);
    write_profile(with_conclusions(std::move(profile), registry.benchmarks()), files[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
