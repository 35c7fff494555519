#include "tests/zoo/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "harness/hardware/datasheets.hpp"
#include "harness/judge/check.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/run/plan.hpp"
#include "harness/show/check.hpp"
#include "harness/show/machine.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/units.hpp"

namespace peakline::zoo {
namespace {

// One resource of each kind, so that the lines stay readable.
constexpr auto kShown = std::to_array<std::string_view>(
    {"hbm.read", "l1.read", "pcie.h2d", "c2c.h2d", "cuda_core.fp64", "cuda_core.fp32",
     "tensor.bf16", "tensor.fp16_acc16", "tensor.fp8", "tensor.int8", "tensor.fp4"});

std::string rows(const Profile& profile, Basis basis) {
  std::string text;
  for (const Ceiling& row : profile.ceilings)
    if (row.device == profile.devices[0].uuid && row.basis == basis &&
        std::ranges::find(kShown, row.resource) != kShown.end())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.resource,
                          format_rate(row.value, row.unit));
  return text.empty() ? "none" : text;
}

std::string missing(const Profile& profile) {
  std::string text;
  for (const MissingCeiling& row : profile.missing_ceilings)
    if (row.device == profile.devices[0].uuid && text.find(row.resource) == std::string::npos)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", row.resource);
  return text.empty() ? "nothing" : text;
}

}  // namespace

std::string summary(const Profile& profile) {
  const DeviceFacts& device = profile.devices.at(0);
  const Datasheet* product = find_product(device);
  const std::string why = why_no_datasheet(device);
  const std::vector<DeviceView> devices = measured_devices(profile);
  const DeviceView& view = devices.at(0);
  std::string text = fmt::format("{}\n", title_of(view));
  text += fmt::format("product    {}\n", product == nullptr ? "unknown" : product->product);
  text += fmt::format("published  {}\n", why.empty() ? rows(profile, Basis::kDatasheet) : why);
  text += fmt::format("theory     {}\n", rows(profile, Basis::kTheoretical));
  text += fmt::format("missing    {}\n", missing(profile));
  text += fmt::format("memory     {}\n", ResourceLabels(profile)("hbm.read"));
  text += fmt::format("host link  {}\n", host_link_name(device));
  for (const Headline* headline : view.headlines) {
    const Ceiling* row = view.ceiling(headline->resource, headline->basis);
    text += fmt::format("headline   {}: {}", headline->label,
                        row != nullptr ? format_rate(row->value, row->unit) : headline->missing);
    if (headline->reference)
      if (const Ceiling* reference = view.ceiling(headline->resource, *headline->reference))
        text += fmt::format(" of {} {}", format_rate(reference->value, reference->unit),
                            to_string(reference->basis));
    text += '\n';
  }
  static const std::vector<Population> kKnown = bundled_populations();
  Checks checks;
  checks.files.push_back(
      {.file = {}, .result = check(profile, {.populations = kKnown, .donors = kKnown})});
  return text + "check      " + terminal_text(check_line(checks), false);
}

std::string lacks(const DeviceFacts& device, const bench::Registry& registry) {
  std::set<std::string> areas;
  for (const Benchmark& benchmark : registry.benchmarks())
    if (benchmark.runs_on && !benchmark.runs_on(device))
      areas.insert(benchmark.id.substr(0, benchmark.id.rfind('.')));
  constexpr std::size_t kFootprint = std::size_t{256} << 20;
  return fmt::format("lacks      {}\nbeyond L2  {} MiB\n",
                     areas.empty() ? "nothing" : fmt::format("{}", fmt::join(areas, ", ")),
                     beyond_l2(device, kFootprint, 4) >> 20);
}

std::string plan_summary(const DeviceFacts& device, const bench::Registry& registry) {
  const auto counts = [&](bool quick) {
    bench::Plan plan = bench::make_plan(registry, std::vector{device.uuid}, quick, "");
    bench::fit_to_devices(plan, std::span(&device, 1));
    std::erase_if(plan.devices, [&](const auto& of) { return of.device != device.uuid; });
    return fmt::format("{} points in {:.0f} s", plan.size(), plan.seconds());
  };
  return fmt::format("plan       full {}, quick {}\n", counts(false), counts(true));
}

}  // namespace peakline::zoo
