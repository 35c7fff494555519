#include "bench/soak/differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "bench/soak/enqueue.hpp"

namespace peakline::bench {
namespace {

std::span<const kernels::Difference> kept(const kernels::DifferenceLog& log) {
  return {log.kept, static_cast<std::size_t>(
                        std::min<unsigned long long>(log.count, kernels::kKeptDifferences))};
}

// "12.3 s after the start of the load, at 1410 MHz, 698 W and 61 °C", as far as recorded.
std::string moment(const Series& series, const kernels::DifferenceLog& log) {
  const std::uint64_t seen_ns = first_of(log).nanoseconds;
  if (log.started_ns == 0 || seen_ns < log.started_ns) return "before the load";
  const double time_s = static_cast<double>(seen_ns - log.started_ns) * 1e-9;
  std::string text = fmt::format("{:.1f} s after the start of the load", time_s);
  const auto later = std::ranges::lower_bound(series.time_s, time_s);
  if (later == series.time_s.end()) return text;
  const auto i = static_cast<std::size_t>(later - series.time_s.begin());
  const auto add = [&](double value, double scale, const char* unit) {
    if (std::isfinite(value)) text += fmt::format(", {:.0f} {}", value * scale, unit);
  };
  add(series.sm_clock_hz[i], 1e-6, "MHz");
  add(series.power_w[i], 1, "W");
  add(series.temperature_c[i], 1, "°C");
  return text;
}

}  // namespace

Differences::Differences() {
  PEAKLINE_CUDA(cudaMemset(log_.data(), 0, sizeof(kernels::DifferenceLog)));
  PEAKLINE_CUDA(cudaDeviceSynchronize());
}

void Differences::count_from_load(CudaBench& bench) const {
  bench.when_load_begins([this] {
    start_log(log_.data(), nullptr);
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  });
}

const kernels::Difference& first_of(const kernels::DifferenceLog& log) {
  return *std::ranges::min_element(kept(log), {}, &kernels::Difference::nanoseconds);
}

std::string byte_of(std::uint64_t word, const std::string& what) {
  return fmt::format("byte {:#x} of {}", word * sizeof(std::uint32_t), what);
}

void report_differences(CudaBench& bench, const kernels::DifferenceLog& log, double compared_words,
                        const std::function<std::string(const kernels::Difference&)>& place_of,
                        Words words) {
  bench.record().verified = log.count == 0;
  bench.note("compared_words", static_cast<std::int64_t>(compared_words));
  bench.note("differing_words", static_cast<std::int64_t>(log.count));
  if (log.count == 0) return;
  const kernels::Difference& first = first_of(log);
  if (words == Words::kValues) {
    bench.note("first_difference", fmt::format("{}: {:.9g} instead of {:.9g}", place_of(first),
                                               std::bit_cast<float>(first.found),
                                               std::bit_cast<float>(first.expected)));
  } else {
    std::uint32_t bits = 0;
    for (const kernels::Difference& difference : kept(log))
      bits |= difference.expected ^ difference.found;
    bench.note("first_difference",
               fmt::format("{}: {:#010x} instead of {:#010x}, bits {:#010x}", place_of(first),
                           first.found, first.expected, first.expected ^ first.found));
    bench.note("differing_bits", fmt::format("{:#010x}", bits));
  }
  bench.note("first_seen", moment(bench.record().series, log));
}

}  // namespace peakline::bench
