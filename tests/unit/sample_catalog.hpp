#pragma once

// Repeats what the real registrations say of the benchmarks in sample_profile.hpp, for tests that
// build without CUDA; catalog_test.cpp holds it against them.

#include <string>
#include <utility>
#include <vector>

#include "bench/gemm/curves.hpp"
#include "harness/conclude/concurrency.hpp"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/values/benchmark.hpp"

namespace peakline::sample {

class CatalogBuilder {
 public:
  std::vector<Benchmark> take() { return std::move(all_); }

  void memory() {
    for (const std::string name : {"read", "write", "copy", "triad", "memcpy", "memset"}) {
      Benchmark& b =
          add("hbm." + name, Quantity::kByteRate, Loads::kMemory, device_memory_bandwidth());
      b.ceilings = {
          {.resource = resource(b.id), .counts = at_least("bytes", kCeilingFootprintBytes)}};
      if (name == "read") b.curves = {width_curve("HBM read", "read")};
    }
    add("alignment.offset", Quantity::kByteRate, Loads::kMemory, device_memory_bandwidth())
        .curves = {worst_share_curve("alignment", "offset", 0, " B", "aligned")};
    add("alignment.stride", Quantity::kByteRate, Loads::kMemory, device_memory_bandwidth())
        .curves = {worst_share_curve("alignment", "stride", 1, " elements", "contiguous"),
                   fetch_curve("alignment")};
    add("alignment.granularity", Quantity::kByteRate, Loads::kMemory, device_memory_bandwidth())
        .curves = {fetch_curve("alignment")};
    add("random.gather", Quantity::kByteRate, Loads::kMemory, device_memory_bandwidth()).curves = {
        gather_curve()};
  }

  void link() {
    const std::vector<std::pair<std::string, std::string>> directions = {{"h2d", "to device"},
                                                                         {"d2h", "to host"}};
    for (const auto& [name, label] : directions) {
      Benchmark& pinned =
          add("pcie." + name + ".pinned", Quantity::kByteRate, Loads::kLink, pcie_link(1));
      pinned.ceilings = {link_ceiling("pcie." + name)};
      pinned.curves = {rate_over_size_curve("PCIe copies", label, name)};
    }
    for (const auto& [name, label] : directions)
      add("pcie." + name + ".pageable", Quantity::kByteRate, Loads::kLink, pcie_link(1)).curves = {
          largest_size_curve("PCIe copies", "pageable " + label, name + "_pageable_bytes_per_s")};
    add("pcie.bidirectional.pinned", Quantity::kByteRate, Loads::kLink, pcie_link(2)).ceilings = {
        link_ceiling("pcie.bidirectional")};
    for (const auto& [name, label] : {std::pair<std::string, std::string>{"submit", "submit"},
                                      {"round_trip", "round trip"},
                                      {"back_to_back", "back to back"},
                                      {"empty_kernel", "empty kernel"}}) {
      add("launch." + name, Quantity::kTime, Loads::kLink, no_limit("a time")).curves = {
          value_curve("kernel launch", label, name + "_s")};
    }
    add("launch.graph", Quantity::kTime, Loads::kLink, no_limit("a time")).curves = {
        line_curve("kernel launch", "nodes", "graph", "node")};
  }

  void cores() {
    for (const auto& [name, label] : {std::pair<std::string, std::string>{"lanes", "inside a warp"},
                                      {"warps", "between warps"}})
      add("divergence." + name, Quantity::kFlopRate, Loads::kCores,
          compute_peak({"cuda_core.fp32"}))
          .curves = {slowdown_curve("divergence", "paths",
                                    "{} paths " + label + " take {} x as long as 1",
                                    name + "_slowdown")};
    for (const std::string format : {"fp32", "fp64", "fp16"}) {
      const std::string unit = "cuda_core." + format;
      add("fma." + format, Quantity::kFlopRate, Loads::kCores, compute_peak({unit.c_str()}))
          .ceilings = load_ceilings(resource(unit));
    }
    Benchmark& sweep = add("roofline.sweep.fp32", Quantity::kFlopRate, Loads::kCores,
                           under_roofline("cuda_core.fp32"));
    sweep.roofline_precision = "fp32";
    sweep.curves = {knee_curve("roofline sweep", "fp32")};
    for (const std::string format : {"fp16", "fp16_acc16", "bf16", "tf32", "fp64", "int8", "fp8"}) {
      const std::string unit = "tensor." + format;
      for (const std::string kind : {"sync", "wgmma"}) {
        if (kind == "wgmma" && format == "fp64") continue;  // there is none
        add("mma." + kind + "." + format, rate(format), Loads::kCores, compute_peak({unit.c_str()}))
            .ceilings = {{.resource = resource(unit), .basis = Basis::kInstruction}};
      }
    }
  }

