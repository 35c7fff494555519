#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "harness/benchmark/benchmark_json.hpp"
#include "harness/cli/commands.hpp"
#include "harness/host/facts.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/coordinator.hpp"
#include "harness/run/gpus.hpp"
#include "harness/run/plan.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/worker.hpp"
#include "harness/run/worker_process.hpp"
#include "harness/show/show.hpp"

namespace peakline::bench {
namespace {

constexpr double kFullNoisePercent = 0.5;
constexpr double kQuickNoisePercent = 2;

struct RunArguments {
  std::vector<std::string> command;
  MeasureArguments measure;
  std::optional<std::string> device;
  bool full = false;
  std::string filter;
  std::string output = ".";
  double time_limit_s = 0;  // 0: none
  bool anonymize = false;
  bool dry_run = false;
  bool quiet = false;
  bool verbose = false;
  std::string benchmark_json;
};

// For CLI11: what is wrong with an option's text; empty if nothing is.

std::string positive_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size();
  return good && std::isfinite(value) && value > 0 ? ""
                                                   : "expected a number above 0, found " + text;
}

// Shorter than a sustained load says nothing of heat; readings of every 20 ms are kept until the
// end.
std::string soak_seconds(const std::string& text) {
  constexpr double kLeast = 10, kMost = 7200;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size();
  return good && value >= kLeast && value <= kMost
             ? ""
             : fmt::format("expected {} to {} seconds, found {}", kLeast, kMost, text);
}

std::string whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size();
  return good ? "" : "expected a whole number from 0, found " + text;
}

// The GPUs to measure. Without --device a machine without any is none to complain about.
std::vector<DeviceFacts> chosen_gpus(const RunArguments& arguments, const Gpus& gpus,
                                     Progress& progress) {
  if (!arguments.device) {
    if (!gpus.why_none().empty()) {
      progress.note(gpus.why_none() + ": the host is measured alone");
      return {};
    }
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!visible) return gpus.devices();
    auto chosen = visible_gpus(gpus.devices(), visible);
    if (chosen.size() == gpus.devices().size()) return chosen;
    progress.note(
        fmt::format("CUDA_VISIBLE_DEVICES={} leaves {} of {} GPUs; --device all takes all", visible,
                    chosen.size(), gpus.devices().size()));
    return chosen;
  }
  if (!gpus.why_none().empty()) {
    throw UsageError(fmt::format("--device {}: {}", *arguments.device, gpus.why_none()));
  }
  auto chosen = select_gpus(gpus.devices(), *arguments.device);
  if (arguments.device == "all") return chosen;
  for (const DeviceFacts& device : chosen) {
    if (device.unusable.empty()) continue;
    throw UsageError(fmt::format("--device {}: GPU {} cannot be measured: {}", *arguments.device,
                                 device.index, device.unusable));
  }
  return chosen;
}

// An output file, made before anything is measured: what keeps it from being written is known at
// once, and no other run can take its name. Removed at the end where nothing was written to it.
class OutputFile {
 public:
  // Throws UsageError where the file exists, so that nothing is overwritten.
  OutputFile(std::string_view option, std::filesystem::path file) : file_(std::move(file)) {
    if (make(option)) return;
    throw UsageError(
        fmt::format("{}: {} exists already; it is not overwritten", option, file_.string()));
  }
  // <name>.json in the folder, or <name>-2.json and so on for runs that begin in the same second.
  OutputFile(std::string_view option, const std::filesystem::path& folder,
             const std::string& name) {
    for (int number = 1;; ++number) {
      file_ = folder / (number == 1 ? name + ".json" : fmt::format("{}-{}.json", name, number));
      if (make(option)) return;
    }
  }
  ~OutputFile() {
    std::error_code error;
    if (std::filesystem::file_size(file_, error) == 0) std::filesystem::remove(file_, error);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::filesystem::path& path() const { return file_; }

 private:
  // False where it exists.
  bool make(std::string_view option) const {
    const int fd = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) return false;
    if (fd < 0) {
      throw UsageError(fmt::format("{}: {}: cannot be written: {}", option, file_.string(),
                                   std::strerror(errno)));
    }
    ::close(fd);
    return true;
  }

