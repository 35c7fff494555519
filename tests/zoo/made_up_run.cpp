#include "tests/zoo/made_up_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/conclude/conclusions.hpp"
#include "harness/hardware/datasheets.hpp"
#include "harness/hardware/spec.hpp"

namespace peakline::zoo {
namespace {

std::optional<double> ratio(const std::optional<double>& to, const std::optional<double>& of) {
  return to && of ? std::optional(*to / *of) : std::nullopt;
}

void scale(std::optional<double>& value, const std::optional<double>& by) {
  value = value && by ? std::optional(*value * *by) : std::nullopt;
}

// Theory knows the device's architecture, and that it lacks the unit that is measured.
bool has_no_such_unit(const Benchmark& benchmark, const DeviceFacts& device) {
  const auto has = [&](std::string_view resource) {
    return ops_per_clock_per_sm(device.compute_major, device.compute_minor, resource).has_value();
  };
  return has("cuda_core.fp32") &&
         std::ranges::any_of(benchmark.ceilings, [&](const CeilingRule& rule) {
           return rule.resource.kind == Resource::Kind::kCompute && !has(rule.resource.name);
         });
}

// What its datasheet states.
std::optional<double> published(const Benchmark& benchmark, const DeviceFacts& device) {
  for (const CeilingRule& rule : benchmark.ceilings)
    if (const DatasheetFigure* figure = datasheet_figure(device, rule.resource.name))
      return figure->value;
  return std::nullopt;
}

// What the H200's rate is multiplied by; nullopt: the device has no such unit. m: put on the
// device, at the H200's rate.
std::optional<double> faster_by(const Benchmark& benchmark, const Measurement& was,
                                const Measurement& m, const DeviceFacts& device,
                                const DeviceFacts& h200) {
  if (!benchmark.limit.of) return 1;
  const auto of_h200 = benchmark.limit.of(&was, h200);
  const auto here = benchmark.limit.of(&m, device);
  if (has_no_such_unit(benchmark, device)) return std::nullopt;
  if (!of_h200) return 1;
  const auto stated = published(benchmark, device);
  if (!here) return stated.value_or(of_h200->value) / of_h200->value;
  // Only a bound: the device may reach much less.
  if (!here->peak) return std::min(stated.value_or(here->value), here->value) / of_h200->value;
  double share = 1;
  for (const CeilingRule& rule : benchmark.ceilings)
    share = share_of_architecture(device, rule.resource.name).value_or(1);
  return here->value / of_h200->value * share;
}

void make_faster(Measurement& m, double by) {
  if (m.value && m.unit != "s") *m.value *= by;
  if (m.unit == "s") return;
  for (double& sample : m.samples_s) sample /= by;
  if (m.summary)
    for (double* time : {&m.summary->median, &m.summary->ci_low, &m.summary->ci_high,
                         &m.summary->min, &m.summary->max})
      *time /= by;
  for (double& rate : m.series.rate) rate *= by;
}

void put_on(Measurement& m, const DeviceFacts& device, const DeviceFacts& h200) {
  m.device = device.uuid;
  scale(m.conditions.sm_clock_hz, ratio(device.sm_clock_max_hz, h200.sm_clock_max_hz));
  if (!m.conditions.sm_clock_hz) m.conditions.sm_clock_source.reset();
  scale(m.conditions.memory_clock_hz, ratio(device.memory_clock_max_hz, h200.memory_clock_max_hz));
  scale(m.conditions.power_w, ratio(device.power_limit_w, h200.power_limit_w));
  if (m.conditions.pcie_generation) {
    const bool read = !device.integrated.value_or(false);  // the link is
    m.conditions.pcie_generation = read ? device.pcie.max_generation : std::nullopt;
    m.conditions.pcie_width = read ? device.pcie.max_width : std::nullopt;
  }
  m.series = {};
}

}  // namespace

Profile made_up_run(const DeviceFacts& device, const Profile& of_h200, Benchmarks benchmarks) {
  Profile profile = of_h200;
  const DeviceFacts h200 = profile.devices.at(0);
  profile.tool = "made up, not measured";
  profile.command = {"made", "up"};
  profile.devices = {device};
  for (Measurement& m : profile.measurements) {
    if (m.device != h200.uuid) continue;
    const Measurement was = m;
    put_on(m, device, h200);
    const Benchmark* benchmark = find_benchmark(benchmarks, m.id);
    if (benchmark == nullptr || m.status != Status::kOk) continue;
    if (const auto by = faster_by(*benchmark, was, m, device, h200)) {
      make_faster(m, *by);
      continue;
    }
    m = {.id = m.id,
         .params = m.params,
         .device = m.device,
         .status = Status::kSkipped,
         .reason = fmt::format("compute capability {}.{} has no such unit", device.compute_major,
                               device.compute_minor),
         .unit = m.unit};
  }
  return with_conclusions(std::move(profile), benchmarks);
}

}  // namespace peakline::zoo
