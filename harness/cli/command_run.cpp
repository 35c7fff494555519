#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "harness/cli/commands.hpp"
#include "harness/cli/help.hpp"
#include "harness/cli/measure_options.hpp"
#include "harness/cli/output_file.hpp"
#include "harness/cli/populations.hpp"
#include "harness/cli/run_command.hpp"
#include "harness/cli/screen.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/conclude/findings.hpp"
#include "harness/conclude/sittings.hpp"
#include "harness/host/facts.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/build_facts.hpp"
#include "harness/run/coordinator.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/gpus.hpp"
#include "harness/run/plan.hpp"
#include "harness/run/progress.hpp"
#include "harness/values/clock.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {
namespace {

// Without --device: the GPUs that CUDA_VISIBLE_DEVICES allows; none is no error.
std::vector<DeviceFacts> default_gpus(const Gpus& gpus, bool needs_gpu, Progress& progress) {
  if (!gpus.why_none().empty()) {
    progress.note(gpus.why_none() + (needs_gpu ? "" : ": measuring only the host"));
    return {};
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!visible) return gpus.devices();
  auto chosen = visible_gpus(gpus.devices(), visible);
  if (chosen.size() < gpus.devices().size()) {
    progress.note(
        fmt::format("CUDA_VISIBLE_DEVICES={} selects {} of {} GPUs; use --device all for "
                    "all of them",
                    shown(visible), chosen.size(), gpus.devices().size()));
  }
  return chosen;
}

// The GPUs that the environment left of the machine's; empty: all, as far as can be told.
std::string visible_of(const Gpus& gpus, std::span<const DeviceFacts> chosen) {
  if (chosen.size() < gpus.devices().size()) {  // CUDA_VISIBLE_DEVICES
    std::vector<std::string> indices;
    for (const DeviceFacts& gpu : chosen) indices.push_back(std::to_string(gpu.index));
    return indices.empty() ? std::string(kNoDevices) : joined(indices, ",");
  }
  // A container has these alone; the other values leave the choice to something else.
  const char* given = std::getenv("NVIDIA_VISIBLE_DEVICES");
  const std::string_view list = given == nullptr ? "" : given;
  for (const std::string_view other : {kAllDevices, kNoDevices, std::string_view("void")})
    if (list == other) return {};
  return std::string(list);
}

// With --device: a named GPU that cannot be measured is an error.
std::vector<DeviceFacts> named_gpus(const Gpus& gpus, const std::string& device) {
  if (!gpus.why_none().empty()) {
    throw UsageError(fmt::format("--device {}: {}", shown(device), gpus.why_none()));
  }
  auto chosen = select_gpus(gpus.devices(), device);
  if (device == kAllDevices) return chosen;
  for (const DeviceFacts& gpu : chosen) {
    if (gpu.unusable.empty()) continue;
    throw UsageError(fmt::format("--device {}: GPU {} cannot be measured: {}", shown(device),
                                 gpu.index, gpu.unusable));
  }
  return chosen;
}

// Usable GPUs if several, for the node's points; without MIG, which has no peer access.
std::vector<int> gpus_of_node(const std::vector<DeviceFacts>& devices) {
  std::vector<int> all, usable;
  for (const DeviceFacts& device : devices) {
    if (device.mig_enabled.value_or(false)) continue;
    all.push_back(device.index);
    if (device.unusable.empty()) usable.push_back(device.index);
  }
  return usable.size() > 1 ? usable : all;
}

// Refuses a filter that excludes all that an option adds.
void require_added_points(const Plan& plan, Benchmarks benchmarks) {
  std::map<std::string, std::vector<std::string>> excluded;  // ids by option
  for (const Benchmark& benchmark : benchmarks)
    if (!benchmark.option.empty()) excluded[benchmark.option].push_back(benchmark.id);
  for (const DevicePlan& device : plan.devices)
    for (const PlannedPoint& point : device.points) excluded.erase(point.benchmark->option);
  for (const auto& [option, ids] : excluded)
    throw UsageError(
        fmt::format("{}: --filter excludes all that it adds: {}", option, shortened(ids)));
}

Plan make_checked_plan(const RunArguments& arguments, const Registry& registry,
                       const std::vector<DeviceFacts>& devices, bool with_node) {
  std::vector<std::string> uuids;
  for (const DeviceFacts& device : devices) uuids.push_back(device.uuid);
  Plan plan =
      make_plan(registry, uuids, arguments.measure.options.quick, arguments.filter, with_node);
  fit_to_devices(plan, devices);
  if (arguments.measure.options.soak_s > 0 && !plan.has(Phase::kSoak)) {
    throw UsageError(uuids.empty() ? "--soak: no GPU is measured"
                                   : "--soak: --filter excludes its load; run --soak S --dry-run "
                                     "without a filter lists it");
  }
  require_added_points(plan, registry.benchmarks());
  return plan;
}

int print_plan(const Plan& plan, std::size_t runs, const Progress& progress) {
  std::string text = fmt::format("{:<8} {:<10} {:>8}  {}\n", "device", "phase", "seconds", "point");
  for (const DevicePlan& device : plan.devices) {
    for (const PlannedPoint& point : device.points) {
      text += fmt::format("{:<8} {:<10} {:>8.2f}  {}\n", progress.name_of(device.device),
                          phase_name(point.point->phase), point.point->seconds, point.name);
    }
  }
  text += fmt::format(
      "{} on {}{}, about {:.0f} s on an idle machine\n", format_count(plan.size(), "point"),
      format_count(plan.devices.size(), "device"), runs > 1 ? fmt::format(", {} runs", runs) : "",
      std::ceil(static_cast<double>(runs) * plan.seconds()));
  return print(text, kExitOk);
}

// Without suffix.
std::string profile_name(const RunArguments& arguments, const Profile& start) {
  std::string time = start.created;  // 2026-01-31T12:00:00Z
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  return fmt::format("{}-{}",
                     arguments.anonymize ? "localhost" : file_name_part(start.host.hostname), time);
}

std::string why_partial(const Profile& profile, const Plan& plan, const Interrupt& interrupt,
                        const RunArguments& arguments) {
  const auto failed =
      std::ranges::count(profile.measurements, Status::kError, &Measurement::status);
  const std::size_t done = profile.measurements.size();
  if (const std::string user = other_user(profile); arguments.if_idle && done == 0 && !user.empty())
    return "a GPU is in use: " + user;
  std::string reason;
  if (failed > 0) reason = fmt::format("{} of {} measurements failed", failed, done);
  if (done < plan.size() || failed == 0) {
    reason += fmt::format("{}{} ", reason.empty() ? "" : "; ",
                          interrupt.requested()    ? "stopped by a signal"
                          : arguments.time_limit_s ? "the time limit was reached"
                                                   : "a device was lost");
    reason += done < plan.size() ? fmt::format("after {} of {} points", done, plan.size())
                                 : "before every point was measured as often as planned";
  }
  return reason;
}

// False if the profile cannot be written (the file may hold an early state) or read.
bool save_profile(const RunResult& result, const std::filesystem::path& file, Progress& progress) {
  try {
    write_profile(result.profile, file);
  } catch (const ProfileError& error) {
    progress.error(error.what());
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) {
      progress.error(fmt::format("{} holds only the first {} of {} measurements", file.string(),
                                 result.saved, result.profile.measurements.size()));
    }
    return false;
  }
  try {
    read_profile(file);
    return true;
  } catch (const ProfileError& error) {
    progress.error(
        fmt::format("the profile was written and cannot be read again: {}", error.what()));
    return false;
  }
}

