#pragma once

// A full run on an H200 with figures as one measured them, as input for tests: everything a test
// wants otherwise, it changes.

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/conclude/ceilings.hpp"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/factors.hpp"
#include "harness/conclude/findings.hpp"
#include "harness/conclude/headlines.hpp"
#include "harness/values/profile.hpp"
#include "harness/values/units.hpp"
#include "tests/unit/sample_catalog.hpp"

namespace peakline::sample {

inline constexpr const char* kUuid = "GPU-11111111-2222-3333-4444-555555555555";

inline DeviceFacts h200() {
  DeviceFacts d;
  d.uuid = kUuid;
  d.name = "NVIDIA H200";
  d.pci_bus_id = "0000:18:00.0";
  d.compute_major = 9;
  d.sm_count = 132;
  d.sm_clock_max_hz = 1980e6;
  d.memory_clock_max_hz = 3201e6;
  d.memory_bus_bits = 6016;
  d.memory_bytes = 143771.0 * kMiB;
  d.l2_bytes = 60 * kMiB;
  d.ecc_enabled = true;
  d.mig_enabled = false;
  d.power_limit_w = d.power_limit_default_w = d.power_limit_max_w = 700;
  d.pcie = {.generation = 5, .width = 16, .max_generation = 5, .max_width = 16};
  d.pcie_read_under_load = true;
  return d;
}

// Work and time so that the rate is `value`, with an interval of +-0.1 %.
inline Measurement measurement(std::string id, Params params, Quantity quantity, double value,
                               std::string device = kUuid) {
  Measurement m;
  m.id = std::move(id);
  m.params = std::move(params);
  m.device = std::move(device);
  m.unit = unit_of(quantity);
  m.value = value;
  m.verified = true;
  const double median = quantity == Quantity::kTime ? value : 1e-3;
  if (quantity == Quantity::kByteRate) m.work.bytes_read = value * median;
  if (quantity == Quantity::kFlopRate || quantity == Quantity::kOpRate) {
    m.work.flops = value * median;
  }
  m.summary = Summary{median, median * 0.999, median * 1.001, median * 0.99, median * 1.02, 20};
  m.samples_s.assign(20, median);
  m.launches_per_sample = 1;
  return m;
}

inline Measurement compute(std::string id, const char* load, double value, double clock_hz,
                           double power_w = 450, bool power_capped = false) {
  auto m = measurement(std::move(id), {{"load", std::string(load)}}, Quantity::kFlopRate, value);
  m.conditions.sm_clock_hz = clock_hz;
  m.conditions.sm_clock_source = ClockSource::kKernel;
  m.conditions.power_w = power_w;
  m.conditions.temperature_c = 55;
  if (power_capped) {
    m.flags.throttled = true;
    m.conditions.throttle_reasons = {"sw_power_cap"};
  }
  return m;
}

// A point of a sweep over products of `work`, at its rate and clock.
inline Measurement product(std::string id, Params params, double rate, double clock_hz,
                           const Work& work = {
                               .bytes_read = 3e8, .bytes_written = 1e8, .flops = 1e12}) {
  const bool whole_numbers = id.ends_with(".int8");
  auto m = measurement(std::move(id), std::move(params),
                       whole_numbers ? Quantity::kOpRate : Quantity::kFlopRate, rate);
  m.work = work;
  const double median = work.flops / rate;
  m.summary = Summary{median, median * 0.998, median * 1.003, median * 0.998, median * 1.003, 7};
  m.samples_s.assign(7, median);
  m.conditions.sm_clock_hz = clock_hz;
  m.conditions.sm_clock_source = ClockSource::kProbe;
  return m;
}

// The sweeps over matrix products. Clocks differ from point to point, as under a power cap.
inline void add_products(std::vector<Measurement>& all) {
  const auto text = [](const char* value) { return std::string(value); };
  const std::int64_t hidden = 8192;
  for (const auto& [tokens, rate] : {std::pair{std::int64_t{1}, 4e12},
                                     {std::int64_t{4096}, 600e12},
                                     {std::int64_t{16384}, 644e12}}) {
    all.push_back(product("gemm.model.bf16",
                          {{"hidden", hidden}, {"tokens", tokens}, {"part", text("qkv")}},
                          1.2 * rate, 1500e6));
    all.push_back(product("gemm.model.bf16",
                          {{"hidden", hidden}, {"tokens", tokens}, {"part", text("layer")}}, rate,
                          1500e6));
  }
  all.push_back(
      product("gemm.model.bf16",
              {{"hidden", hidden / 2}, {"tokens", std::int64_t{16384}}, {"part", text("layer")}},
              630e12, 1500e6));
  all.push_back(product("gemm.model.bf16", {{"load", text("burst")}}, 770e12, 1650e6));
  all.push_back(product("gemm.model.bf16", {{"load", text("sustained")}}, 665e12, 1380e6));
  for (const auto& [dimension, share] : {std::pair{"M", 0.98}, {"N", 0.45}, {"K", 0.6}}) {
    all.push_back(product("gemm.alignment.bf16",
                          {{"dimension", text(dimension)}, {"size", std::int64_t{8192}}}, 700e12,
                          1400e6));
    all.push_back(product("gemm.alignment.bf16",
                          {{"dimension", text(dimension)}, {"size", std::int64_t{8191}}},
                          share * 750e12, 1500e6));
    all.push_back(product("gemm.alignment.bf16",
                          {{"dimension", text(dimension)}, {"size", std::int64_t{8184}}},
                          0.99 * 750e12, 1500e6));
  }
  all.push_back(product("gemm.vocabulary.bf16", {{"n", std::int64_t{50257}}}, 330e12, 1500e6));
  all.push_back(product("gemm.vocabulary.bf16", {{"n", std::int64_t{50304}}}, 700e12, 1400e6));
  // The tiles of one wave are 132, one for each SM.
  for (const auto& [m, tiles, fixed] : {std::tuple{std::int64_t{768}, std::int64_t{66}, 0.5},
                                        {1536, 132, 1.0},
                                        {1664, 143, 0.55},
                                        {3072, 264, 1.0},
                                        {3200, 275, 0.7}}) {
    for (const char* kernel : {"fixed", "best"}) {
      const double share = kernel == text("fixed") ? fixed : std::max(fixed, 0.8);
      auto point = product("gemm.waves.bf16", {{"m", m}, {"kernel", text(kernel)}},
                           share * 0.5 * 1500e6, 1500e6);
      point.launch = {{"n", std::int64_t{2816}},
                      {"k", std::int64_t{4096}},
                      {"tile_m", std::int64_t{128}},
                      {"tile_n", std::int64_t{256}},
                      {"tiles", tiles}};
      all.push_back(point);
    }
  }
  for (std::int64_t m = 1; m <= 4096; m *= 4) {
    const double rows = static_cast<double>(m), side = 8192;
    const Work work = {.bytes_read = 2 * (side * side + rows * side),
                       .bytes_written = 2 * rows * side,
                       .flops = 2 * rows * side * side};
    const double roof = std::min(805e12, 4583e9 * work.flops / work.bytes());
    all.push_back(product("gemm.skinny.bf16", {{"m", m}}, 0.9 * roof, 1700e6, work));
  }
  for (const char* layout : {"NN", "TN"}) {
    all.push_back(product("gemm.bf16", {{"layout", text(layout)}}, 690e12, 1420e6));
  }
  for (const auto& [data, rate, clock_hz, power_w] : {std::tuple{"normal", 684e12, 1410e6, 700.0},
                                                      {"half_zeros", 720e12, 1500e6, 700.0},
                                                      {"zeros", 823e12, 1890e6, 610.0}}) {
    auto point = product("gemm.bf16", {{"data", text(data)}}, rate, clock_hz);
    point.conditions.power_w = power_w;
    all.push_back(point);
  }
  all.push_back(product("gemm.bf16", {{"l2", text("cleared")}}, 745e12, 1700e6));
  all.push_back(compute("gemm.fp8_accurate", "burst", 900e12, 1900e6));
  all.push_back(compute("gemm.bf16", "soak", 680e12, 1400e6, 699, true));
  all.back().launch = {{"seconds", std::int64_t{120}},
                       {"equilibrium_s", std::int64_t{64}},
                       {"equilibrium_temperature_c", std::int64_t{71}}};
  all.back().series = {.time_s = {1, 64, 120},
                       .rate = {750e12, 682e12, 680e12},
                       .sm_clock_hz = {1800e6, 1405e6, 1400e6},
                       .power_w = {699, 700, 699},
                       .temperature_c = {38, 70.5, 71}};
}

inline Measurement& find(Profile& profile, std::string_view name) {
  for (Measurement& m : profile.measurements) {
    if (m.name() == name) return m;
  }
  throw std::out_of_range("no measurement " + std::string(name));
}

// Derives again what follows from the measurements, whose flags stay as they are.
inline Profile derived(Profile p) {
  Ceilings ceilings = derive_ceilings(p, benchmarks());
  p.resources = std::move(ceilings.resources);
  p.ceilings = std::move(ceilings.rows);
  p.missing_ceilings = std::move(ceilings.missing);
  p.ceilings = with_factors(p, benchmarks());
  p.rooflines = derive_rooflines(p, benchmarks());
  p.headlines = derive_headlines(p);
  p.curves = derive_curves(p, benchmarks());
  p.findings = derive_findings(p, benchmarks());
  return p;
}

inline Profile h200_run() {
  Profile p;
  p.created = "2026-11-20T20:17:00Z";
  p.tool = "peakline 0.1.0";
  p.command = {"peakline", "run", "--full"};
  p.mode = "full";
  p.complete = true;
  p.duration_s = 118.2;
  p.host.hostname = "node7";
  p.host.cpu_model = "AMD EPYC 9654 96-Core Processor";
  p.host.architecture = "x86_64";
  p.host.sockets = 2;
  p.host.cores = 192;
  p.host.hardware_threads = p.host.usable_threads = 384;
  p.host.numa_nodes = {{0, 768 * kGiB, "0-95,192-287"}, {1, 768 * kGiB, "96-191,288-383"}};
  p.host.memory_bytes = 1536 * kGiB;
  p.host.vector_extension = "avx512f";
  p.host.os = "Debian GNU/Linux 12";
  p.host.kernel = "6.1.0";
  p.host.cpu_governor = "performance";
  p.software.driver = "580.159.03";
  p.software.cuda_driver_api = p.software.cuda_runtime = "13.0";
  p.software.cuda_compiler = "13.0.88";
  p.software.cublaslt = "13.0.2";
  p.software.cxx_compiler = "gcc 12.2.0";
  p.software.build_type = "Release";
  p.software.git_revision = "0123abc";
  p.devices = {h200()};

  auto& all = p.measurements;
  const std::int64_t large = 4LL << 30;
  const auto hbm = [&](const char* id, std::int64_t width, std::int64_t bytes, double gbps) {
    all.push_back(
        measurement(id, {{"width", width}, {"bytes", bytes}}, Quantity::kByteRate, gbps * 1e9));
  };
  hbm("hbm.read", 4, large, 4311);
  hbm("hbm.read", 8, large, 4520);
  hbm("hbm.read", 16, 256 << 20, 4702);
  hbm("hbm.read", 16, large, 4583);
  hbm("hbm.write", 16, large, 4639);
  hbm("hbm.copy", 16, large, 4254);
  hbm("hbm.triad", 16, large, 4359);
  all.push_back(measurement("hbm.memcpy", {{"bytes", large}}, Quantity::kByteRate, 4190e9));

  const auto pcie = [&](const char* id, std::int64_t bytes, double seconds) {
    auto m = measurement(id, {{"bytes", bytes}}, Quantity::kByteRate,
                         static_cast<double>(bytes) / seconds);
    m.work.bytes_read = static_cast<double>(bytes);
    m.summary =
        Summary{seconds, seconds * 0.999, seconds * 1.001, seconds * 0.999, seconds * 1.001, 20};
    all.push_back(m);
  };
  for (const char* id : {"pcie.h2d.pinned", "pcie.d2h.pinned"}) {
    pcie(id, 4096, 5.2e-6);
    pcie(id, 65536, 6.4e-6);
    pcie(id, 262144, 9.8e-6);
    pcie(id, 1 << 20, 24e-6);
    pcie(id, 256 << 20, 4.85e-3);
    pcie(id, 1 << 30, 19.4e-3);
  }
  pcie("pcie.h2d.pageable", 256 << 20, 31e-3);
  pcie("pcie.d2h.pageable", 256 << 20, 19e-3);
  pcie("pcie.bidirectional.pinned", 512 << 20, 5.3e-3);

  for (const auto& [id, seconds] : {std::pair{"launch.submit", 1.9e-6},
                                    {"launch.round_trip", 6.1e-6},
                                    {"launch.back_to_back", 2.2e-6},
                                    {"launch.empty_kernel", 1.4e-6}}) {
    all.push_back(measurement(id, {}, Quantity::kTime, seconds));
  }
  for (const std::int64_t nodes : {1, 4, 16, 64, 256, 1024}) {
    all.push_back(measurement("launch.graph", {{"nodes", nodes}}, Quantity::kTime,
                              3.5e-6 + 0.62e-6 * static_cast<double>(nodes)));
  }
  for (const std::int64_t paths : {1, 2, 4, 8, 16, 32}) {
    all.push_back(measurement("divergence.lanes", {{"paths", paths}}, Quantity::kFlopRate,
                              60e12 / static_cast<double>(paths)));
    all.push_back(measurement("divergence.warps", {{"paths", paths}}, Quantity::kFlopRate, 60e12));
  }
  for (const std::int64_t offset : {0, 4, 32, 64, 128}) {
    all.push_back(measurement("alignment.offset", {{"width", 4}, {"offset", offset}},
                              Quantity::kByteRate, offset % 32 == 0 ? 4300e9 : 3870e9));
  }
  for (const std::int64_t stride : {1, 2, 8, 64}) {
    all.push_back(measurement("alignment.stride", {{"width", 4}, {"stride", stride}},
                              Quantity::kByteRate,
                              4300e9 / static_cast<double>(std::min<std::int64_t>(stride, 8))));
  }
  all.push_back(compute("fma.fp64", "burst", 33.4e12, 1980e6));
  all.push_back(compute("fma.fp64", "sustained", 33.3e12, 1980e6));
  all.push_back(compute("fma.fp32", "burst", 65.2e12, 1980e6));
  all.push_back(compute("fma.fp32", "sustained", 65.1e12, 1980e6));
  all.push_back(compute("fma.fp16", "burst", 130e12, 1980e6));
  all.push_back(compute("fma.fp16", "sustained", 130e12, 1980e6));
  all.push_back(compute("gemm.fp32", "burst", 53e12, 1980e6));
  all.push_back(compute("gemm.fp32", "sustained", 52e12, 1980e6));
  all.push_back(compute("gemm.tf32", "burst", 410e12, 1905e6));
  all.push_back(compute("gemm.tf32", "sustained", 372e12, 1560e6, 699, true));
  all.push_back(compute("gemm.bf16", "burst", 805e12, 1890e6));
  all.push_back(compute("gemm.bf16", "sustained", 692e12, 1410e6, 700, true));
  all.push_back(compute("gemm.fp16", "burst", 771e12, 1875e6));
  all.push_back(compute("gemm.fp16", "sustained", 668e12, 1395e6, 701, true));
  add_products(all);
  for (const std::int64_t fma : {0, 1, 4, 8, 16, 24, 32, 64, 256, 1024}) {
    const double intensity = 2.0 * static_cast<double>(fma) / 4;
    const double flops = std::min(4500e9 * intensity, 64.5e12);
    auto m =
        measurement("roofline.sweep.fp32", {{"fma_per_element", fma}}, Quantity::kFlopRate, flops);
    m.work.bytes_read = 4e9;
    m.work.flops = 4e9 * intensity;
    const double seconds = fma == 0 ? 4e9 / 4500e9 : m.work.flops / flops;
    m.summary = Summary{seconds, seconds, seconds, seconds, seconds, 7};
    all.push_back(m);
  }
  for (const std::int64_t threads : {1, 192}) {
    const double scale = threads == 1 ? 0.05 : 1;
    const std::string host(kHostDevice);
    const Params params = {{"threads", threads}};
    all.push_back(
        measurement("host.memory.read", params, Quantity::kByteRate, scale * 680e9, host));
    all.push_back(
        measurement("host.memory.copy", params, Quantity::kByteRate, scale * 590e9, host));
    all.push_back(
        measurement("host.memory.triad", params, Quantity::kByteRate, scale * 610e9, host));
    all.push_back(measurement("host.fma.fp64", params, Quantity::kFlopRate, scale * 8.9e12, host));
    all.push_back(measurement("host.fma.fp32", params, Quantity::kFlopRate, scale * 17.8e12, host));
  }
  return derived(std::move(p));
}

}  // namespace peakline::sample
