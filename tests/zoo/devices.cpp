#include "tests/zoo/devices.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "harness/cuda/nvml.hpp"

namespace peakline::zoo {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr double kKHzPerMHz = 1e3;

fs::path folder() { return fs::path(PEAKLINE_SOURCE_DIR) / "tests/zoo/devices"; }

// The runtime's properties of the device that the fake library calls by that UUID.
cuda::RuntimeProperties properties_of(const Json& stated, const std::string& uuid) {
  const auto number = [&](const char* key) { return stated.value(key, 0.0); };
  const auto integer = [&](const char* key, double factor = 1) {
    return static_cast<int>(number(key) * factor);
  };
  cuda::RuntimeProperties p;
  std::string digits = uuid.substr(4);
  std::erase(digits, '-');
  for (std::size_t i = 0; i < p.uuid.size(); ++i)
    p.uuid[i] = static_cast<unsigned char>(std::stoul(digits.substr(2 * i, 2), nullptr, 16));
  p.name = stated.value("name", "");
  std::sscanf(stated.value("compute_capability", "0.0").c_str(), "%d.%d", &p.major, &p.minor);
  p.multi_processor_count = integer("multiprocessors");
  p.clock_rate_khz = integer("clock_mhz", kKHzPerMHz);
  p.memory_clock_rate_khz = integer("memory_clock_mhz", kKHzPerMHz);
  p.memory_bus_width_bits = integer("memory_bus_bits");
  p.total_global_mem_bytes = p.free_bytes = number("memory_bytes");
  p.l2_cache_size_bytes = number("l2_bytes");
  p.shared_mem_per_multiprocessor_bytes = number("shared_per_multiprocessor_bytes");
  p.integrated = stated.value("integrated", false);
  return p;
}

}  // namespace

Json ZooDevice::stated(const char* library) const {
  Json all = Json::object();
  for (const Json& report : file.at("reports"))
    if (report.contains(library)) all.update(report[library]);
  return all;
}

fs::path ZooDevice::path() const { return folder() / (id + ".json"); }

const std::vector<ZooDevice>& devices() {
  static const std::vector<ZooDevice> kDevices = [] {
    std::vector<ZooDevice> all;
    for (const auto& entry : fs::directory_iterator(folder()))
      all.push_back({entry.path().stem(), Json::parse(std::ifstream(entry.path()))});
    std::ranges::sort(all, {}, &ZooDevice::id);
    return all;
  }();
  return kDevices;
}

void answer_as(const std::filesystem::path& device) {
  // A library that is loaded is the one that its name finds from now on.
  static void* const kLibrary = dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  if (kLibrary == nullptr) throw std::runtime_error(dlerror());
  setenv("FAKE_NVML_DEVICES", device.c_str(), 1);
}

DeviceFacts facts_of(const ZooDevice& device) {
  answer_as(device.path());
  const auto of_nvml = cuda::Nvml("/nowhere").devices();
  const std::string& uuid = of_nvml.at(0).uuid;
  const auto properties = properties_of(device.stated("cuda"), uuid);
  return cuda::combined(cuda::facts_of(properties, is_mig_instance(of_nvml[0]) ? uuid : ""),
                        of_nvml, "/nowhere");
}

}  // namespace peakline::zoo