RunEnd measure(const RunArguments& arguments, RunSettings settings, const Plan& plan, Profile start,
               Gpus* gpus, Interrupt& interrupt, Progress& progress) {
  interrupt.begin();
  if (arguments.kept)
    settings.output = create_profile_output(arguments.output, profile_name(arguments, start),
                                            concluded(start, settings));
  progress.expect(settings.runs * plan.size(), static_cast<double>(settings.runs) * plan.seconds());
  RunResult result = run_plan(plan, settings, std::move(start), gpus, interrupt, progress);

  const Profile& profile = result.profile;
  const std::filesystem::path& output = settings.output;
  const bool saved = output.empty() || save_profile(result, output, progress);
  progress.clear();
  const auto wrong = std::ranges::find(profile.findings, kWrongResults, &Finding::code);
  int code = wrong != profile.findings.end() ? kExitFinding
             : profile.complete && saved     ? kExitOk
                                             : kExitPartial;
  if (arguments.summary) {
    // Useful even if the file is incomplete.
    std::string text = screen_of(profile);
    constexpr std::size_t kMaxPath = 4096;  // PATH_MAX
    if (saved && arguments.kept)
      text += fmt::format("profile: {}\n", printable(output.string(), kMaxPath));
    code = print(text, code);
  }
  if (wrong != profile.findings.end()) progress.error(wrong->message);
  if (!profile.complete)
    progress.error("partial profile: " + why_partial(profile, plan, interrupt, arguments));
  if (saved && arguments.kept && arguments.summary) progress.note("wrote " + output.string());
  return {code, std::move(result.profile), saved ? output : std::filesystem::path(),
          result.stopped};
}

