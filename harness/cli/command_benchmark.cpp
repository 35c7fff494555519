#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "harness/benchmark/device.hpp"
#include "harness/benchmark/google_benchmark.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/help.hpp"
#include "harness/cli/measure_options.hpp"
#include "harness/cli/output_file.hpp"
#include "harness/cli/unexpected.hpp"
#include "harness/host/facts.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/gpus.hpp"
#include "harness/run/plan.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

struct BenchmarkArguments {
  const CLI::App* command = nullptr;
  MeasureOptions measure;
  std::string device;
  // Google Benchmark's flags that are checked here: it takes a wrong value for an unknown flag,
  // overwrites the file, and compiles a filter that may not terminate.
  std::string filter, out, format, out_format, time_unit, repetitions;
  std::vector<std::string> others;
};

struct ChosenDevice {
  std::string name;  // kHostDevice, kNodeDevice or a GPU's UUID
  std::vector<std::string> uuids = {};
  std::vector<int> gpus = {};  // by index

  void add(const DeviceFacts& gpu) {
    uuids.push_back(gpu.uuid);
    gpus.push_back(gpu.index);
  }
};

// The device of --device; by default the first GPU, else the host.
ChosenDevice chosen_device(const std::string& wanted) {
  if (wanted == kHostDevice) return {wanted};
  const Gpus gpus;
  const auto& all = gpus.devices();
  if (wanted.empty() && all.empty()) return {std::string(kHostDevice)};
  const auto refuse = [&](std::string_view why) {
    throw UsageError(fmt::format("--device {}: {}", shown(wanted), why));
  };
  if (!gpus.why_none().empty()) refuse(gpus.why_none());
  ChosenDevice chosen;
  if (wanted == kNodeDevice) {
    chosen.name = wanted;
    for (const DeviceFacts& gpu : all)
      // A process sees only one MIG instance.
      if (gpu.unusable.empty() && !gpu.mig_enabled.value_or(false)) chosen.add(gpu);
    if (chosen.gpus.size() < 2) refuse("fewer than two GPUs can be measured");
    return chosen;
  }
  const auto named = wanted.empty() ? all : select_gpus(all, wanted);
  if (!wanted.empty() && named.size() != 1) refuse("expected one GPU, node or host");
  chosen.name = named.front().uuid;
  chosen.add(named.front());
  return chosen;
}

std::vector<PlannedPoint> chosen_points(const Registry& registry, const ChosenDevice& device,
                                        const BenchmarkArguments& arguments) {
  const Plan plan =
      make_plan(registry, device.uuids, arguments.measure.options.quick, arguments.filter);
  for (const DevicePlan& planned : plan.devices)
    if (planned.device == device.name) return planned.points;
  throw UsageError(fmt::format("--benchmark_filter '{}': matches no benchmark of this device",
                               shown(arguments.filter)));
}

std::vector<std::string> flags_of(const BenchmarkArguments& arguments) {
  std::vector<std::string> flags = {"peakline"};
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) flags.push_back(fmt::format("{}={}", flag, value));
  };
  add("--benchmark_format", arguments.format);
  add("--benchmark_out", arguments.out);
  add("--benchmark_out_format", arguments.out_format);
  add("--benchmark_repetitions", arguments.repetitions);
  add("--benchmark_time_unit", arguments.time_unit);
  flags.insert(flags.end(), arguments.others.begin(), arguments.others.end());
  return flags;
}

// For flags that Google Benchmark rejects too.
[[noreturn]] void refuse(const std::string& flag, const BenchmarkArguments& arguments) {
  throw UsageError(fmt::format(
      "{}: not an option of benchmark, or a value that it does not take{} (see peakline benchmark "
      "--help)",
      shown(flag), meant_option(*arguments.command, flag)));
}

