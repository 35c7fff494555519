#include "harness/cuda/properties.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "harness/cuda/pci.hpp"

namespace peakline::cuda {
namespace {

constexpr double kHzPerKHz = 1e3;

template <class T>
std::optional<T> known(T value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

std::string uuid_text(const std::array<unsigned char, 16>& uuid, std::string_view visible) {
  std::string text = visible.starts_with("MIG-") ? "MIG-" : "GPU-";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return text;
}

}  // namespace

DeviceFacts facts_of(const RuntimeProperties& p, std::string_view visible) {
  DeviceFacts facts;
  facts.uuid = uuid_text(p.uuid, visible);
  facts.name = p.name;
  facts.pci_bus_id = fmt::format("{:08x}:{:02x}:{:02x}.0", p.pci_domain, p.pci_bus, p.pci_slot);
  facts.compute_major = p.major;
  facts.compute_minor = p.minor;
  facts.sm_count = known(p.multi_processor_count);
  facts.sm_clock_max_hz = known(p.clock_rate_khz * kHzPerKHz);
  facts.memory_clock_max_hz = known(p.memory_clock_rate_khz * kHzPerKHz);
  facts.memory_bus_bits = known(p.memory_bus_width_bits);
  facts.memory_bytes = known(p.total_global_mem_bytes);
  facts.memory_free_bytes = known(p.free_bytes);
  facts.l2_bytes = known(p.l2_cache_size_bytes);
  facts.shared_per_sm_bytes = known(p.shared_mem_per_multiprocessor_bytes);
  facts.integrated = p.integrated;
  return facts;
}

DeviceFacts combined(const DeviceFacts& of_runtime, std::span<const DeviceFacts> of_nvml,
                     const std::filesystem::path& sysfs) {
  const auto same = std::ranges::find(of_nvml, of_runtime.uuid, &DeviceFacts::uuid);
  DeviceFacts facts = same == of_nvml.end() ? DeviceFacts{} : *same;
  merge(facts, of_runtime);
  complete_pci_ids(facts, sysfs);
  return facts;
}

}  // namespace peakline::cuda
