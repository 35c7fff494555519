#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/mma_table.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "kernels/mma.cuh"
#include "kernels/wgmma.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

// Long enough that the launch and the final store are negligible; a train has five launches.
constexpr double kLaunchSeconds = 2.5e-3;
constexpr int kCalibrationTrips = 64;
constexpr double kSearchSeconds = 0.05;
constexpr unsigned kMaxBlocksPerSm = 8;
// Enough to expose one trip too many or too few.
constexpr int kVerifiedTrips = 2;
// Integers up to this size are exact in every format, as are their sums over the verified trips in
// any order: at most 2 trips x 4 passes x 64 x 2 x 2 = 2048 in FP16, and twice that in FP8's
// accumulators, which hold at least 13 bits.
constexpr int kVerifiedMagnitude = 2;
// Standard deviation of normal numbers in INT8.
constexpr double kInt8Deviation = 32;

template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, std::int8_t>)
    return static_cast<std::int8_t>(std::clamp(std::round(value), -127.0, 127.0));
  else if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return static_cast<T>(static_cast<float>(value));
}

template <class T>
double to_double(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

// Elements of a tile: integers for verification, or normal numbers whose products cancel: the
// second half of each row of A is the negated first half, and each column of B repeats its first
// half. Growing sums would overflow, or stop changing by rounding.
enum class Data { kIntegers, kCancelling };

template <class Tile>
class Operands {
 public:
  using Input = typename Tile::Format::Input;

  Operands(std::size_t tiles, std::mt19937_64& random, Data data) {
    std::uniform_int_distribution<int> integer(-kVerifiedMagnitude, kVerifiedMagnitude);
    std::normal_distribution<double> deviate;
    constexpr double kDeviation = std::is_same_v<Input, std::int8_t> ? kInt8Deviation : 1.0;
    const auto value = [&]() -> double {
      return data == Data::kIntegers ? integer(random) : kDeviation * deviate(random);
    };
    const bool cancelling = data == Data::kCancelling;
    a_data_ = filled(a_, tiles * Tile::kM, value, cancelling ? -1.0 : 0.0);
    b_data_ = filled(b_, tiles * Tile::kN, value, cancelling ? 1.0 : 0.0);
  }

  const typename Tile::Word* a() const { return words(a_data_); }
  const typename Tile::Word* b() const { return words(b_data_); }

  // A x B of a tile, row-major.
  std::vector<double> product(std::size_t tile) const {
    std::vector<double> sums;
    sums.reserve(std::size_t{Tile::kM} * Tile::kN);
    for (std::size_t m = 0; m < Tile::kM; ++m)
      for (std::size_t n = 0; n < Tile::kN; ++n) {
        const double* a = a_.data() + (tile * Tile::kM + m) * Tile::kK;
        const double* b = b_.data() + (tile * Tile::kN + n) * Tile::kK;
        double sum = 0;
        for (std::size_t k = 0; k < Tile::kK; ++k) sum += a[k] * b[k];
        sums.push_back(sum);
      }
    return sums;
  }

 private:
  static const typename Tile::Word* words(const DeviceBuffer<Input>& data) {
    return reinterpret_cast<const typename Tile::Word*>(data.data());
  }

  // Fills `rows` with numbers that Input holds, and the buffer with the same. repeat: factor from
  // the first half to the second; 0: the second half is independent.
  template <class Value>
  static DeviceBuffer<Input> filled(std::vector<double>& rows, std::size_t count, Value& value,
                                    double repeat) {
    constexpr std::size_t kHalf = Tile::kK / 2;
    std::vector<Input> inputs(count * Tile::kK);
    rows.resize(inputs.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool repeats = repeat != 0 && i % Tile::kK >= kHalf;
      inputs[i] = from_double<Input>(repeats ? repeat * rows[i - kHalf] : value());
      rows[i] = to_double(inputs[i]);
    }
    DeviceBuffer<Input> data(inputs.size());
    data.from_host(inputs);
    return data;
  }

  std::vector<double> a_, b_;
  DeviceBuffer<Input> a_data_, b_data_;
};

template <class Tile, auto kKernel>
class MmaWork {
 public:
  using Output = typename Tile::Format::Output;

  // blocks_per_sm: maximum over all launches.
  MmaWork(CudaBench& bench, unsigned blocks_per_sm)
      : bench_(bench),
        random_(bench.seed()),
        tiles_(std::size_t{blocks_per_sm} * Tile::kPerBlock),
        integers_(tiles_, random_, Data::kIntegers),
        normal_(tiles_, random_, Data::kCancelling),
        results_(bench.sm_count() * tiles_ * kTileElements) {}

  double flops(unsigned blocks_per_sm, int trips) const {
    return 2.0 * kTileElements * Tile::kK * Tile::kPasses * trips * Tile::kPerBlock *
           blocks_per_sm * bench_.sm_count();
  }

  CudaBench::Launch launch(unsigned blocks_per_sm, int trips) const {
    return launch_with(normal_, blocks_per_sm, trips);
  }

  std::string find_mismatch(unsigned blocks_per_sm) const {
    poison(results_, bench_.stream());
    bench_.launch_once(launch_with(integers_, blocks_per_sm, kVerifiedTrips));
    const std::size_t tiles = std::size_t{blocks_per_sm} * Tile::kPerBlock;
    const std::vector<Output> found =
        results_.to_host(0, bench_.sm_count() * tiles * kTileElements);
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      std::vector<Output> expected;
      for (const double sum : integers_.product(tile))
        expected.push_back(from_double_exact(sum * Tile::kPasses * kVerifiedTrips));
      for (std::size_t sm = 0; sm < bench_.sm_count(); ++sm) {
        const Output* const of_sm = found.data() + (sm * tiles + tile) * kTileElements;
        if (std::memcmp(of_sm, expected.data(), kTileElements * sizeof(Output)) == 0) continue;
        for (std::size_t i = 0; i < kTileElements; ++i) {
          const double is = to_double(of_sm[i]);
          const double should_be = to_double(expected[i]);
          if (!(is == should_be))
            return "element (" + std::to_string(i / Tile::kN) + ", " +
                   std::to_string(i % Tile::kN) + ") of tile " + std::to_string(tile) + " is " +
                   std::to_string(is) + ", not " + std::to_string(should_be);
        }
      }
    }
    return "";
  }

 private:
  static constexpr std::size_t kTileElements = std::size_t{Tile::kM} * Tile::kN;

  static Output from_double_exact(double value) {
    if constexpr (std::is_same_v<Output, std::int32_t>)
      return static_cast<std::int32_t>(value);
    else
      return from_double<Output>(value);
  }

  CudaBench::Launch launch_with(const Operands<Tile>& operands, unsigned blocks_per_sm,
                                int trips) const {
    return [this, &operands, blocks_per_sm, trips](cudaStream_t stream) {
      kKernel<<<dim3(bench_.sm_count(), blocks_per_sm), Tile::kThreads, 0, stream>>>(
          operands.a(), operands.b(), reinterpret_cast<typename Tile::Word*>(results_.data()),
          trips);
    };
  }

  CudaBench& bench_;
  std::mt19937_64 random_;
  std::size_t tiles_;
  Operands<Tile> integers_, normal_;
  DeviceBuffer<Output> results_;
};

