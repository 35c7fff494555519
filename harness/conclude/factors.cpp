#include "harness/conclude/factors.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "harness/hardware/datasheets.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/measurement.hpp"

namespace peakline {
namespace {

// Overhead of a transaction layer packet with 64-bit address since PCIe 3.0: 4 bytes framing with
// sequence number, 16 header, 4 checksum.
constexpr double kPacketOverheadBytes = 24;

double product(const std::vector<Factor>& factors) {
  return std::accumulate(factors.begin(), factors.end(), 1.0,
                         [](double so_far, const Factor& f) { return so_far * f.value; });
}

const Ceiling& theory_of(const DeviceView& device, const Ceiling& row) {
  return *device.ceiling(row.resource, Basis::kTheoretical);
}

// Adds the unexplained rest.
std::vector<Factor> completed(std::vector<Factor> factors, const DeviceView& device,
                              const Ceiling& row, std::string rest) {
  factors.push_back({std::move(rest), row.value / theory_of(device, row).value / product(factors)});
  return factors;
}

Params without_size(Params params) {
  std::erase_if(params, [](const auto& param) { return param.first == "bytes"; });
  return params;
}

// Share of the rate that launch overhead leaves, in [0, 1]; nullopt without a line through times
// over sizes. The overhead may come from another access width.
std::optional<double> launch_factor(const DeviceView& device, const Measurement& source) {
  std::map<Params, std::pair<std::vector<double>, std::vector<double>>> lines;
  for (const Measurement* m : device.sweep(source.id)) {
    auto& [bytes, times] = lines[without_size(m->params)];
    bytes.push_back(m->work.bytes());
    times.push_back(m->summary->median);
  }
  for (const auto& [params, line] : lines) {
    const auto& [bytes, times] = line;
    const auto fitted = line_through_sizes(bytes, times);
    if (!fitted) continue;
    return std::max(1 - std::max(fitted->fixed, 0.0) / source.summary->median, 0.0);
  }
  return std::nullopt;
}

// The highest rate of pure reads or pure writes.
std::optional<double> one_way(const DeviceView& device, const Ceiling& of, double Work::*none) {
  std::optional<double> best;
  for (const Ceiling* row : device.ceilings) {
    const Measurement* m = device.source(*row);
    if (m == nullptr || !sound(*m) || row->unit != of.unit || m->work.*none != 0) continue;
    const Ceiling* theory = device.ceiling(row->resource, Basis::kTheoretical);
    if (theory != nullptr && theory->note == theory_of(device, of).note)  // the same memory
      best = std::max(best.value_or(0), row->value);
  }
  return best;
}

// The measured GEMM's factor, or several ones' weighted by FLOP; nullopt if tiles are unknown.
std::optional<double> waves_factor(const Measurement& source, const DeviceFacts& gpu) {
  const Params& launch = source.launch;
  if (const auto full = int_param(launch, "full_wave_flops"); full && *full > 0)
    return source.work.flops / static_cast<double>(*full);
  const auto tiles = int_param(launch, "tiles");
  if (!tiles || *tiles <= 0 || !gpu.sm_count) return std::nullopt;
  return share_of_waves(*tiles, static_cast<unsigned>(*gpu.sm_count));
}

const DeviceFacts& gpu_of(const DeviceView& device, const Ceiling& row) {
  return *facts_for(*device.profile, *device.source(row));
}

}  // namespace

double share_of_waves(std::int64_t tiles, unsigned sms) {
  const double waves = static_cast<double>(tiles) / sms;
  return waves / std::ceil(waves);
}

std::vector<Factor> compute_factors(const DeviceView& device, const Ceiling& row) {
  const Ceiling& theory = theory_of(device, row);
  const DeviceFacts& gpu = gpu_of(device, row);
  const auto clock = row.conditions.sm_clock_hz, most = theory.conditions.sm_clock_hz;
  if (!clock || !most || *clock <= 0 || *most <= 0) return {};
  std::vector<Factor> factors;
  const double rate = share_of_architecture(gpu, row.resource).value_or(1);
  if (rate < 1) factors.push_back({std::string(kHalfRateFactor), rate});
  const Datasheet* sheet = find_product(gpu);
  const bool lower = sheet != nullptr && sheet->boost_clock_hz > 0 && sheet->boost_clock_hz < *most;
  if (lower) factors.push_back({std::string(kBoostFactor), sheet->boost_clock_hz / *most});
  factors.push_back({std::string(kClockFactor), *clock / (lower ? sheet->boost_clock_hz : *most)});
  if (const auto share = waves_factor(*device.source(row), gpu))
    factors.push_back({"waves", *share});
  const Ceiling* instruction = device.ceiling(row.resource, Basis::kInstruction);
  if (instruction != nullptr && instruction != &row &&
      instruction->conditions.sm_clock_hz.value_or(0) > 0) {
    factors.push_back({"instruction", instruction->value / *instruction->conditions.sm_clock_hz /
                                          (theory.value * rate / *most)});
  }
  return completed(std::move(factors), device, row, std::string(kRestFactor));
}

std::vector<Factor> memory_factors(const DeviceView& device, const Ceiling& row) {
  const Measurement& source = *device.source(row);
  std::vector<Factor> factors;
  if (const auto launch = launch_factor(device, source)) factors.push_back({"launch", *launch});
  const Work& work = source.work;
  const auto reads = one_way(device, row, &Work::bytes_written);
  const auto writes = one_way(device, row, &Work::bytes_read);
  if (work.bytes_read > 0 && work.bytes_written > 0 && reads && writes) {
    const double alone = work.bytes() / (work.bytes_read / *reads + work.bytes_written / *writes);
    factors.push_back({"turnaround", row.value / product(factors) / alone});
  }
  const auto clock = row.conditions.memory_clock_hz, most = gpu_of(device, row).memory_clock_max_hz;
  if (clock && most && *clock < *most) factors.push_back({"memory clock", *clock / *most});
  return completed(std::move(factors), device, row, "DRAM");
}

std::vector<Factor> link_factors(const DeviceView& device, const Ceiling& row) {
  const DeviceFacts& gpu = gpu_of(device, row);
  std::vector<Factor> factors;
  if (const auto payload = gpu.pcie.max_payload_bytes; payload && !gpu.c2c) {
    factors.push_back({std::string(kPacketsFactor), *payload / (*payload + kPacketOverheadBytes)});
  }
  if (const auto launch = launch_factor(device, *device.source(row)))
    factors.push_back({"launch", *launch});
  return completed(std::move(factors), device, row, std::string(kRestFactor));
}

std::vector<Ceiling> with_factors(const Profile& profile, Benchmarks benchmarks) {
  std::vector<Ceiling> explained = profile.ceilings;
  for (const DeviceView& device : device_views(profile)) {
    for (const Ceiling* row : device.ceilings) {
      const Measurement* source = device.source(*row);
      if (source == nullptr || !sound(*source) || facts_for(profile, *source) == nullptr ||
          device.ceiling(row->resource, Basis::kTheoretical) == nullptr)
        continue;
      const Benchmark* benchmark = find_benchmark(benchmarks, source->id);
      if (benchmark == nullptr || !benchmark->limit.factors) continue;
      explained[static_cast<std::size_t>(row - profile.ceilings.data())].factors =
          benchmark->limit.factors(device, *row);
    }
  }
  return explained;
}

}  // namespace peakline
