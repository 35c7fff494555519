#include "harness/conclude/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "harness/conclude/factors.hpp"
#include "harness/hardware/datasheets.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/statistics/sm_clock.hpp"

namespace peakline {
namespace {

struct Link {
  int generation = 0, width = 0;
  bool under_load = false;
};

// As read while data moved, else its maximum, as idle links train down.
std::optional<Link> link_of(const Measurement* measurement, const DeviceFacts& device) {
  // Drivers report an unused PCIe 1.0 x1 link for such GPUs.
  if (device.integrated.value_or(false) || device.c2c) return std::nullopt;
  if (measurement != nullptr) {
    const Conditions& seen = measurement->conditions;
    if (seen.pcie_generation && seen.pcie_width)
      return Link{*seen.pcie_generation, *seen.pcie_width, true};
  }
  const PcieLink& pcie = device.pcie;
  if (device.pcie_read_under_load && pcie.generation && pcie.width)
    return Link{*pcie.generation, *pcie.width, true};
  if (pcie.max_generation && pcie.max_width)
    return Link{*pcie.max_generation, *pcie.max_width, false};
  return std::nullopt;
}

// ops: "64 results".
std::optional<PhysicalLimit> clocked_limit(double per_clock, const std::string& ops,
                                           const DeviceFacts& device) {
  if (device.sm_clock_max_hz.value_or(0) <= 0 || device.sm_count.value_or(0) <= 0)
    return std::nullopt;
  PhysicalLimit limit{.value = per_clock * *device.sm_count * *device.sm_clock_max_hz,
                      .how = fmt::format("{}/clk/SM x {} SMs x {:.0f} MHz", ops, *device.sm_count,
                                         *device.sm_clock_max_hz / 1e6),
                      .conditions = {}};
  limit.conditions.sm_clock_hz = device.sm_clock_max_hz;
  return limit;
}

std::optional<PhysicalLimit> compute_limit(std::string_view name, const DeviceFacts& device) {
  const auto ops = ops_per_clock_per_sm(device.compute_major, device.compute_minor, name);
  if (!ops) return std::nullopt;
  auto limit = clocked_limit(ops->ops, fmt::format("{:.0f} ops", ops->ops), device);
  if (!limit) return limit;
  const auto share = share_of_architecture(device, name);
  if (!share) {
    limit->peak = false;
  } else if (*share < 1) {
    limit->how += fmt::format("; this product does {:g} of it", *share);
  }
  return limit;
}

}  // namespace

Limit no_limit(std::string why) { return {.of = {}, .why_none = std::move(why)}; }

Limit only_bound(Limit limit, std::string why) {
  return {.of = std::move(limit.of), .why_none = std::move(why)};
}

Limit device_memory_bandwidth() {
  return {.of = [](const Measurement*, const DeviceFacts& device) -> std::optional<PhysicalLimit> {
            const auto bandwidth = theoretical_memory_bandwidth(device);
            if (!bandwidth) return std::nullopt;
            return PhysicalLimit{
                .value = *bandwidth,
                .how = fmt::format("2 x {:.0f} MHz x {} bit / 8", *device.memory_clock_max_hz / 1e6,
                                   *device.memory_bus_bits),
                .conditions = {},
                .peak = !disputed(device, kMemoryBus)};
          },
          .factors = memory_factors};
}

Limit on_chip_bandwidth() {
  return {.of = [](const Measurement*, const DeviceFacts& device) -> std::optional<PhysicalLimit> {
            const auto bytes =
                on_chip_bytes_per_clock_per_sm(device.compute_major, device.compute_minor);
            if (!bytes) return std::nullopt;
            return clocked_limit(*bytes, fmt::format("{:.0f} B", *bytes), device);
          },
          .factors = compute_factors};
}

Limit pcie_link(int directions) {
  return {
      .of = [directions](const Measurement* measurement,
                         const DeviceFacts& device) -> std::optional<PhysicalLimit> {
        const auto link = link_of(measurement, device);
        const auto raw = link ? pcie_raw_bandwidth(link->generation, link->width) : std::nullopt;
        if (!raw) return std::nullopt;
        PhysicalLimit limit{
            .value = *raw * directions,
            .how = fmt::format("PCIe {}.0 x{}{}{}", link->generation, link->width,
                               directions == 2 ? ", both directions" : "",
                               link->under_load ? "" : ": the link's maximum, not read under load"),
            .conditions = {}};
        limit.conditions.pcie_generation = link->generation;
        limit.conditions.pcie_width = link->width;
        return limit;
      },
      .factors = link_factors};
}

Limit c2c_link(int directions) {
  return {.of = [directions](const Measurement*,
                             const DeviceFacts& device) -> std::optional<PhysicalLimit> {
            if (!device.c2c || !device.c2c->count || !device.c2c->bytes_per_s) return std::nullopt;
            return PhysicalLimit{
                .value = *device.c2c->bytes_per_s * *device.c2c->count * directions,
                .how = fmt::format("{} links of NVLink-C2C x {:.4g} GB/s{}", *device.c2c->count,
                                   *device.c2c->bytes_per_s / 1e9,
                                   directions == 2 ? ", both directions" : ""),
                .conditions = {}};
          },
          .factors = link_factors};
}

Limit host_link(int directions) {
  return {.of =
              [pcie = pcie_link(directions), c2c = c2c_link(directions)](
                  const Measurement* measurement, const DeviceFacts& device) {
                return device.c2c ? c2c.of(measurement, device) : pcie.of(measurement, device);
              },
          .factors = link_factors};
}

Limit nvlink(int directions) {
  return {.of = [directions](const Measurement* m,
                             const DeviceFacts& device) -> std::optional<PhysicalLimit> {
    if (m == nullptr) return std::nullopt;
    const NvLinks& links = device.nvlinks;
    const auto link = nvlink_payload_bandwidth(links);
    if (!link) return std::nullopt;
    const int count = nvlinks_to(device, second_gpu(m->params));
    if (count == 0) return std::nullopt;
    const auto gpus = int_param(m->params, "gpus").value_or(1);
    return PhysicalLimit{
        .value = *link * count * directions * static_cast<double>(gpus),
        .how = fmt::format("{} NVLinks of version {} x {:.4g} GB/s{}{}", count, *links.version,
                           *link / 1e9, gpus > 1 ? fmt::format(" x {} GPUs", gpus) : "",
                           directions == 2 ? ", both directions" : ""),
        .conditions = {}};
  }};
}

Limit peer_link(int directions) {
  return {
      .of = [nvlinks = nvlink(directions), pcie = pcie_link(directions)](
                const Measurement* m, const DeviceFacts& device) -> std::optional<PhysicalLimit> {
        if (m == nullptr) return std::nullopt;
        if (nvlinks_to(device, second_gpu(m->params)) > 0) return nvlinks.of(m, device);
        // Links to no known GPU may lead here, as virtual machines hide other ends.
        const int known =
            std::accumulate(device.peers.begin(), device.peers.end(), 0,
                            [](int sum, const PeerFacts& peer) { return sum + peer.nvlinks; });
        if (device.nvlinks.up() > known) return std::nullopt;
        auto limit = pcie.of(m, device);
        const auto gpus = int_param(m->params, "gpus").value_or(1);
        if (!limit || gpus == 1) return limit;
        limit->value *= static_cast<double>(gpus);
        limit->how += fmt::format(" x {} GPUs", gpus);
        return limit;
      }};
}

Limit compute_peak(std::initializer_list<const char*> resources) {
  return {.of = [names = std::vector<std::string>(resources.begin(), resources.end())](
                    const Measurement*, const DeviceFacts& device) -> std::optional<PhysicalLimit> {
            for (const std::string& name : names)
              if (auto limit = compute_limit(name, device)) return limit;
            return std::nullopt;
          },
          .factors = compute_factors};
}

Limit per_clock_per_sm(double count, const char* what) {
  return {.of = [count, what](const Measurement*, const DeviceFacts& device) {
    return clocked_limit(count, fmt::format("{:.0f} {}", count, what), device);
  }};
}

std::optional<double> plausible_limit(const Benchmark& benchmark, const Measurement& measurement,
                                      const DeviceFacts& device) {
  if (!benchmark.limit.of) return std::nullopt;
  DeviceFacts seen = device;
  seen.sm_clock_max_hz = highest_sm_clock_hz(device);
  const auto limit = benchmark.limit.of(&measurement, seen);
  if (!limit) return std::nullopt;
  return limit->value * kPlausibleMargin;
}

bool implausible(const Measurement& m, const DeviceFacts& device, Benchmarks benchmarks) {
  const Benchmark* benchmark = find_benchmark(benchmarks, m.id);
  if (benchmark == nullptr || m.status != Status::kOk || !m.value) return false;
  const auto limit = plausible_limit(*benchmark, m, device);
  return limit && *m.value > *limit;
}

bool exceeds_at_clock(double value, const PhysicalLimit& limit, double clock_hz) {
  const auto& limit_hz = limit.conditions.sm_clock_hz;
  return limit_hz && value > kPlausibleMargin * limit.value * clock_hz / *limit_hz;
}

}  // namespace peakline
