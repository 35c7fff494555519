// Findings on wrong results of a verifying soak: compute, memory, copies.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "harness/conclude/findings.hpp"
#include "harness/conclude/findings/subjects.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

constexpr const char* kDiffering = "differing_words";

void add_ecc_counts(const DeviceFacts& gpu, Evidence& evidence) {
  const auto add = [&](const char* what, const std::optional<std::int64_t>& before,
                       const std::optional<std::int64_t>& after) {
    if (before && after)
      evidence.emplace_back(what, fmt::format("{} before, {} after", *before, *after));
  };
  add("ECC errors, corrected", gpu.before.ecc.corrected, gpu.after.ecc.corrected);
  add("ECC errors, uncorrected", gpu.before.ecc.uncorrected, gpu.after.ecc.uncorrected);
}

// Evidence for a measurement's wrong words.
void add_wrong(const Measurement& m, std::int64_t words, Evidence& evidence) {
  evidence.emplace_back(m.name(), format_count(words, "wrong word"));
  for (const char* fact : {"first_difference", "differing_bits", "first_seen", "sm"})
    if (const auto text = text_param(m.launch, fact))
      evidence.emplace_back(fmt::format("{}: {}", m.name(), spaced(fact)), *text);
  for (const auto& [what, value] : conditions_of(m))
    if (what != "measurement") evidence.emplace_back(fmt::format("{}: {}", m.name(), what), value);
}

// The soak tests 95 % of free memory, half of shared memory.
constexpr double kTestedShare = 0.8, kTestedSharedShare = 0.4;

void untested_memory(const Measurement& m, const DeviceFacts* gpu, Collector& out) {
  const auto tested = int_param(m.launch, "memory_tested_bytes");
  if (!tested || gpu == nullptr || !gpu->memory_bytes) return;
  const double share = static_cast<double>(*tested) / *gpu->memory_bytes;
  if (share >= (gpu->integrated.value_or(false) ? kTestedSharedShare : kTestedShare)) return;
  out.add(std::string(kMemoryUntested), Severity::kWarning,
          fmt::format("The verifying soak tested {} of {} of memory, {}: the rest was occupied. "
                      "Repeat it on an idle GPU.",
                      format_size(static_cast<double>(*tested)), format_size(*gpu->memory_bytes),
                      format_percent(share)),
          {{"tested", format_size(static_cast<double>(*tested))},
           {"memory", format_size(*gpu->memory_bytes)}});
}

}  // namespace

void result_findings(const DeviceView& device, Benchmarks benchmarks, Collector& out) {
  double compared = 0;
  std::int64_t differing = 0;
  const Measurement* first = nullptr;
  bool only_copies = true;  // among the wrong ones
  Evidence wrong;
  for (const Measurement* m : device.measurements) {
    const auto words = int_param(m->launch, kDiffering);
    if (m->status != Status::kOk || !words) continue;
    untested_memory(*m, device.facts, out);
    compared += static_cast<double>(int_param(m->launch, "compared_words").value_or(0));
    if (m->verified != false) continue;
    const Benchmark* benchmark = find_benchmark(benchmarks, m->id);
    const bool copies = benchmark != nullptr && benchmark->loads == Loads::kLink;
    if (first == nullptr || (only_copies && !copies)) first = m;
    only_copies &= copies;
    differing += *words;
    add_wrong(*m, *words, wrong);
  }
  if (compared == 0) return;
  const std::string all = format_magnitude(compared) + " words";
  if (first == nullptr) {
    out.add("results_compared", Severity::kInfo,
            fmt::format("The verifying soak compared {}: all were right.", all),
            {{"compared", all}});
    return;
  }
  if (device.facts != nullptr) add_ecc_counts(*device.facts, wrong);
  std::string where = text_param(first->launch, "first_difference").value_or("");
  if (const auto sm = text_param(first->launch, "sm")) where += "; " + *sm;
  const std::string_view what =
      only_copies ? "Copies arrive with wrong data" : "The device gives wrong results";
  const std::string_view advice =
      !only_copies ? "Take it out of service."
      : device.is_node()
          ? "Either GPU or the link between them is faulty: use neither until you know which."
          : "The GPU, its link or the host's memory is faulty: do not use them until you "
            "know which.";
  out.add(std::string(kWrongResults), Severity::kError,
          fmt::format("{}: {} of {} that were compared. First in {}: {}. {}", what, differing, all,
                      first->name(), where, advice),
          std::move(wrong));
}

bool compares_results(const Measurement& measurement) {
  return int_param(measurement.launch, kDiffering).has_value();
}

}  // namespace peakline