void check(const RunArguments& arguments) {
  const MeasureOptions& measure = arguments.measure;
  const double load_s = measure.options.soak_s * (measure.options.verified_soak ? 2 : 1);
  if (arguments.time_limit_s && load_s >= *arguments.time_limit_s) {
    throw UsageError(
        fmt::format("--soak {}{}: does not fit into --time-limit {}", measure.options.soak_s,
                    measure.options.verified_soak ? " --verify" : "", *arguments.time_limit_s));
  }
  if (arguments.runs > 1 && arguments.measure.options.profile) {
    throw UsageError(fmt::format("--runs {}: --profile launches each point once", arguments.runs));
  }
}

// The profile before the machine has been examined.
Profile start_profile(const RunArguments& arguments, const Program& program) {
  Profile start;
  start.created = utc_text(std::time(nullptr));
  start.tool = fmt::format("peakline {}", PEAKLINE_VERSION);
  start.command = arguments.command;
  start.mode = arguments.measure.options.quick ? "quick" : "full";
  start.asked.filter = arguments.filter;
  start.asked.verify = arguments.measure.options.verify;
  start.software = build_facts();
  if (program.cublaslt_version != nullptr) start.software.cublaslt = program.cublaslt_version();
  start.software.environment = relevant_environment();
  return start;
}

}  // namespace

RunEnd run(const RunArguments& arguments, const Program& program, Interrupt& interrupt) {
  auto deadline = Clock::time_point::max();
  if (arguments.time_limit_s) deadline = Clock::now() + to_duration(*arguments.time_limit_s);
  std::signal(SIGPIPE, SIG_IGN);  // a dead worker shows by its silence
  check(arguments);
  const std::vector<std::string> near =
      arguments.kept ? std::vector{arguments.output} : std::vector<std::string>();
  KeptRuns kept = kept_runs(arguments.populations, near);
  Progress progress(arguments.verbosity(), ::isatty(STDERR_FILENO) != 0);
  Profile start = start_profile(arguments, program);
  std::optional<Gpus> gpus;
  if (arguments.device != kNoDevices) {
    gpus.emplace();
    gpus->add_driver(start.software);
    start.devices = arguments.device ? named_gpus(*gpus, *arguments.device)
                                     : default_gpus(*gpus, arguments.needs_gpu, progress);
    if (!arguments.device) start.asked.devices = visible_of(*gpus, start.devices);
  }
  if (arguments.device && arguments.device != kAllDevices) start.asked.devices = *arguments.device;
  if (arguments.needs_gpu && start.devices.empty())
    return {kExitPartial, std::move(start), {}, false};
  for (const DeviceFacts& device : start.devices) {
    progress.name_device(device.uuid, fmt::format("GPU {}", device.index));
  }
  if (!kept.files.empty())
    progress.note(
        fmt::format("how far runs differ is also taken from {}", printable(joined(kept.files))));
  RunSettings settings{.options = arguments.measure.run_options(),
                       .output = {},
                       .runs = arguments.runs,
                       .deadline = deadline,
                       .if_idle = arguments.if_idle,
                       .anonymize = arguments.anonymize,
                       .kept = std::move(kept.populations),
                       .benchmarks = {}};
  CatalogInput input{.threads = host::usable_threads(),
                     .soak_s = arguments.measure.options.soak_s,
                     .verified_soak_s = arguments.measure.options.verified_soak_s(),
                     .energy = arguments.measure.options.energy,
                     .storage = !arguments.storage.directory.empty()};
  const std::vector<int> node = gpus_of_node(start.devices);
  if (node.size() > 1) settings.options.gpus = input.gpus = node;
  Registry registry;
  program.catalog(registry, input);
  settings.benchmarks = registry.benchmarks();
  const Plan plan = make_checked_plan(arguments, registry, start.devices, node.size() > 1);
  if (arguments.dry_run) return {print_plan(plan, arguments.runs, progress)};
  if (!start.devices.empty() && node.size() < 2 && arguments.filter.empty())
    progress.note(start.devices.size() == 1
                      ? "one GPU is measured: what lies between GPUs is skipped"
                      : "MIG instances do not see each other: what lies between GPUs is skipped");
  start.host = host::read_host_facts();
  const auto storage = open_storage(arguments.storage, progress);
  if (storage) {
    settings.options.storage_descriptor = storage->descriptor();
    start.host.storage = host::storage_facts(arguments.storage.directory);
    start.host.storage->file_bytes = static_cast<double>(storage->bytes());
    start.host.storage->direct = storage->direct();
  }
  return measure(arguments, settings, plan, std::move(start), gpus ? &*gpus : nullptr, interrupt,
                 progress);
}