  void products() {
    for (const std::string format :
         {"bf16", "fp16", "tf32", "fp8", "fp8_e5m2", "fp8_accurate", "int8", "fp64", "fp32"}) {
      Benchmark& b = product("gemm." + format, format);
      if (!format.starts_with("fp8_")) b.ceilings = product_ceilings(format);
      b.curves = {bench::operand_data_curve(format), bench::layouts_curve(format),
                  bench::cleared_cache_curve(format), bench::soak_curve()};
    }
    product("gemm.alignment.bf16", "bf16").curves = {bench::product_sides_curve("bf16")};
    product("gemm.alignment.int8", "int8").curves = {bench::product_sides_curve("int8")};
    product("gemm.vocabulary.bf16", "bf16").curves = {bench::vocabulary_curve("bf16")};
    product("gemm.waves.bf16", "bf16").curves = {bench::waves_curve()};
    product("gemm.skinny.bf16", "bf16").curves = {bench::skinny_curve("bf16")};
    Benchmark& model = product("gemm.model.bf16", "bf16");
    model.curves = {bench::model_layer_curve("bf16")};
    const auto note = [](const Measurement&) {
      return std::string(
          "a layer each of hidden size 4096 and 8192, 1024 tokens: all FLOPs over the time of all");
    };
    model.ceilings = {{.resource = resource("tensor.bf16"),
                       .basis = Basis::kModelBurst,
                       .counts = where("load", "burst"),
                       .note = note},
                      {.resource = resource("tensor.bf16"),
                       .basis = Basis::kModelShaped,
                       .counts = where("load", "sustained"),
                       .note = note}};
  }

  void host() {
    for (const std::string name : {"read", "copy", "triad"}) {
      Benchmark& b = add("host.memory." + name, Quantity::kByteRate, Loads::kHost, no_limit("CPU"));
      b.ceilings = {{.resource = resource("memory." + name)}};
      if (name == "read") b.curves = {thread_curve("threads", "memory read", "read")};
    }
    for (const std::string format : {"fp32", "fp64"}) {
      Benchmark& b = add("host.fma." + format, Quantity::kFlopRate, Loads::kHost, no_limit("CPU"));
      b.ceilings = {{.resource = resource("cpu." + format)}};
      if (format == "fp32") b.curves = {thread_curve("threads", "FP32", "fp32")};
    }
  }

 private:
  Benchmark& add(std::string id, Quantity quantity, Loads loads, Limit limit) {
    Benchmark& b = all_.emplace_back();
    b.id = std::move(id);
    b.quantity = quantity;
    b.loads = loads;
    b.limit = std::move(limit);
    return b;
  }

  static CeilingRule link_ceiling(const std::string& name) {
    return {.resource = resource(name), .counts = at_least("bytes", kCeilingCopyBytes)};
  }

  static Quantity rate(const std::string& format) {
    return format == "int8" ? Quantity::kOpRate : Quantity::kFlopRate;
  }

  Benchmark& product(std::string id, const std::string& format) {
    const std::string unit = "tensor." + format.substr(0, format.find('_'));
    return add(std::move(id), rate(format), Loads::kCores,
               format == "fp32"   ? compute_peak({"gemm.fp32"})
               : format == "fp64" ? compute_peak({"tensor.fp64", "gemm.fp64"})
                                  : compute_peak({unit.c_str()}));
  }

  static std::vector<CeilingRule> product_ceilings(const std::string& format) {
    if (format == "fp32") return load_ceilings(resource("gemm.fp32"));
    if (format != "fp64") return load_ceilings(resource("tensor." + format));
    std::vector<CeilingRule> rules;
    for (const bool tensor : {true, false})
      for (CeilingRule rule : load_ceilings(resource(tensor ? "tensor.fp64" : "gemm.fp64"))) {
        rule.counts = [counts = rule.counts, tensor](const Measurement& m,
                                                     const DeviceFacts* device) {
          const auto ops =
              ops_per_clock_per_sm(device->compute_major, device->compute_minor, "tensor.fp64");
          return ops.has_value() == tensor && counts(m, device);
        };
        rules.push_back(std::move(rule));
      }
    return rules;
  }

  std::vector<Benchmark> all_;
};

inline const std::vector<Benchmark>& benchmarks() {
  static const std::vector<Benchmark> kBenchmarks = [] {
    CatalogBuilder catalog;
    catalog.memory();
    catalog.link();
    catalog.cores();
    catalog.products();
    catalog.host();
    return catalog.take();
  }();
  return kBenchmarks;
}

}  // namespace peakline::sample
