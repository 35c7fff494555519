#include "bench/collectives.hpp"

#include <stdexcept>

#include "bench/question.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {

std::string_view to_string(Collective collective) {
  return name_of(
      {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_receive"},
      collective);
}

std::string_view label_of(Collective collective) {
  return name_of(
      {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send/receive"},
      collective);
}

double bus_bytes(Collective collective, std::size_t ranks, double bytes) {
  const auto n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::kAllReduce:
      return bytes * 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return bytes * (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kSendReceive:
      return bytes;
  }
  throw std::logic_error("no such collective");
}

double algorithm_bandwidth(Collective collective, std::size_t ranks, double bus_rate) {
  return bus_rate / bus_bytes(collective, ranks, 1);
}

Limit collective_limit() {
  return {.of = [](const Measurement* m,
                   const DeviceFacts& device) -> std::optional<PhysicalLimit> {
    // With NVLS the switch reduces, so GPUs send less than the bus bandwidth implies.
    if (m != nullptr) {
      const auto algorithm = text_param(m->launch, "algorithm");
      if (algorithm ? algorithm->starts_with("NVLS")
                    : text_param(m->launch, "nvls").value_or("0") != "0")
        return std::nullopt;
    }
    const NvLinks& links = device.nvlinks;
    const auto payload = links.version ? nvlink_payload_bandwidth(*links.version) : std::nullopt;
    if (!payload || links.up() <= 0) return std::nullopt;
    return PhysicalLimit{.value = *payload * links.up(),
                         .how = fmt::format("{} NVLinks of version {} x {:.4g} GB/s", links.up(),
                                            *links.version, *payload / 1e9),
                         .conditions = {}};
  }};
}

}  // namespace peakline::bench