  std::filesystem::path file_;
};

// The file that --output means.
OutputFile output_file(const RunArguments& arguments, const std::string& hostname,
                       std::chrono::system_clock::time_point now) {
  const std::filesystem::path output = arguments.output;
  if (output.empty()) throw UsageError("--output: expected a file or a folder");
  std::error_code error;
  if (std::filesystem::is_directory(output, error)) {
    return {"--output", output,
            fmt::format("{}-{:%Y%m%dT%H%M%SZ}", arguments.anonymize ? "localhost" : hostname,
                        fmt::gmtime(now))};
  }
  if (!output.has_filename()) {
    throw UsageError(fmt::format("--output {}: no such folder", arguments.output));
  }
  return {"--output", output};
}

int print_plan(const Plan& plan, const Progress& progress) {
  std::string text = fmt::format("{:<8} {:<10} {:>8}  {}\n", "device", "phase", "seconds", "point");
  for (const DevicePlan& device : plan.devices) {
    for (const PlannedPoint& point : device.points) {
      text += fmt::format("{:<8} {:<10} {:>8.2f}  {}\n", progress.name_of(device.device),
                          name_of(point.point->phase), point.point->seconds, point.name);
    }
  }
  text += fmt::format("{} points on {} devices, about {:.0f} s\n", plan.size(), plan.devices.size(),
                      std::ceil(plan.seconds()));
  return print(text, kExitOk);
}

std::string why_partial(const Profile& profile, const Plan& plan, const Interrupt& interrupt) {
  const auto failed =
      std::count_if(profile.measurements.begin(), profile.measurements.end(),
                    [](const Measurement& m) { return m.status == Status::kError; });
  const std::size_t done = profile.measurements.size();
  std::string reason;
  if (failed > 0) reason = fmt::format("{} of {} measurements failed", failed, done);
  if (done < plan.size()) {
    reason +=
        fmt::format("{}{} after {} of {} points", reason.empty() ? "" : "; ",
                    interrupt.requested() ? "stopped by a signal" : "the time limit was reached",
                    done, plan.size());
  }
  return reason;
}

int run(const RunArguments& arguments, const Program& program) {
  // Before anything may start a thread.
  Interrupt interrupt;
  std::signal(SIGPIPE, SIG_IGN);  // a worker that died is told apart by its silence

  RunSettings settings;
  settings.options = arguments.measure.checked();
  if (arguments.time_limit_s > 0 && settings.options.soak_s >= arguments.time_limit_s) {
    throw UsageError(fmt::format("--soak {}: longer than --time-limit {}", settings.options.soak_s,
                                 arguments.time_limit_s));
  }
  settings.anonymize = arguments.anonymize;
  if (arguments.time_limit_s > 0) settings.time_limit_s = arguments.time_limit_s;

  Registry registry;
  program.catalog(registry, host::usable_threads(), settings.options.soak_s);
  settings.benchmarks = registry.benchmarks();
  const Verbosity verbosity = arguments.quiet     ? Verbosity::kQuiet
                              : arguments.verbose ? Verbosity::kVerbose
                                                  : Verbosity::kNormal;
  Progress progress(verbosity, ::isatty(STDERR_FILENO) != 0);
  const bool no_gpu = arguments.device == "none";
  std::optional<Gpus> gpus;
  if (!no_gpu) gpus.emplace();

  Profile start;
  const auto now = std::chrono::system_clock::now();
  start.created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  start.tool = fmt::format("peakline {}", PEAKLINE_VERSION);
  start.command = arguments.command;
  start.mode = settings.options.quick ? "quick" : "full";
  if (gpus) start.devices = chosen_gpus(arguments, *gpus, progress);

  std::vector<std::string> uuids;
  for (const DeviceFacts& device : start.devices) {
    uuids.push_back(device.uuid);
    progress.name_device(device.uuid, fmt::format("GPU {}", device.index));
  }
  const Plan plan = make_plan(registry, uuids, settings.options.quick, arguments.filter);
  if (settings.options.soak_s > 0 && !plan.has(Phase::kSoak)) {
    throw UsageError(uuids.empty() ? "--soak: no GPU is measured"
                                   : "--soak: --filter leaves it out (it is gemm.bf16/load:soak)");
  }
  if (arguments.dry_run) {
    return print_plan(plan, progress);
  }

  start.host = host::read_host_facts();
  start.software = program.build;
  if (gpus) gpus->add_driver(start.software);
  start.software.environment = environment_that_matters();
  interrupt.begin();
  const OutputFile output = output_file(arguments, start.host.hostname, now);
  settings.output = output.path();
  std::optional<OutputFile> benchmark_json;
  if (!arguments.benchmark_json.empty()) {
    benchmark_json.emplace("--benchmark-json", arguments.benchmark_json);
  }

  progress.expect(plan.size(), plan.seconds());
  const Profile profile =
      run_plan(plan, settings, std::move(start), gpus ? &*gpus : nullptr, interrupt, progress);
  int code = profile.complete ? kExitOk : kExitPartial;
  try {
    write_profile(profile, settings.output);
  } catch (const ProfileError& error) {
    // The summary is still worth printing.
    progress.error(error.what());
    code = kExitPartial;
  }
  if (!arguments.benchmark_json.empty()) {
    std::ofstream out(arguments.benchmark_json);
    out << to_benchmark_json(profile);
    if (!out.flush()) {
      progress.error(
          fmt::format("--benchmark-json: {}: cannot be written", arguments.benchmark_json));
      code = kExitPartial;
    }
  }
  progress.clear();
  code = print(show_text(profile, {.color = color_wanted(), .width = terminal_width()}) +
                   fmt::format("profile: {}\n", settings.output.string()),
               code);
  if (!profile.complete) progress.error("partial: " + why_partial(profile, plan, interrupt));
  progress.note("wrote " + settings.output.string());
  return code;
}

}  // namespace

