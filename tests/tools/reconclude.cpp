// Writes a profile whose conclusions are those that this program draws from the measurements of
// another one: usage: peakline_reconclude PROFILE OUT.

#include <iostream>

#include "bench/catalog.hpp"
#include "harness/conclude/conclusions.hpp"
#include "harness/profile/profile.hpp"

int main(int argc, char** argv) {
  using namespace peakline;
  if (argc != 3) {
    std::cerr << "usage: peakline_reconclude PROFILE OUT\n";
    return 2;
  }
  try {
    Profile profile = read_profile(argv[1]);
    bench::CatalogInput input{.threads = profile.host.usable_threads.value_or(1)};
    if (profile.devices.size() > 1) {
      input.gpus.clear();
      for (const DeviceFacts& device : profile.devices) input.gpus.push_back(device.index);
    }
    bench::Registry registry;
    bench::register_all(registry, input);
    write_profile(with_conclusions(std::move(profile), registry.benchmarks()), argv[2]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
