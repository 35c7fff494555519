#include "harness/benchmark/benchmark_json.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace peakline::bench {
namespace {

using Reporter = ::benchmark::BenchmarkReporter;

// Releases up to 1.7 have one flag for what has no result, later ones tell skips from errors. A
// template, so that only the branch that fits the installed release is compiled.
template <class Run>
void set_without_result(Run& run, const Measurement& measurement) {
  if constexpr (requires { run.error_occurred; }) {
    run.error_occurred = true;
    run.error_message = measurement.reason;
  } else {
    using Skipped = decltype(run.skipped);
    run.skipped = measurement.status == Status::kSkipped ? Skipped::SkippedWithMessage
                                                         : Skipped::SkippedWithError;
    run.skip_message = measurement.reason;
  }
}

Reporter::Run make_run(const Measurement& measurement, bool name_device) {
  Reporter::Run run;
  run.run_name.function_name = measurement.id;
  std::string arguments = name_device ? "device:" + measurement.device : "";
  for (const auto& [name, value] : measurement.params) {
    arguments += (arguments.empty() ? "" : "/") + name + ":" + to_string(value);
  }
  run.run_name.args = arguments;
  run.report_label = measurement.device;
  run.repetition_index = 0;
  run.repetitions = 1;
  run.time_unit = ::benchmark::kNanosecond;
  if (!measurement.summary) {
    if (measurement.status != Status::kOk) set_without_result(run, measurement);
    return run;
  }
  run.iterations = std::max<std::int64_t>(
      1, measurement.launches_per_sample * static_cast<std::int64_t>(measurement.samples_s.size()));
  run.real_accumulated_time = measurement.summary->median * static_cast<double>(run.iterations);
  // Work on a device takes no CPU time worth the name, but compare.py takes the logarithm of this
  // column: it gets the same time.
  run.cpu_accumulated_time = run.real_accumulated_time;
  if (measurement.value && measurement.unit == "B/s") {
    run.counters["bytes_per_second"] = *measurement.value;
  } else if (measurement.value && measurement.unit != "s") {
    run.counters["flops_per_second"] = *measurement.value;
  }
  return run;
}

}  // namespace

std::string to_benchmark_json(const Profile& profile) {
  std::ostringstream out;
  ::benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&out);
  Reporter::Context::executable_name = "peakline";
  reporter.ReportContext(Reporter::Context());
  struct Family {
    std::int64_t index, points;
  };
  std::map<std::string, Family> families;  // by id, numbered as they come
  std::vector<Reporter::Run> runs;
  for (const Measurement& measurement : profile.measurements) {
    const bool name_device = profile.devices.size() > 1 && measurement.device != kHostDevice;
    Reporter::Run& run = runs.emplace_back(make_run(measurement, name_device));
    const auto next = static_cast<std::int64_t>(families.size());
    Family& family = families.try_emplace(measurement.id, Family{next, 0}).first->second;
    run.family_index = family.index;
    run.per_family_instance_index = family.points++;
  }
  reporter.ReportRuns(runs);
  reporter.Finalize();
  return out.str();
}

}  // namespace peakline::bench