void MeasureArguments::add_to(CLI::App& app) {
  app.add_option("--max-noise", max_noise_percent,
                 fmt::format("Stop sampling once the median's 95 % interval is within +- this many "
                             "percent ({} full, {} quick)",
                             kFullNoisePercent, kQuickNoisePercent))
      ->type_name("PCT")
      ->check(positive_number);
  app.add_option("--min-samples", min_samples, "Samples to take at least for a ceiling")
      ->type_name("N")
      ->check(whole_number)
      ->capture_default_str();
  app.add_option("--seed", seed, "Of the random data")
      ->type_name("N")
      ->check(whole_number)
      ->capture_default_str();
  app.add_option("--soak", soak_s,
                 "At the end, load the matrix units for this many seconds without a pause, until "
                 "thermal equilibrium and beyond")
      ->type_name("S")
      ->check(soak_seconds);
  app.add_flag("--no-verify", no_verify, "Do not check results against a reference");
  app.add_flag("--profile", profile,
               "For ncu, nsys and compute-sanitizer: launch each point once, hold no stream");
}

RunOptions MeasureArguments::checked() const {
  constexpr double kMostNoisePercent = 50;
  // Fewer would not fill the blocks of the full rule; more are never taken.
  const std::size_t least = SamplingRule{}.blocks;
  const std::size_t most = SamplingRule{}.max_samples;
  RunOptions options;
  options.quick = quick;
  const double noise = max_noise_percent.value_or(quick ? kQuickNoisePercent : kFullNoisePercent);
  if (noise > kMostNoisePercent) {
    throw UsageError(
        fmt::format("--max-noise {}: expected at most {} percent", noise, kMostNoisePercent));
  }
  options.max_noise = noise / 100;
  if (min_samples < least || min_samples > most) {
    throw UsageError(fmt::format("--min-samples {}: expected {} to {}", min_samples, least, most));
  }
  options.min_samples = min_samples;
  options.seed = seed;
  options.verify = !no_verify;
  options.soak_s = soak_s;
  if (soak_s > 0 && profile) {
    throw UsageError("--soak: --profile launches each point once, which heats nothing");
  }
  options.profile = profile;
  return options;
}