int run_benchmarks(const BenchmarkArguments& arguments, const Program& program) {
  // Google Benchmark prints wrong values verbatim, which could upset a terminal.
  constexpr std::size_t kLongest = 1000;
  for (const std::string& flag : arguments.others)
    if (printable(flag, kLongest) != flag) refuse(flag, arguments);
  const ChosenDevice chosen = chosen_device(arguments.device);
  RunOptions options = arguments.measure.run_options();
  CatalogInput input{.threads = host::usable_threads(),
                     .soak_s = options.soak_s,
                     .verified_soak_s = options.verified_soak_s(),
                     .energy = options.energy};
  if (chosen.name == kNodeDevice) input.gpus = options.gpus = options.visible_gpus = chosen.gpus;
  Registry registry;
  program.catalog(registry, input);
  const std::vector<PlannedPoint> points = chosen_points(registry, chosen, arguments);
  // Creating the CUDA context reads it; no other thread runs yet.
  ::setenv("CUDA_VISIBLE_DEVICES", joined(chosen.uuids, ",").c_str(), 1);
  std::unique_ptr<Device> device;
  try {
    device = open_device(chosen.name, options);
  } catch (const std::exception& error) {
    throw UsageError(fmt::format("--device {}: {}", chosen.name, error.what()));
  }
  for (const PlannedPoint& point : points)
    enter(point.name,
          [&device, entry = registry.find(point.name)] { return device->measure(entry); });
  // Google Benchmark would overwrite an existing file.
  if (!arguments.out.empty()) create_output("--benchmark_out", arguments.out, "");
  const std::vector<std::string> not_taken = run_entries(flags_of(arguments));
  if (!not_taken.empty()) {
    std::error_code ignored;
    if (!arguments.out.empty()) std::filesystem::remove(arguments.out, ignored);
    refuse(not_taken.front(), arguments);
  }
  if (!std::cout.flush()) throw UsageError("cannot write to standard output");
  return kExitOk;
}

}  // namespace

void add_benchmark_command(CLI::App& app, const Program& program, Action& action) {
  auto arguments = std::make_shared<BenchmarkArguments>();
  CLI::App* benchmark = app.add_subcommand(
      "benchmark", "Run chosen points in this process, with Google Benchmark's options");
  begin_options(*benchmark, "What is measured");
  benchmark
      ->add_option("--device", arguments->device,
                   "One GPU (index or UUID), host, or node (links between GPUs) "
                   "(default: the first GPU, else the host)")
      ->type_name("DEVICE");
  benchmark->add_flag("--quick", arguments->measure.options.quick,
                      "Sample less, as run --quick does");
  arguments->measure.add_to(*benchmark);
  begin_options(*benchmark, "Google Benchmark");
  benchmark
      ->add_option("--benchmark_filter", arguments->filter,
                   "Run only points whose names match, as with run --filter")
      ->type_name("REGEX");
  constexpr std::uint64_t kMaxRepetitions = 1000;
  benchmark
      ->add_option("--benchmark_repetitions", arguments->repetitions, "Measure each point N times")
      ->type_name("N")
      ->check(whole_number_in(1, kMaxRepetitions));
  benchmark->add_option("--benchmark_format", arguments->format, "Format of standard output")
      ->type_name("console|json|csv")
      ->check(CLI::IsMember({"console", "json", "csv"}));
  benchmark->add_option("--benchmark_out", arguments->out, "Also write the results to a new file")
      ->type_name("FILE")
      ->check(not_empty("FILE"));
  benchmark->add_option("--benchmark_out_format", arguments->out_format, "Format of that file")
      ->type_name("console|json|csv")
      ->check(CLI::IsMember({"console", "json", "csv"}));
  benchmark->add_option("--benchmark_time_unit", arguments->time_unit, "Unit of times")
      ->type_name("ns|us|ms|s")
      ->check(CLI::IsMember({"ns", "us", "ms", "s"}));
  benchmark->allow_extras();
  benchmark->footer(
      "Google Benchmark's other --benchmark_... flags work as well.\n"
      "Examples:\n"
      "  peakline benchmark --benchmark_list_tests\n"
      "  peakline benchmark --benchmark_filter='^hbm.read/width:16' --benchmark_repetitions=5\n"
      "  peakline benchmark --device host --benchmark_filter=fma --benchmark_out=fma.json\n"
      "  peakline benchmark --device node --benchmark_filter='^p2p.read.ce'");
  set_action(benchmark, action, [arguments, benchmark, &program] {
    arguments->command = benchmark;
    arguments->others = benchmark->remaining();
    return run_benchmarks(*arguments, program);
  });
}

}  // namespace peakline::bench
