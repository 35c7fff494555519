#include "bench/soak/products.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <thread>

#include "bench/soak/enqueue.hpp"
#include "bench/soak/tile.hpp"

namespace peakline::bench {
namespace {

// Time for which each SM repeats the tile of a wrong word.
constexpr double kSuspectSeconds = 0.5;
// Time of one launch of that tile.
constexpr double kLaunchSeconds = 1e-3;
// Bytes of a line of a tile's operands, so that what an SM's warps share fits any L1.
constexpr std::int64_t kLineBytes = 1024;
constexpr unsigned kCalibrationTrips = 16;

unsigned trips_for(CudaBench& bench, const TileOnEachSm& tile, double seconds) {
  const double trips =
      kCalibrationTrips * seconds / bench.time_roughly(tile.launch(kCalibrationTrips));
  return static_cast<unsigned>(std::max(1.0, bench.sampler().repeats(trips)));
}

}  // namespace

VerifiedProduct::VerifiedProduct(CudaBench& bench, const GemmFormat& format,
                                 const std::function<void(const Numbers& y)>& spoil)
    : format_(format),
      candidate_(best_product(bench, format)),
      product_(product_of(bench, format, candidate_)),
      first_(bench.fitting_memory(y().bytes(), y().bytes())) {
  y().poison(bench.stream());
  bench.launch_once(product_.launch(candidate_.algorithm));
  if (spoil) spoil(y());
  product_.check_every_element(against_reference_.data());
  PEAKLINE_CUDA(cudaMemcpyAsync(first_.data(), y().data(), first_.size(), cudaMemcpyDeviceToDevice,
                                bench.stream()));
  y().poison(bench.stream());
}

CudaBench::Launch VerifiedProduct::launch(const std::function<void(cudaStream_t)>& between) const {
  const CudaBench::Launch product = product_.launch(candidate_.algorithm);
  const auto enqueue = [this, product, between, launches = launches_](cudaStream_t stream) {
    product(stream);
    if (between) between(stream);
    compare(first_.data(), y().data(), first_.size(), differences_.data(), stream);
    y().poison(stream);
    ++*launches;
  };
  return {enqueue, {.operations = product.operations + 2}};
}

std::int64_t VerifiedProduct::element_of(std::uint64_t word) const {
  return static_cast<std::int64_t>(word * sizeof(std::uint32_t) / bytes_of(y().type()));
}

std::string VerifiedProduct::place_of(std::int64_t element) const {
  const std::int64_t row = element / product_.shape().n, column = element % product_.shape().n;
  std::string place = fmt::format("row {}, column {}", row, column);
  if (const auto tile = candidate_.algorithm.tile())
    place += fmt::format(" (tile {}, {} of {}x{})", row / tile->first, column / tile->second,
                         tile->first, tile->second);
  return place;
}

std::string VerifiedProduct::suspects(CudaBench& bench, std::int64_t element) const {
  const TileFormat* const format = find_holding_tile_format(format_.name, bench.device());
  if (format == nullptr)
    return "which SM is not known: this format cannot be computed on one SM after the other here";
  const auto [x, w] = product_.lines_around(element / product_.shape().n, kernels::kCheckedRows,
                                            element % product_.shape().n, kernels::kCheckedColumns,
                                            format->operands);
  const TileOnEachSm tile(bench, *format, x, w, product_.shape().k);
  bench.launch_once(tile.launch(trips_for(bench, tile, kSuspectSeconds)));
  const std::vector<std::uint32_t> odd = tile.odd_sms();
  if (odd.empty()) return "no single SM is to blame: all agree on this tile when it is run again";
  return fmt::format("SM {}", fmt::join(odd, ", "));
}

void VerifiedProduct::report(CudaBench& bench) const {
  const kernels::DifferenceLog reference = against_reference_.read();
  if (reference.count > 0) {
    // Words of this log are elements.
    const auto place = [&](const kernels::Difference& difference) {
      return "first result, " + place_of(static_cast<std::int64_t>(difference.word));
    };
    report_differences(bench, reference, static_cast<double>(y().count()), place, Words::kValues);
    bench.note("sm", suspects(bench, static_cast<std::int64_t>(first_of(reference).word)));
    return;
  }
  const kernels::DifferenceLog log = differences_.read();
  report_differences(
      bench, log,
      static_cast<double>(first_.size() / sizeof(std::uint32_t)) * static_cast<double>(*launches_),
      [&](const kernels::Difference& difference) { return place_of(element_of(difference.word)); });
  if (log.count > 0) bench.note("sm", suspects(bench, element_of(first_of(log).word)));
}

namespace {

void note_product(CudaBench& bench, const GemmFormat& format, const VerifiedProduct& verified) {
  bench.note("format", std::string(format.name));
  bench.note("shape", verified.candidate().shape.name());
  bench.note("layout", std::string(to_string(verified.candidate().layout)));
  bench.note("algorithm", verified.candidate().algorithm.describe());
}

}  // namespace

void soak_products(CudaBench& bench, const std::string& name) {
  const GemmFormat& format = gemm_format(name);
  const VerifiedProduct verified(bench, format);
  note_product(bench, format, verified);
  verified.differences().count_from_load(bench);
  bench.measure(verified.work(), verified.launch());
  verified.report(bench);
}

void soak_pulses(CudaBench& bench) {
  const GemmFormat& format = soak_format(bench.device());
  const VerifiedProduct verified(bench, format);
  note_product(bench, format, verified);
  const CudaBench::Launch launch = verified.launch();
  const double half_s = 0.5 / static_cast<double>(bench.integer("hertz"));
  const auto products =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(half_s / bench.time_roughly(launch)));
  bench.note("products_per_pulse", products);
  Work work = verified.work();
  work.bytes_read *= static_cast<double>(products);
  work.bytes_written *= static_cast<double>(products);
  work.flops *= static_cast<double>(products);
  verified.differences().count_from_load(bench);
  bench.measure_calls(work, [&] {
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < products; ++i) launch(bench.stream());
    bench.sampler().synchronize();
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(2 * half_s));
  });
  verified.report(bench);
}

void soak_sms(CudaBench& bench, const std::string& name) {
  const TileFormat* const format = find_tile_format(name, bench.device());
  if (format == nullptr)
    throw Skipped("the device, or this build's code for it, has no mma.sync for this format");
  const std::int64_t k = kLineBytes / static_cast<std::int64_t>(bytes_of(format->operands));
  const auto operand = [&](int lines, std::uint64_t seed) {
    Numbers numbers(format->operands, static_cast<std::size_t>(lines * k));
    numbers.fill(kernels::Distribution::kNormal, seed);
    return numbers;
  };
  const Numbers x = operand(kernels::kCheckedRows, bench.seed());
  const Numbers w = operand(kernels::kCheckedColumns, bench.seed() + 1);
  const TileOnEachSm tile(bench, *format, x, w, k);
  const unsigned trips = trips_for(bench, tile, kLaunchSeconds);
  bench.note("trips", static_cast<std::int64_t>(trips));
  tile.differences().count_from_load(bench);
  bench.measure({.flops = tile.flops(trips)}, tile.launch(trips));
  report_differences(
      bench, tile.read(), tile.compared_words(), [](const kernels::Difference& difference) {
        return fmt::format("word {} of the tile on SM {}", difference.word, difference.sm);
      });
  if (const auto odd = tile.odd_sms(); !odd.empty())
    bench.note("sm", fmt::format("SM {}", fmt::join(odd, ", ")));
}

}  // namespace peakline::bench
