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

// Adds the unexplained rest.
std::vector<Factor> completed(std::vector<Factor> factors, const FactorView& view,
                              std::string rest) {
  factors.push_back({std::move(rest), view.row.value / view.theory.value / product(factors)});
  return factors;
}

Params without_size(Params params) {
  std::erase_if(params, [](const auto& param) { return param.first == "bytes"; });
  return params;
}

// Share of the rate that launch overhead leaves, in [0, 1]; nullopt without a line through times
// over sizes. The overhead may come from another access width.
std::optional<double> launch_factor(const FactorView& view) {
  std::map<Params, std::pair<std::vector<double>, std::vector<double>>> lines;
  for (const Measurement& m : view.profile.measurements) {
    if (!sound(m) || m.id != view.source.id || m.device != view.source.device) continue;
    auto& [bytes, times] = lines[without_size(m.params)];
    bytes.push_back(m.work.bytes());
    times.push_back(m.summary->median);
  }
  for (const auto& [params, line] : lines) {
    const auto& [bytes, times] = line;
    const auto fitted = line_through_sizes(bytes, times);
    if (!fitted) continue;
    return std::max(1 - std::max(fitted->fixed, 0.0) / view.source.summary->median, 0.0);
  }
  return std::nullopt;
}

// The highest rate of pure reads or pure writes.
std::optional<double> one_way(const FactorView& view, double Work::*none) {
  std::optional<double> best;
  for (const Ceiling& row : view.profile.ceilings) {
    const Measurement* m = view.source_of(row);
    if (m == nullptr || row.unit != view.row.unit || row.device != view.row.device) continue;
    const auto* theory =
        find_ceiling(view.profile.ceilings, row.device, row.resource, Basis::kTheoretical);
    const bool same_memory = theory != nullptr && theory->note == view.theory.note;
    if (same_memory && m->work.*none == 0) best = std::max(best.value_or(0), row.value);
  }
  return best;
}

// The measured GEMM's factor, or several ones' weighted by FLOP; nullopt if tiles are unknown.
std::optional<double> waves_factor(const FactorView& view) {
  const Params& launch = view.source.launch;
  if (const auto full = int_param(launch, "full_wave_flops"); full && *full > 0)
    return view.source.work.flops / static_cast<double>(*full);
  const auto tiles = int_param(launch, "tiles");
  if (!tiles || *tiles <= 0 || !view.device.sm_count) return std::nullopt;
  return share_of_waves(*tiles, static_cast<unsigned>(*view.device.sm_count));
}

}  // namespace

double share_of_waves(std::int64_t tiles, unsigned sms) {
  const double waves = static_cast<double>(tiles) / sms;
  return waves / std::ceil(waves);
}

std::vector<Factor> compute_factors(const FactorView& view) {
  const auto clock = view.row.conditions.sm_clock_hz, most = view.theory.conditions.sm_clock_hz;
  if (!clock || !most || *clock <= 0 || *most <= 0) return {};
  std::vector<Factor> factors;
  const double rate = share_of_architecture(view.device, view.row.resource).value_or(1);
  if (rate < 1) factors.push_back({std::string(kHalfRateFactor), rate});
  const Datasheet* sheet = find_product(view.device);
  const bool lower = sheet != nullptr && sheet->boost_clock_hz > 0 && sheet->boost_clock_hz < *most;
  if (lower) factors.push_back({std::string(kBoostFactor), sheet->boost_clock_hz / *most});
  factors.push_back({std::string(kClockFactor), *clock / (lower ? sheet->boost_clock_hz : *most)});
  if (const auto share = waves_factor(view)) factors.push_back({"waves", *share});
  const Ceiling* instruction =
      find_ceiling(view.profile.ceilings, view.row.device, view.row.resource, Basis::kInstruction);
  if (instruction != nullptr && instruction != &view.row &&
      instruction->conditions.sm_clock_hz.value_or(0) > 0) {
    factors.push_back({"instruction", instruction->value / *instruction->conditions.sm_clock_hz /
                                          (view.theory.value * rate / *most)});
  }
  return completed(std::move(factors), view, std::string(kRestFactor));
}

std::vector<Factor> memory_factors(const FactorView& view) {
  std::vector<Factor> factors;
  if (const auto launch = launch_factor(view)) factors.push_back({"launch", *launch});
  const Work& work = view.source.work;
  const auto reads = one_way(view, &Work::bytes_written);
  const auto writes = one_way(view, &Work::bytes_read);
  if (work.bytes_read > 0 && work.bytes_written > 0 && reads && writes) {
    const double alone = work.bytes() / (work.bytes_read / *reads + work.bytes_written / *writes);
    factors.push_back({"turnaround", view.row.value / product(factors) / alone});
  }
  const auto clock = view.row.conditions.memory_clock_hz, most = view.device.memory_clock_max_hz;
  if (clock && most && *clock < *most) factors.push_back({"memory clock", *clock / *most});
  return completed(std::move(factors), view, "DRAM");
}

std::vector<Factor> link_factors(const FactorView& view) {
  std::vector<Factor> factors;
  if (const auto payload = view.device.pcie.max_payload_bytes; payload && !view.device.c2c) {
    factors.push_back({std::string(kPacketsFactor), *payload / (*payload + kPacketOverheadBytes)});
  }
  if (const auto launch = launch_factor(view)) factors.push_back({"launch", *launch});
  return completed(std::move(factors), view, std::string(kRestFactor));
}

std::vector<Ceiling> with_factors(const Profile& profile, Benchmarks benchmarks) {
  MeasurementsByName by_name;
  for (const Measurement& m : profile.measurements) {
    if (sound(m)) by_name.emplace(std::pair(m.device, m.name()), &m);
  }
  std::vector<Ceiling> explained = profile.ceilings;
  for (std::size_t i = 0; i < explained.size(); ++i) {
    const Ceiling& row = profile.ceilings[i];  // rows are identified by address
    const auto source = by_name.find({row.device, row.measurement});
    const Ceiling* theory =
        find_ceiling(profile.ceilings, row.device, row.resource, Basis::kTheoretical);
    if (source == by_name.end() || theory == nullptr) continue;
    const DeviceFacts* device = facts_for(profile, *source->second);
    if (device == nullptr) continue;
    const Benchmark* benchmark = find_benchmark(benchmarks, source->second->id);
    if (benchmark == nullptr || !benchmark->limit.factors) continue;
    explained[i].factors = benchmark->limit.factors({.profile = profile,
                                                     .device = *device,
                                                     .row = row,
                                                     .theory = *theory,
                                                     .source = *source->second,
                                                     .by_name = by_name});
  }
  return explained;
}

}  // namespace peakline
