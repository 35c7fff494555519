#include "harness/benchmark/google_benchmark.hpp"

#include <benchmark/benchmark.h>

#include <iostream>
#include <stdexcept>
#include <streambuf>

#include "harness/statistics/statistics.hpp"

namespace peakline::bench {
namespace {

// Releases up to 1.7 have one call for skips and errors, later ones two. A template, so that only
// the installed release's branch compiles.
template <class State>
void set_without_result(State& state, const Measurement& m) {
  if constexpr (requires { state.SkipWithMessage(m.reason); }) {
    if (m.status == Status::kSkipped) return state.SkipWithMessage(m.reason);
    state.SkipWithError(m.reason);
  } else {
    state.SkipWithError(m.reason.c_str());
  }
}

std::string label_of(const Measurement& m) {
  std::string label = m.verified.value_or(false) ? "verified" : "not verified";
  if (m.flags.unstable) label += ", unstable";
  if (m.flags.throttled) label += ", throttled";
  for (const auto& [name, value] : m.launch) label += " " + name + "=" + to_string(value);
  return label;
}

void report(::benchmark::State& state, const Measurement& m) {
  if (m.status != Status::kOk || !m.summary) return set_without_result(state, m);
  state.SetIterationTime(estimated(m.samples_s, m.estimate));
  if (m.value && m.unit != "s")
    state.counters[m.unit == "B/s" ? "bytes_per_second" : "flops_per_second"] = *m.value;
  if (m.conditions.sm_clock_hz) state.counters["sm_clock_hz"] = *m.conditions.sm_clock_hz;
  if (m.conditions.power_w) state.counters["power_w"] = *m.conditions.power_w;
  state.SetLabel(label_of(m));
}

class SilentReporter : public ::benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

// Drops Google Benchmark's warning about its build type, which distributions' packages always
// print: it times nothing here.
class WithoutItsWarning : public std::streambuf {
 public:
  explicit WithoutItsWarning(std::ostream& stream) : stream_(stream), target_(stream.rdbuf(this)) {}
  ~WithoutItsWarning() override {
    pass_on();
    stream_.rdbuf(target_);
  }

 protected:
  int overflow(int c) override {
    if (c == traits_type::eof()) return 0;
    line_ += traits_type::to_char_type(c);
    if (c == '\n') pass_on();
    return c;
  }
  int sync() override { return target_->pubsync(); }

 private:
  void pass_on() {
    if (!line_.starts_with("***WARNING*** Library was built as DEBUG"))
      target_->sputn(line_.data(), static_cast<std::streamsize>(line_.size()));
    line_.clear();
  }

  std::ostream& stream_;
  std::streambuf* target_;
  std::string line_;
};

}  // namespace

void enter(const std::string& name, std::function<Measurement()> measure) {
  ::benchmark::RegisterBenchmark(name.c_str(),
                                 [measure = std::move(measure)](::benchmark::State& state) {
                                   for (auto _ : state) report(state, measure());
                                 })
      ->Iterations(1)
      ->UseManualTime();
}

Measurement run_entered(const std::string& name, const std::function<Measurement()>& measure) {
  Measurement record;
  enter(name, [&] { return record = measure(); });
  SilentReporter reporter;
  const std::size_t run = ::benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, "all");
  ::benchmark::ClearRegisteredBenchmarks();
  if (run != 1) throw std::logic_error("Google Benchmark did not run " + name);
  return record;
}

std::vector<std::string> run_entries(std::vector<std::string> flags) {
  std::vector<char*> arguments;
  for (std::string& flag : flags) arguments.push_back(flag.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  ::benchmark::Initialize(&count, arguments.data());
  // Initialize() removes known flags; argument 0 is the program.
  std::vector<std::string> unknown(arguments.begin() + 1, arguments.begin() + count);
  const WithoutItsWarning filter(std::cerr);
  if (unknown.empty()) ::benchmark::RunSpecifiedBenchmarks();
  return unknown;
}

}  // namespace peakline::bench