int print(const std::string& text, int code) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return code;
  const std::string reason = std::strerror(errno);
  std::fputs(fmt::format("peakline: standard output cannot be written: {}\n", reason).c_str(),
             stderr);
  return kExitUsage;
}

bool color_wanted() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR") && term &&
         std::strcmp(term, "dumb") != 0;
}

int terminal_width() {
  // Less than 60 columns do not hold the tables; without a terminal, the show options' own default.
  constexpr int kLeast = 60;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return ShowOptions{}.width;
  return std::max<int>(kLeast, size.ws_col);
}

void add_run_command(CLI::App& app, const Program& program, std::vector<std::string> command,
                     Action& action) {
  auto arguments = std::make_shared<RunArguments>();
  arguments->command = std::move(command);
  CLI::App* run_app = app.add_subcommand("run", "Measure this machine and write its profile");
  run_app
      ->add_option(
          "--device", arguments->device,
          "GPUs to measure: all, none, or indices and UUIDs separated by commas (default: all "
          "that CUDA_VISIBLE_DEVICES leaves). The host is always measured, unless --filter "
          "leaves it out")
      ->type_name("all|none|LIST");
  auto* quick = run_app->add_flag("--quick", arguments->measure.quick,
                                  "15 s a device: fewer points, less precise");
  run_app->add_flag("--full", arguments->full, "Everything, at most 180 s a device (the default)")
      ->excludes(quick);
  run_app
      ->add_option("--filter", arguments->filter,
                   "Only points whose id/name:value matches (ECMAScript, anywhere in it)")
      ->type_name("REGEX");
  run_app
      ->add_option("-o,--output", arguments->output,
                   "Profile to write, or the folder for <hostname>-<UTC time>.json")
      ->type_name("FILE|DIR")
      ->capture_default_str();
  run_app
      ->add_option("--time-limit", arguments->time_limit_s,
                   "End the run after this time; what was not measured is left out")
      ->type_name("S")
      ->check(positive_number);
  arguments->measure.add_to(*run_app);
  auto* anonymize =
      run_app->add_flag("--anonymize", arguments->anonymize,
                        "Leave out host name, full UUIDs, other processes and folders");
  run_app->add_flag("--dry-run", arguments->dry_run,
                    "Print what would run and how long it would take");
  auto* quiet = run_app->add_flag("-q,--quiet", arguments->quiet, "Only errors on stderr");
  run_app->add_flag("-v,--verbose", arguments->verbose, "Each result on stderr")->excludes(quiet);
  run_app
      ->add_option("--benchmark-json", arguments->benchmark_json,
                   "Also write the results in Google Benchmark's format, for its compare.py")
      ->type_name("FILE")
      ->excludes(anonymize);  // that format names the host
  run_app->footer(
      "Examples:\n"
      "  peakline run --quick -o node7.json\n"
      "  peakline run --device 0,1 --filter 'hbm|pcie'\n"
      "  peakline run --device none                           the host alone\n"
      "  peakline run --filter '^gemm.bf16' --dry-run\n"
      "  ncu peakline run --profile --filter '^hbm.read'\n"
      "The summary goes to stdout and ends in 'profile: FILE'; progress goes to stderr.");
  run_app->callback([arguments, &program, &action] {
    action = [arguments, &program] { return run(*arguments, program); };
  });
}

void add_worker_command(CLI::App& app, const Program& program, Action& action) {
  auto measure = std::make_shared<MeasureArguments>();
  auto device = std::make_shared<std::string>();
  CLI::App* worker = app.add_subcommand("worker", "Measures what it is told on its standard input");
  worker->group("");  // started by run, not by people
  worker->add_option("--device", *device)->required();
  worker->add_flag("--quick", measure->quick);
  measure->add_to(*worker);
  worker->callback([measure, device, &program, &action] {
    action = [measure, device, &program] {
      // Its name would be that of /proc/self/exe otherwise.
      ::prctl(PR_SET_NAME, "peakline-worker");
      return run_worker(*device, measure->checked(), program.catalog, kWorkerInput, kWorkerOutput);
    };
  });
}

}  // namespace peakline::bench