std::string version_text(int version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

// Compute capabilities, times ten, whose matrix instructions are known.
constexpr auto kKnownVersions =
    std::to_array<int>({75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121});

// Blocks of the kernel per SM. Skips the point if device or build lack the instruction.
template <auto kKernel>
unsigned blocks_per_sm(CudaBench& bench, bool (*exists)(int version), int threads,
                       const char* what) {
  const int device = bench.device().compute_major * 10 + bench.device().compute_minor;
  if (!exists(device))
    throw Skipped(
        (std::ranges::find(kKnownVersions, device) == kKnownVersions.end()
             ? "it is not known whether compute capability " + version_text(device) + " has "
             : "compute capability " + version_text(device) + " has no ") +
        what + " for this format");
  cudaFuncAttributes attributes{};
  PEAKLINE_CUDA(cudaFuncGetAttributes(&attributes, kKernel));
  if (!exists(attributes.binaryVersion))
    throw Skipped("this build has code for compute capability " +
                  version_text(attributes.binaryVersion) + " only, which has no " + what +
                  " for this format");
  int blocks = 0;
  PEAKLINE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kKernel, threads, 0));
  return std::clamp(static_cast<unsigned>(blocks), 1u, kMaxBlocksPerSm);
}

template <class Tile, auto kKernel>
void measure_mma(CudaBench& bench, unsigned most_blocks) {
  const MmaWork<Tile, kKernel> work(bench, most_blocks);
  const auto blocks_of = [](std::size_t i) { return static_cast<unsigned>(i) + 1; };
  const auto [blocks, trips] = bench.remember<std::pair<unsigned, int>>(bench.record().id, [&] {
    const unsigned best = blocks_of(bench.search(
        most_blocks, [&](std::size_t i) { return work.launch(blocks_of(i), kCalibrationTrips); },
        kSearchSeconds,
        {.work_of = [&](std::size_t i) { return static_cast<double>(blocks_of(i)); },
         .in_cycles = true}));
    const double calibration_s = bench.time_roughly(work.launch(best, kCalibrationTrips));
    return std::pair(
        best, std::max(1, static_cast<int>(kCalibrationTrips * kLaunchSeconds / calibration_s)));
  });
  bench.verify([&, blocks = blocks] { return work.find_mismatch(blocks); });
  bench.note("blocks_per_sm", static_cast<std::int64_t>(blocks));
  bench.note("threads", std::int64_t{Tile::kThreads});
  bench.note("trips", static_cast<std::int64_t>(trips));
  bench.measure({.flops = work.flops(blocks, trips)}, work.launch(blocks, trips));
}

