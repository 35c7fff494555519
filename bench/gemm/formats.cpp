#include "bench/gemm/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "harness/conclude/limits.hpp"
#include "harness/hardware/spec.hpp"

namespace peakline::bench {
namespace {

std::vector<CeilingRule> ceilings_of(
    const ProductFormat& format, Basis basis,
    std::function<bool(const Measurement&, const DeviceFacts*)> counts,
    const std::function<std::string(const Measurement&)>& note) {
  const std::string name = format.name;
  if (name == "fp32") return {{resource("gemm.fp32"), basis, counts, note}};
  if (name != "fp64") return {{resource("tensor." + name), basis, counts, note}};
  const auto where_tensor_cores = [counts](bool wanted) {
    return [counts, wanted](const Measurement& m, const DeviceFacts* device) {
      const bool there =
          device != nullptr &&
          ops_per_clock_per_sm(device->compute_major, device->compute_minor, "tensor.fp64")
              .has_value();
      return there == wanted && counts(m, device);
    };
  };
  return {{resource("tensor.fp64"), basis, where_tensor_cores(true), note},
          {resource("gemm.fp64"), basis, where_tensor_cores(false), note}};
}

}  // namespace

const ProductFormat& product_format(std::string_view name) {
  const auto found = std::ranges::find_if(
      kProductFormats, [&](const ProductFormat& format) { return format.name == name; });
  if (found == kProductFormats.end())
    throw std::logic_error("unknown format: " + std::string(name));
  return *found;
}

Quantity quantity_of(const ProductFormat& format) {
  return format.whole_numbers ? Quantity::kOpRate : Quantity::kFlopRate;
}

std::function<bool(const DeviceFacts&)> devices_of(const ProductFormat& format) {
  switch (format.made_for) {
    case MadeFor::kHopper:
      return [](const DeviceFacts& device) { return device.compute_major == 9; };
    case MadeFor::kBlackwell:
      return [](const DeviceFacts& device) { return device.compute_major >= 10; };
    case MadeFor::kAll:
      break;
  }
  return {};
}

Limit limit_of(const ProductFormat& format) {
  const std::string_view name = format.name;
  if (name == "fp32") return compute_peak({"gemm.fp32"});
  if (name == "fp64") return compute_peak({"tensor.fp64", "gemm.fp64"});
  if (name == "bf16") return compute_peak({"tensor.bf16", "tensor.fp16"});  // as soak_format()
  // Variants with other operands or accumulation run on the same units.
  return compute_peak({fmt::format("tensor.{}", name.substr(0, name.find('_'))).c_str()});
}

std::vector<CeilingRule> load_ceilings_of(
    const ProductFormat& format, Basis burst, Basis sustained,
    const std::function<std::string(const Measurement&)>& note) {
  auto rules = ceilings_of(format, burst, where("load", "burst"), note);
  for (CeilingRule& rule : ceilings_of(format, sustained, where("load", "sustained"), note))
    rules.push_back(std::move(rule));
  return rules;
}

}  // namespace peakline::bench
