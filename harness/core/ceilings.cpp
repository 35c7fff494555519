#include "harness/core/ceilings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "harness/core/spec.hpp"

namespace peakline {
namespace {

// Clocks are read in steps of 15 MHz and spread over the SMs; more than this above the peak at the
// maximum clock is no reading error.
constexpr double kPlausibleMargin = 1.005;

constexpr std::array kMemoryResources = {"hbm.read",  "hbm.write",  "hbm.copy",
                                         "hbm.triad", "hbm.memcpy", "hbm.memset"};
constexpr std::array kLinkResources = {"pcie.h2d", "pcie.d2h", "pcie.bidirectional"};
constexpr std::array kHostResources = {"memory.read", "memory.copy", "memory.triad", "cpu.fp64",
                                       "cpu.fp32"};
constexpr std::string_view kGemmFp32 = "gemm.fp32";
// Where no Tensor Core does FP64.
constexpr std::string_view kGemmFp64 = "gemm.fp64";
// Sums in FP16 are another operation, and no stand-in for a product with FP32 sums.
constexpr std::string_view kTensorFp16Acc16 = "tensor.fp16_acc16";

constexpr std::array kMeasuredBases = {Basis::kInstruction, Basis::kMeasured, Basis::kBurst,
                                       Basis::kSustained, Basis::kModelShaped};

// The slopes of a roofline: one resource a memory level, the first of its list that was measured.
// Reading alone moves the most bytes per second, and kernels on the slope mostly read.
const std::vector<std::vector<std::string>>& memory_levels() {
  static const std::vector<std::vector<std::string>> kLevels = {
      {"hbm.read", "hbm.triad", "hbm.copy", "hbm.memcpy", "hbm.write"},
      {"pcie.h2d", "pcie.d2h"},
      {"memory.read", "memory.triad", "memory.copy"}};
  return kLevels;
}

// "a.b.c" -> "c"
std::string last_part(std::string_view id) {
  const auto dot = id.rfind('.');
  return std::string(dot == std::string_view::npos ? id : id.substr(dot + 1));
}

bool is_compute(std::string_view resource) {
  return resource.starts_with("cuda_core.") || resource.starts_with("tensor.") ||
         resource.starts_with("gemm.") || resource.starts_with("cpu.");
}

// In the order shown.
std::vector<std::string> resources_of(bool host) {
  if (host) return {kHostResources.begin(), kHostResources.end()};
  std::vector<std::string> resources(kMemoryResources.begin(), kMemoryResources.end());
  resources.insert(resources.end(), kLinkResources.begin(), kLinkResources.end());
  for (const std::string_view compute : compute_resources()) {
    // Products belong beside the CUDA cores that they run on.
    if (compute == "tensor.fp64") {
      resources.emplace_back(kGemmFp64);
      resources.emplace_back(kGemmFp32);
    }
    resources.emplace_back(compute);
    if (compute == "tensor.fp16") resources.emplace_back(kTensorFp16Acc16);
  }
  return resources;
}

// FP8 with other operands or sums runs on the same units, and is no stand-in for it.
bool fp8_variant(std::string_view format) {
  return format == "fp8_e5m2" || format == "fp8_accurate";
}

// The unit that a matrix product in this format runs on, as a resource.
std::string matrix_resource(std::string_view format, const DeviceFacts* device) {
  const std::string_view precision = fp8_variant(format) ? "fp8" : format;
  if (precision == "fp32") return std::string(kGemmFp32);
  const std::string tensor = fmt::format("tensor.{}", precision);
  const bool on_cuda_cores =
      precision == "fp64" && device != nullptr &&
      !ops_per_clock_per_sm(device->compute_major, device->compute_minor, tensor);
  return on_cuda_cores ? fmt::format("gemm.{}", precision) : tensor;
}

// The basis of a compute ceiling that was measured under this load.
std::optional<Basis> load_basis(const Params& params) {
  const auto load = text_param(params, "load");
  if (load == "burst") return Basis::kBurst;
  if (load == "sustained") return Basis::kSustained;
  return std::nullopt;
}

struct Link {
  int generation = 0, width = 0;
  bool under_load = false;
};

// As read while the data moved; else the most that the link can do, since an idle link trains down.
std::optional<Link> link_of(const Conditions* conditions, const DeviceFacts& device) {
  if (conditions != nullptr && conditions->pcie_generation && conditions->pcie_width) {
    return Link{*conditions->pcie_generation, *conditions->pcie_width, true};
  }
  const PcieLink& pcie = device.pcie;
  if (device.pcie_read_under_load && pcie.generation && pcie.width) {
    return Link{*pcie.generation, *pcie.width, true};
  }
  if (pcie.max_generation && pcie.max_width) {
    return Link{*pcie.max_generation, *pcie.max_width, false};
  }
  return std::nullopt;
}

// Both directions of a link carry data at once.
double directions(std::string_view resource) {
  return resource.starts_with("pcie.bidirectional") ? 2 : 1;
}

std::optional<double> link_bandwidth(std::string_view resource, const Link& link) {
  const auto raw = pcie_raw_bandwidth(link.generation, link.width);
  if (!raw) return std::nullopt;
  return *raw * directions(resource);
}

// A point of a curve has fewer samples than the full rule's blocks, and the best of several such
// points is biased upward: it is a ceiling only where nothing measured with the full rule is.
constexpr std::int64_t kFullRuleBlocks = 20;

bool precise(const Measurement& m) { return m.summary && m.summary->n >= kFullRuleBlocks; }

// Fewer blocks have no 95 % interval; a run under a profiler has one launch.
constexpr std::int64_t kFewestBlocks = 6;

// Where memory was short, a footprint shrinks below its parameter; a rest of a granule is no
// shrinking.
constexpr double kWholeFootprint = 0.999;

bool shrunk(const Measurement& m) {
  return m.id.starts_with("hbm.") && m.work.bytes() < kWholeFootprint * kCeilingFootprintBytes;
}

bool usable(const Measurement& m) {
  return m.status == Status::kOk && m.value && *m.value > 0 && !m.flags.implausible &&
         m.verified != false && m.summary && m.summary->n >= kFewestBlocks && !shrunk(m);
}

Ceiling measured_row(const Measurement& m, const CeilingKey& key) {
  Ceiling row{.device = m.device,
              .resource = key.resource,
              .basis = key.basis,
              .value = *m.value,
              .unit = is_compute(key.resource) ? std::string(compute_unit(key.resource)) : m.unit,
              .ci_low = std::nullopt,
              .ci_high = std::nullopt,
              .conditions = m.conditions,
              .measurement = m.name(),
              .note = m.reason};
  if (key.basis == Basis::kModelShaped) {
    row.note = fmt::format(
        "layer of hidden size {}, {} tokens{}{}", int_param(m.params, "hidden").value_or(0),
        int_param(m.params, "tokens").value_or(0), m.reason.empty() ? "" : "; ", m.reason);
  }
  // A rate is work / time: the slow end of the time's interval is the low end of the rate's.
  if (m.summary && m.summary->ci_low > 0) {
    row.ci_low = *m.value * m.summary->median / m.summary->ci_high;
    row.ci_high = *m.value * m.summary->median / m.summary->ci_low;
  }
  return row;
}

Ceiling computed_row(const DeviceFacts& device, std::string_view resource, Basis basis,
                     double value, std::string note) {
  Ceiling row;
  row.device = device.uuid;
  row.resource = resource;
  row.basis = basis;
  row.value = value;
  row.unit = is_compute(resource) ? compute_unit(resource) : "B/s";
  row.note = std::move(note);
  return row;
}

std::string_view peak_resource(std::string_view resource) {
  return resource == kGemmFp32          ? "cuda_core.fp32"
         : resource == kGemmFp64        ? "cuda_core.fp64"
         : resource == kTensorFp16Acc16 ? "tensor.fp16"
                                        : resource;
}

std::optional<Ceiling> theoretical_row(const DeviceFacts& device, const std::string& resource,
                                       const Measurement* measured) {
  if (resource.starts_with("hbm.")) {
    const auto bandwidth = theoretical_memory_bandwidth(device);
    if (!bandwidth) return std::nullopt;
    return computed_row(device, resource, Basis::kTheoretical, *bandwidth,
                        fmt::format("2 x {:.0f} MHz x {} bit / 8",
                                    *device.memory_clock_max_hz / 1e6, *device.memory_bus_bits));
  }
  if (resource.starts_with("pcie.")) {
    const auto link = link_of(measured != nullptr ? &measured->conditions : nullptr, device);
    const auto bandwidth = link ? link_bandwidth(resource, *link) : std::nullopt;
    if (!bandwidth) return std::nullopt;
    Ceiling row = computed_row(
        device, resource, Basis::kTheoretical, *bandwidth,
        fmt::format("PCIe {}.0 x{}{}{}", link->generation, link->width,
                    directions(resource) == 2 ? ", both directions" : "",
                    link->under_load ? "" : ": the link's maximum, not read under load"));
    row.conditions.pcie_generation = link->generation;
    row.conditions.pcie_width = link->width;
    return row;
  }
  if (!device.sm_clock_max_hz) return std::nullopt;
  const auto peak = theoretical_peak(device, resource, *device.sm_clock_max_hz);
  if (!peak) return std::nullopt;
  const auto ops =
      ops_per_clock_per_sm(device.compute_major, device.compute_minor, peak_resource(resource));
  // GeForce parts are slower with FP32 sums only.
  const bool uncertain = ops->uncertain && resource != kTensorFp16Acc16;
  Ceiling row =
      computed_row(device, resource, Basis::kTheoretical, *peak,
                   fmt::format("{:.0f} ops/clk/SM x {} SMs x {:.0f} MHz{}", ops->ops,
                               *device.sm_count, *device.sm_clock_max_hz / 1e6,
                               uncertain ? "; uncertain: GeForce parts do half or less" : ""));
  row.conditions.sm_clock_hz = device.sm_clock_max_hz;
  return row;
}

std::optional<Ceiling> datasheet_row(const DeviceFacts& device, const std::string& resource) {
  const bool memory = resource.starts_with("hbm.");
  const DatasheetFigure* figure =
      datasheet_figure(device, memory ? "hbm" : peak_resource(resource));
  if (figure == nullptr) return std::nullopt;
  std::string note{find_datasheet(device)->product};
  if (figure->clock_hz > 0) note += fmt::format(" at {:.0f} MHz", figure->clock_hz / 1e6);
  Ceiling row = computed_row(device, resource, Basis::kDatasheet, figure->value, note);
  if (figure->clock_hz > 0) row.conditions.sm_clock_hz = figure->clock_hz;
  return row;
}

void append_device(const Profile& profile, const DeviceFacts* device, std::string_view name,
                   std::vector<Ceiling>& rows) {
  std::map<std::pair<std::string, Basis>, const Measurement*> best;
  for (const Measurement& m : profile.measurements) {
    if (m.device != name || !usable(m)) continue;
    const auto key = ceiling_key(m, device);
    if (!key) continue;
    const Measurement*& winner = best[{key->resource, key->basis}];
    if (winner == nullptr ||
        std::pair(precise(m), *m.value) > std::pair(precise(*winner), *winner->value)) {
      winner = &m;
    }
  }
  const auto measured = [&](const std::string& resource, Basis basis) {
    const auto found = best.find({resource, basis});
    return found == best.end() ? nullptr : found->second;
  };
  for (const std::string& resource : resources_of(device == nullptr)) {
    // Their peaks are those of other resources, which stand above them.
    const bool borrowed = resource == kTensorFp16Acc16 || resource == kGemmFp64;
    if (borrowed && std::ranges::none_of(kMeasuredBases, [&](Basis basis) {
          return measured(resource, basis) != nullptr;
        })) {
      continue;
    }
    if (device != nullptr) {
      if (auto row = theoretical_row(*device, resource, measured(resource, Basis::kMeasured))) {
        rows.push_back(std::move(*row));
      }
      if (auto row = datasheet_row(*device, resource)) rows.push_back(std::move(*row));
    }
    for (const Basis basis : kMeasuredBases) {
      if (const Measurement* m = measured(resource, basis)) {
        rows.push_back(measured_row(*m, {resource, basis}));
      }
    }
  }
}

}  // namespace

std::optional<CeilingKey> ceiling_key(const Measurement& m, const DeviceFacts* device) {
  const std::string_view id = m.id;
  const auto bytes = int_param(m.params, "bytes");
  if (id.starts_with("host.memory.")) {
    return CeilingKey{fmt::format("memory.{}", last_part(id)), Basis::kMeasured};
  }
  if (id.starts_with("host.fma.")) {
    return CeilingKey{fmt::format("cpu.{}", last_part(id)), Basis::kMeasured};
  }
  if (id.starts_with("hbm.")) {
    if (!bytes || static_cast<double>(*bytes) < kCeilingFootprintBytes) return std::nullopt;
    return CeilingKey{m.id, Basis::kMeasured};
  }
  if (id.starts_with("pcie.")) {
    // Pageable copies stage through the CPU: what they reach says little of the link.
    if (!id.ends_with(".pinned")) return std::nullopt;
    if (!bytes || static_cast<double>(*bytes) < kCeilingCopyBytes) return std::nullopt;
    return CeilingKey{std::string(id.substr(0, id.rfind('.'))), Basis::kMeasured};
  }
  if (id.starts_with("mma.")) {
    return CeilingKey{fmt::format("tensor.{}", last_part(id)), Basis::kInstruction};
  }
  const std::string format = last_part(id);
  if (fp8_variant(format)) return std::nullopt;
  if (id.starts_with("gemm.model.")) {
    if (text_param(m.params, "part") != "layer") return std::nullopt;
    return CeilingKey{matrix_resource(format, device), Basis::kModelShaped};
  }
  const auto basis = load_basis(m.params);
  if (!basis) return std::nullopt;
  if (id == "fma." + format) return CeilingKey{"cuda_core." + format, *basis};
  if (id == "gemm." + format) return CeilingKey{matrix_resource(format, device), *basis};
  return std::nullopt;
}

std::vector<Ceiling> derive_ceilings(const Profile& profile) {
  std::vector<Ceiling> rows;
  for (const DeviceFacts& device : profile.devices) {
    append_device(profile, &device, device.uuid, rows);
  }
  append_device(profile, nullptr, kHostDevice, rows);
  return rows;
}

std::vector<Roofline> derive_rooflines(const Profile& profile, std::span<const Ceiling> ceilings) {
  std::vector<std::string> names;
  for (const DeviceFacts& device : profile.devices) names.push_back(device.uuid);
  names.emplace_back(kHostDevice);

  std::vector<Roofline> rooflines;
  for (const std::string& name : names) {
    Roofline roofline{
        .device = name, .memory = {}, .compute = {}, .ridge_points = {}, .points = {}};
    std::vector<const Ceiling*> slopes, roofs;
    for (const auto& level : memory_levels()) {
      for (const std::string& resource : level) {
        const Ceiling* slope = find_ceiling(ceilings, name, resource, Basis::kMeasured);
        if (slope == nullptr) continue;
        slopes.push_back(slope);
        roofline.memory.push_back(resource);
        break;
      }
    }
    for (const Ceiling& row : ceilings) {
      const bool measured = row.basis == Basis::kMeasured || row.basis == Basis::kBurst ||
                            row.basis == Basis::kSustained;
      if (row.device != name || !measured || !is_compute(row.resource)) continue;
      roofs.push_back(&row);
      if (std::ranges::find(roofline.compute, row.resource) == roofline.compute.end()) {
        roofline.compute.push_back(row.resource);
      }
    }
    if (slopes.empty() || roofs.empty()) continue;
    for (const Ceiling* roof : roofs) {
      for (const Ceiling* slope : slopes) {
        roofline.ridge_points.push_back({.compute = roof->resource,
                                         .memory = slope->resource,
                                         .compute_basis = roof->basis,
                                         .memory_basis = slope->basis,
                                         .intensity = roof->value / slope->value});
      }
    }
    for (const Measurement& m : profile.measurements) {
      const bool sweep =
          m.id.starts_with("roofline.sweep.") || m.id.starts_with("host.roofline.sweep.");
      // A point without arithmetic has no place on logarithmic axes.
      if (!sweep || m.device != name || !usable(m) || m.work.flops <= 0 || m.work.bytes() <= 0) {
        continue;
      }
      roofline.points.push_back({.measurement = m.name(),
                                 .precision = last_part(m.id),
                                 .intensity = m.work.flops / m.work.bytes(),
                                 .flops_per_s = *m.value});
    }
    rooflines.push_back(std::move(roofline));
  }
  return rooflines;
}

std::optional<double> theoretical_peak(const DeviceFacts& device, std::string_view resource,
                                       double clock_hz) {
  return theoretical_flops(device, peak_resource(resource), clock_hz);
}

std::optional<double> plausible_limit(const Measurement& m, const DeviceFacts& device) {
  const std::string_view id = m.id;
  const auto flops_limit = [&](std::string_view resource) -> std::optional<double> {
    if (!device.sm_clock_max_hz) return std::nullopt;
    return theoretical_peak(device, resource, *device.sm_clock_max_hz);
  };
  std::optional<double> limit;
  if (id.starts_with("hbm.") || id.starts_with("alignment.")) {
    limit = theoretical_memory_bandwidth(device);
  } else if (id.starts_with("pcie.")) {
    if (const auto link = link_of(&m.conditions, device)) limit = link_bandwidth(id, *link);
  } else if (id.starts_with("fma.")) {
    limit = flops_limit("cuda_core." + last_part(id));
  } else if (id.starts_with("divergence.")) {
    limit = flops_limit("cuda_core.fp32");
  } else if (id.starts_with("gemm.") || id.starts_with("mma.")) {
    limit = flops_limit(matrix_resource(last_part(id), &device));
  } else if (id.starts_with("roofline.sweep.")) {
    limit = flops_limit("cuda_core." + last_part(id));
    const auto bandwidth = theoretical_memory_bandwidth(device);
    if (m.work.flops <= 0) return std::nullopt;
    if (bandwidth && m.work.bytes() > 0) {
      const double slope = *bandwidth * m.work.flops / m.work.bytes();
      limit = limit ? std::min(*limit, slope) : slope;
    }
  }
  if (!limit) return std::nullopt;
  return *limit * kPlausibleMargin;
}

const Ceiling* find_ceiling(std::span<const Ceiling> ceilings, std::string_view device,
                            std::string_view resource, Basis basis) {
  const auto row = std::ranges::find_if(ceilings, [&](const Ceiling& c) {
    return c.basis == basis && c.resource == resource && c.device == device;
  });
  return row == ceilings.end() ? nullptr : &*row;
}

}  // namespace peakline