template <class F>
void mma_sync_rate(CudaBench& bench) {
  using Tile = kernels::MmaTile<F>;
  constexpr auto kKernel = kernels::mma_chains<F>;
  measure_mma<Tile, kKernel>(bench,
                             blocks_per_sm<kKernel>(bench, &F::exists, Tile::kThreads, "mma.sync"));
}

template <class F>
void wgmma_rate(CudaBench& bench) {
  using Tile = kernels::WgmmaTile<F>;
  constexpr auto kKernel = kernels::wgmma_chains<F>;
  measure_mma<Tile, kKernel>(
      bench, blocks_per_sm<kKernel>(bench, &kernels::wgmma::exists, Tile::kThreads, "wgmma"));
}

struct Rate {
  std::string_view id;
  void (*measure)(CudaBench&);
};
namespace sync = kernels::mma_sync;
namespace wgmma = kernels::wgmma;
constexpr std::array kRates = {Rate{"mma.sync.fp16", mma_sync_rate<sync::Fp16>},
                               Rate{"mma.sync.fp16_acc16", mma_sync_rate<sync::Fp16Acc16>},
                               Rate{"mma.sync.bf16", mma_sync_rate<sync::Bf16>},
                               Rate{"mma.sync.tf32", mma_sync_rate<sync::Tf32>},
                               Rate{"mma.sync.fp64", mma_sync_rate<sync::Fp64>},
                               Rate{"mma.sync.int8", mma_sync_rate<sync::Int8>},
                               Rate{"mma.sync.fp8", mma_sync_rate<sync::Fp8>},
                               Rate{"mma.wgmma.fp16", wgmma_rate<wgmma::Fp16>},
                               Rate{"mma.wgmma.fp16_acc16", wgmma_rate<wgmma::Fp16Acc16>},
                               Rate{"mma.wgmma.bf16", wgmma_rate<wgmma::Bf16>},
                               Rate{"mma.wgmma.tf32", wgmma_rate<wgmma::Tf32>},
                               Rate{"mma.wgmma.fp8", wgmma_rate<wgmma::Fp8>},
                               Rate{"mma.wgmma.int8", wgmma_rate<wgmma::Int8>}};
static_assert(std::ranges::equal(kRates, kMatrixInstructions, {}, &Rate::id,
                                 &MatrixInstruction::id));

}  // namespace

void mma_rate(CudaBench& bench) {
  if (is_slower_twin(bench.record().id, bench.device().compute_major))
    throw Skipped("wgmma is the faster way to the same units");
  std::ranges::find(kRates, bench.record().id, &Rate::id)->measure(bench);
}

}  // namespace peakline::bench