namespace {

void add_selection_options(CLI::App& app, RunArguments& arguments) {
  begin_options(app, "What is measured");
  app.add_option("--device", arguments.device,
                 "GPUs to measure: all, none, or a comma-separated list of indices and UUIDs "
                 "(default: all that CUDA_VISIBLE_DEVICES allows). The host is measured too, "
                 "unless --filter excludes it")
      ->type_name("all|none|LIST");
  auto* quick = app.add_flag("--quick", arguments.measure.options.quick,
                             "Fewer points, less precisely: 15 s with one GPU, 33 s with four");
  // A record needs room for a block of each sitting.
  constexpr std::size_t kMostRuns = kMaxSamples / kMostSittings;
  app.add_option("--runs", arguments.runs,
                 "Repeat everything N times in new processes, so that intervals use this machine's "
                 "own spread")
      ->type_name("N")
      ->check(whole_number_in(1, kMostRuns))
      ->capture_default_str();
  app.add_flag("--full")
      ->description("Every point: 2 minutes with one GPU, up to 4 with four (the default)")
      ->excludes(quick);
  app.add_option("--filter", arguments.filter,
                 "Measure only points in whose name (id/parameter:value) this regular expression "
                 "matches anywhere (RE2 syntax)")
      ->type_name("REGEX");
  app.add_option("--time-limit", arguments.time_limit_s,
                 "Stop after this many seconds; points not measured by then are left out")
      ->type_name("S")
      ->check(number_above_0(std::numeric_limits<double>::infinity()));
  app.add_flag("--dry-run", arguments.dry_run,
               "Print what would be measured and how long it would take");
}

void add_output_options(CLI::App& app, RunArguments& arguments) {
  begin_options(app, "Output");
  app.add_option("-o,--output", arguments.output,
                 "Profile to write (.json is added, .json.gz compresses), or a directory for "
                 "<hostname>-<UTC time>.json; DIR/ is created")
      ->type_name("FILE|DIR/")
      ->capture_default_str();
  add_population_option(app, arguments.populations);
  app.add_flag("--anonymize", arguments.anonymize,
               "Omit host name, full UUIDs, other processes and paths");
  auto* quiet = app.add_flag("-q,--quiet", arguments.quiet, "Print only errors to stderr");
  app.add_flag("-v,--verbose", arguments.verbose, "Print every result to stderr")->excludes(quiet);
}

}  // namespace

void add_run_command(CLI::App& app, const Program& program, std::vector<std::string> command,
                     Action& action) {
  auto arguments = std::make_shared<RunArguments>();
  arguments->command = std::move(command);
  CLI::App* run_app = app.add_subcommand("run", "Measure this machine and write a profile");
  add_selection_options(*run_app, *arguments);
  arguments->measure.add_to(*run_app);
  arguments->storage.add_to(*run_app);
  add_output_options(*run_app, *arguments);
  run_app->footer(
      "Examples:\n"
      "  peakline run --quick -o node7.json\n"
      "  peakline run --device 0,1 --filter 'hbm|pcie'\n"
      "  peakline run --device none                      only the host\n"
      "  peakline run --filter '^gemm.bf16' --dry-run\n"
      "  ncu peakline run --profile --filter '^hbm.read'\n"
      "The summary goes to stdout and ends in 'profile: FILE'; progress goes to stderr.");
  set_action(run_app, action, [arguments, &program] {
    Interrupt interrupt;
    return run(*arguments, program, interrupt).exit_code;
  });
}

}  // namespace peakline::bench
