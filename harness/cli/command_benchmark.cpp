#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "harness/benchmark/device.hpp"
#include "harness/benchmark/google_benchmark.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/measure_options.hpp"
#include "harness/core/text.hpp"
#include "harness/host/facts.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/gpus.hpp"
#include "harness/run/plan.hpp"

namespace peakline::bench {
namespace {

struct BenchmarkArguments {
  MeasureOptions measure;
  std::string device;
  std::vector<std::string> flags;  // Google Benchmark's
};

// kHostDevice or the UUID of the one GPU that --device names; without it the first GPU, else the
// host.
std::string device_name(const std::string& wanted) {
  if (wanted == kHostDevice) return wanted;
  const Gpus gpus;
  if (wanted.empty() && gpus.devices().empty()) return std::string(kHostDevice);
  if (!gpus.why_none().empty())
    throw UsageError(fmt::format("--device {}: {}", shown(wanted), gpus.why_none()));
  if (wanted.empty()) return gpus.devices().front().uuid;
  const auto chosen = select_gpus(gpus.devices(), wanted);
  if (chosen.size() != 1)
    throw UsageError(fmt::format("--device {}: expected one GPU, or host", shown(wanted)));
  return chosen.front().uuid;
}

int run_benchmarks(const BenchmarkArguments& arguments, const Program& program) {
  const RunOptions options = arguments.measure.run_options();
  const std::string name = device_name(arguments.device);
  // Read when the CUDA context is made; nothing else runs in this process yet.
  ::setenv("CUDA_VISIBLE_DEVICES", name == kHostDevice ? "" : name.c_str(), 1);
  std::unique_ptr<Device> device;
  try {
    device = open_device(name, options);
  } catch (const std::exception& error) {
    throw UsageError(fmt::format("--device {}: {}", name, error.what()));
  }
  Registry registry;
  program.catalog(registry, host::usable_threads(), options.soak_s);
  for (const Benchmark& benchmark : registry.benchmarks()) {
    if ((benchmark.loads == Loads::kHost) != (name == kHostDevice)) continue;
    for (const Point& point : benchmark.points) {
      const std::string point_is = point_name(benchmark.id, point.params);
      enter(point_is,
            [&device, entry = registry.find(point_is)] { return device->measure(entry); });
    }
  }
  const auto unknown = run_entries(arguments.flags);
  if (!unknown.empty())
    throw UsageError(fmt::format("benchmark: no such option: {}", shown(unknown.front())));
  return kExitOk;
}

}  // namespace

void add_benchmark_command(CLI::App& app, const Program& program, Action& action) {
  auto arguments = std::make_shared<BenchmarkArguments>();
  CLI::App* benchmark = app.add_subcommand(
      "benchmark", "Run chosen points in this process, as Google Benchmark does");
  benchmark
      ->add_option("--device", arguments->device,
                   "One GPU (index or UUID), or host (default: the first GPU, else the host)")
      ->type_name("DEVICE");
  benchmark->add_flag("--quick", arguments->measure.quick, "Sample less, as run --quick does");
  arguments->measure.add_to(*benchmark);
  benchmark->allow_extras();
  benchmark->footer(
      "All --benchmark_... options of Google Benchmark work: filter, repetitions, format, out, "
      "...\n"
      "Examples:\n"
      "  peakline benchmark --benchmark_list_tests\n"
      "  peakline benchmark --benchmark_filter='^hbm.read/width:16' --benchmark_repetitions=5\n"
      "  peakline benchmark --device host --benchmark_filter=fma --benchmark_out=fma.json");
  benchmark->callback([arguments, benchmark, &program, &action] {
    arguments->flags = benchmark->remaining();
    arguments->flags.insert(arguments->flags.begin(), "peakline");  // as in argv
    action = [arguments, &program] { return run_benchmarks(*arguments, program); };
  });
}

}  // namespace peakline::bench
