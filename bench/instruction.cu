// Times chains of single instructions: as many as an SM holds, and one chain of a single warp.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "bench/instruction.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/values/units.hpp"
#include "kernels/instruction.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;
using kernels::kWarpLanes;

constexpr unsigned kThreads = 256;
// Long enough that launch overhead is 0.1 %.
constexpr double kLaunchSeconds = 2e-3;
constexpr int kCalibrationSteps = 8 * kernels::kThroughputSteps;
constexpr double kCalibrationSeconds = 2e-3;
// Covers both kernels' unrolled loop and their remainder. Odd, since some values alternate.
constexpr int kVerifiedSteps = kernels::kLatencySteps + 3;

// Start values and operands, and the precision of a result.
struct Data {
  double low = 0.5, high = 2;         // of floating-point numbers
  std::uint32_t bits = 0xffffffff;    // of words: bits that may be set
  double relative = 0, absolute = 0;  // documented error of an approximation
};

template <class T>
using Row = std::array<T, kWarpLanes>;

// Words serve as packed halves, factors and shift counts.
std::uint32_t packed_halves(double high, double low) {
  const auto half = [](double x) { return std::uint32_t{__half_raw(__double2half(x)).x}; };
  return half(high) << 16 | half(low);
}
constexpr double kHalfFactor = -(1 - 0x1p-11);  // kFmaFactor would round to -1

template <class T>
T factor() {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(kFmaFactor);
  return static_cast<T>(packed_halves(kHalfFactor, kHalfFactor));
}
template <class T>
T addend() {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(kFmaAddend);
  return static_cast<T>(packed_halves(kFmaAddend, kFmaAddend));
}

template <class I, class Function>
class InstructionWork {
 public:
  using Value = typename I::Value;

  InstructionWork(CudaBench& bench, const Data& data, Function function)
      : bench_(bench), data_(data), function_(function) {
    for (std::size_t i = 0; i < kStart; ++i)
      start_[i / kWarpLanes][i % kWarpLanes] = start_value(kernels::random_bits(bench.seed(), i));
    PEAKLINE_CUDA(
        cudaMemcpy(start_data_.data(), start_.data(), sizeof(start_), cudaMemcpyHostToDevice));
  }

  // One wave: as many blocks as the SMs hold.
  CudaBench::Launch throughput(int steps) const {
    return [this, steps](cudaStream_t stream) {
      kernels::instruction_throughput<I>
          <<<blocks_, kThreads, 0, stream>>>(start_data_.data(), a_, b_, digests_.data(), steps);
    };
  }
  CudaBench::Launch latency(int steps, ClockReading* stamps) const {
    return [this, steps, stamps](cudaStream_t stream) {
      kernels::instruction_latency<I><<<1, kWarpLanes, 0, stream>>>(start_data_.data(), a_, b_,
                                                                    digests_.data(), steps, stamps);
    };
  }
  double instructions(int steps) const {
    return static_cast<double>(digests_.size()) * I::kChains * I::kInstructions * steps;
  }

  std::size_t threads() const { return digests_.size(); }

  // Compares the first step with the host, and the whole launch with the same steps one at a time.
  std::string find_mismatch(const CudaBench::Launch& launch, std::size_t threads,
                            int chains) const {
    const std::string wrong = find_wrong_step();
    if (!wrong.empty()) return wrong;
    poison(digests_, bench_.stream());
    bench_.launch_once(launch);
    const std::vector<Value> results = reference(kVerifiedSteps);
    const std::vector<std::uint32_t> found = digests_.to_host(0, threads);
    for (std::size_t thread = 0; thread < threads; ++thread) {
      std::uint32_t expected = 0;
      for (int c = 0; c < chains; ++c)
        expected = kernels::add_to_digest(
            expected, kernels::bits_of(results[c * kWarpLanes + thread % kWarpLanes]));
      if (found[thread] != expected)
        return "the results of thread " + std::to_string(thread) + " differ";
    }
    return "";
  }

 private:
  static constexpr std::size_t kStart = (I::kChains + 1) * kWarpLanes;

  static unsigned one_wave(const CudaBench& bench) {
    int blocks = 0;
    PEAKLINE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernels::instruction_throughput<I>, kThreads, 0));
    return bench.sm_count() * static_cast<unsigned>(blocks);
  }

  Value start_value(std::uint64_t random) const {
    if constexpr (std::is_floating_point_v<Value>)
      return static_cast<Value>(data_.low +
                                (data_.high - data_.low) * kernels::unit_interval(random));
    else
      return static_cast<Value>(static_cast<std::uint32_t>(random) & data_.bits);
  }

  std::vector<Value> reference(int steps) const {
    const DeviceBuffer<Value> results(I::kChains * kWarpLanes);
    poison(results, bench_.stream());
    kernels::reference_instruction<I><<<I::kChains, kWarpLanes, 0, bench_.stream()>>>(
        start_data_.data(), a_, b_, results.data(), steps);
    return results.to_host();
  }

  // The first step's result, from x, y and operands, or from all lanes' x and the lane's number.
  auto expected(std::size_t chain, unsigned lane) const {
    if constexpr (std::is_invocable_v<Function, const Row<Value>&, unsigned>)
      return function_(start_[chain], lane);
    else
      return function_(start_[chain][lane], start_[chain + 1][lane], a_, b_);
  }

  bool right(Value found, double expected) const {
    const double error = std::abs(static_cast<double>(found) - expected);
    return error <= data_.relative * std::abs(expected) + data_.absolute;
  }

  std::string find_wrong_step() const {
    const std::vector<Value> found = reference(1);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t chain = i / kWarpLanes;
      const auto lane = static_cast<unsigned>(i % kWarpLanes);
      const auto should_be = expected(chain, lane);
      const bool exact = data_.relative == 0 && data_.absolute == 0;
      if (exact ? kernels::bits_of(found[i]) == kernels::bits_of(static_cast<Value>(should_be))
                : right(found[i], static_cast<double>(should_be)))
        continue;
      return "one step from " + std::to_string(start_[chain][lane]) + " gives " +
             std::to_string(found[i]) + ", not " + std::to_string(should_be);
    }
    return "";
  }

  CudaBench& bench_;
  Data data_;
  Function function_;
  Value a_ = factor<Value>(), b_ = addend<Value>();
  std::array<Row<Value>, I::kChains + 1> start_;
  DeviceBuffer<Value> start_data_{kStart};
  unsigned blocks_ = one_wave(bench_);
  DeviceBuffer<std::uint32_t> digests_{std::size_t{blocks_} * kThreads};
};

template <class I>
void need_instruction() {
  cudaFuncAttributes attributes{};
  PEAKLINE_CUDA(cudaFuncGetAttributes(&attributes, kernels::instruction_throughput<I>));
  if (attributes.binaryVersion < I::kSince)
    throw Skipped("needs compute capability " + std::to_string(I::kSince / 10) + "." +
                  std::to_string(I::kSince % 10));
}

template <class I, class Function>
struct Op {
  std::string_view name;
  Function expected;
  Data data;
  int results;  // per instruction and lane
};
template <class I, class Function>
constexpr Op<I, Function> op(std::string_view name, Function expected, Data data = {},
                             int results = 1) {
  return {name, expected, data, results};
}

template <class I, class Function>
void measure_throughput(CudaBench& bench, const Op<I, Function>& op) {
  need_instruction<I>();
  const InstructionWork<I, Function> work(bench, op.data, op.expected);
  bench.verify([&] {
    return work.find_mismatch(work.throughput(kVerifiedSteps), work.threads(), I::kChains);
  });
  const double calibration_s =
      bench.sampler().warm_up_for(work.throughput(kCalibrationSteps), kCalibrationSeconds);
  const int steps =
      kCalibrationSteps * std::max(1, static_cast<int>(kLaunchSeconds / calibration_s));
  bench.note("blocks_per_sm",
             static_cast<std::int64_t>(work.threads() / kThreads / bench.sm_count()));
  bench.note("threads", std::int64_t{kThreads});
  bench.note("chains", std::int64_t{I::kChains});
  bench.note("steps", std::int64_t{steps});
  bench.measure({.flops = work.instructions(steps) * op.results}, work.throughput(steps));
  if (const auto per_clock = results_per_clock_per_sm(bench.record(), bench.device()))
    bench.note("per_clock_per_sm", format_number(*per_clock));
}

template <class I, class Function>
void measure_latency(CudaBench& bench, const Op<I, Function>& op) {
  need_instruction<I>();
  const InstructionWork<I, Function> work(bench, op.data, op.expected);
  const DeviceBuffer<ClockReading> stamps(2);
  bench.verify([&] {
    return work.find_mismatch(work.latency(kVerifiedSteps, stamps.data()), kWarpLanes, 1);
  });
  bench.measure_stamped(
      [&](std::uint64_t instructions) {
        return work.latency(static_cast<int>(instructions / I::kInstructions), stamps.data());
      },
      stamps);
  if (const auto cycles = latency_cycles(bench.record()))
    bench.note("cycles", format_number(*cycles));
}

using Word = std::uint32_t;
using Warp = Row<Word>;

double half(Word bits) {
  return __half2float(__half(__half_raw{.x = static_cast<unsigned short>(bits)}));
}
// Applies f(x, a, b) to both halves. FP64 is exact for sums and products of halves, so that the
// only rounding is the one to half.
template <class F>
constexpr auto in_halves(F f) {
  return [f](Word x, Word, Word a, Word b) {
    return packed_halves(f(half(x >> 16), half(a >> 16), half(b >> 16)),
                         f(half(x), half(a), half(b)));
  };
}
Word bf16(float x) { return __nv_bfloat16_raw(__float2bfloat16_rn(x)).x; }
Word e4m3(float x) { return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3); }
float float_of(Word bits) { return std::bit_cast<float>(bits); }
Word bits_of(float x) { return std::bit_cast<Word>(x); }
int dot_of_bytes(Word x, Word a, Word sum) {
  for (int shift = 0; shift < 32; shift += 8)
    sum += static_cast<Word>(static_cast<std::int8_t>(x >> shift) *
                             static_cast<std::int8_t>(a >> shift));
  return static_cast<int>(sum);
}

// Values below 2, so that no sum overflows.
constexpr Data kHalves{.bits = 0x3fff3fff};

constexpr auto all_ops() {
  namespace i = kernels::instruction;
  constexpr std::uint32_t kTable = i::LoadMatrix::kTableBytes;
  return std::tuple{
      op<i::Fp32Add>("fp32_add", [](float x, float, float a, float) { return x + a; }),
      op<i::Fp32Mul>("fp32_mul", [](float x, float, float a, float) { return x * a; }),
      op<i::Fp32Fma>("fp32_fma",
                     [](float x, float, float a, float b) { return std::fma(x, a, b); }),
      op<i::Fp64Add>("fp64_add", [](double x, double, double a, double) { return x + a; }),
      op<i::Fp64Mul>("fp64_mul", [](double x, double, double a, double) { return x * a; }),
      op<i::Fp64Fma>("fp64_fma",
                     [](double x, double, double a, double b) { return std::fma(x, a, b); }),
      op<i::Fp16x2Add>("fp16x2_add", in_halves([](double x, double a, double) { return x + a; }),
                       kHalves, 2),
      op<i::Fp16x2Mul>("fp16x2_mul", in_halves([](double x, double a, double) { return x * a; }),
                       kHalves, 2),
      op<i::Fp16x2Fma>("fp16x2_fma",
                       in_halves([](double x, double a, double b) { return x * a + b; }), kHalves,
                       2),
      op<i::Int32Add>("int32_add", [](Word x, Word y, Word a, Word) { return x + y + a; }),
      op<i::Int32Mad>("int32_mad", [](Word x, Word y, Word a, Word) { return x * a + y; }),
      op<i::Int32Shift>("int32_shift",
                        [](Word x, Word y, Word a, Word) {
                          return static_cast<Word>((std::uint64_t{x} << 32 | y) << a % 32 >> 32);
                        }),
      op<i::Int32Logic>("int32_logic", [](Word x, Word y, Word a, Word) { return x ^ y ^ a; }),
      op<i::Int32Dot>("int32_dot", [](Word x, Word y, Word a,
                                      Word) { return static_cast<Word>(dot_of_bytes(x, a, y)); }),
      // Errors as documented: PTX ISA, floating-point instructions.
      op<i::Rcp>("rcp", [](float x, float, float, float) { return 1 / -static_cast<double>(x); },
                 {.relative = 0x1p-23}),
      op<i::Rsqrt>("rsqrt", [](float x, float, float, float) { return 1 / std::sqrt(double{x}); },
                   {.relative = 0x1.12p-23}),  // 2^-22.9
      op<i::Sin>("sin", [](float x, float, float, float) { return std::sin(double{x}); },
                 {.absolute = 0x1.6ap-21}),  // 2^-20.5
      op<i::Ex2>("ex2", [](float x, float, float, float) { return std::exp2(-double{x}); },
                 {.relative = 0x1p-22}),
      op<i::Lg2>("lg2", [](float x, float, float, float) { return std::log2(std::abs(double{x})); },
                 {.absolute = 0x1p-22}),
      op<i::Tanh>("tanh", [](float x, float, float, float) { return std::tanh(double{x}); },
                  {.relative = 0x1p-11}),
      op<i::Fp16ToFp32>(
          "f16_to_f32",
          [](float x, float, float, float) { return static_cast<float>(half(bits_of(x) >> 16)); }),
      op<i::Fp32ToFp16x2>(
          "f32_to_f16x2",
          [](float x, float y, float, float) { return float_of(packed_halves(x, y)); }, {}, 2),
      op<i::Fp32ToBf16x2>(
          "f32_to_bf16x2",
          [](float x, float y, float, float) { return float_of(bf16(x) << 16 | bf16(y)); }, {}, 2),
      op<i::Fp32ToE4m3x2>(
          "f32_to_e4m3x2",
          [](float x, float y, float, float) {
            return float_of((e4m3(x) << 8 | e4m3(y)) << 16 | e4m3(y) << 8 | e4m3(x));
          },
          {}, 2),
      op<i::E4m3x2ToFp16x2>(
          "e4m3x2_to_f16x2",
          [](Word x, Word, Word, Word) {
            const auto pair =
                __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(x), __NV_E4M3);
            return Word{pair.y} << 16 | pair.x;
          },
          {.bits = 0x77777777}, 2),  // no NaN
      op<i::Fp32ToInt32>("f32_to_i32",
                         [](float x, float, float, float) {
                           return float_of(static_cast<Word>(static_cast<int>(x)));
                         },
                         {.low = 1e3, .high = 1e9}),
      op<i::Int32ToFp32>("i32_to_f32",
                         [](Word x, Word, Word, Word) {
                           return bits_of(static_cast<float>(static_cast<int>(x)));
                         }),
      op<i::Fp32ToFp64>("f32_to_f64",
                        [](float x, float, float, float) {
                          return float_of(
                              static_cast<Word>(std::bit_cast<std::uint64_t>(double{x}) >> 32));
                        }),
      op<i::Fp64ToFp32>("f64_to_f32",
                        [](float x, float, float a, float) {
                          return static_cast<float>(
                              std::bit_cast<double>(std::uint64_t{bits_of(a)} << 32 | bits_of(x)));
                        }),
      op<i::Shuffle>("shuffle",
                     [](const Warp& x, unsigned lane) { return x[(lane + 1) % kWarpLanes]; }),
      op<i::Vote>("vote",
                  [](const Warp& x, unsigned) {
                    return Word{std::ranges::all_of(x, [](Word lane) { return lane == 0; })};
                  },
                  {.bits = 1}),
      op<i::Match>("match",
                   [](const Warp& x, unsigned lane) {
                     Word lanes = 0;
                     for (unsigned i = 0; i < kWarpLanes; ++i) lanes |= Word{x[i] == x[lane]} << i;
                     return lanes;
                   },
                   {.bits = 3}),
      op<i::Reduce>("reduce", [](const Warp& x,
                                 unsigned) { return std::accumulate(x.begin(), x.end(), 0u); }),
      op<i::LoadMatrix>(
          "ldmatrix", [](const Warp& x, unsigned lane) { return (x[lane / 4] & kTable) ^ kTable; }),
  };
}

constexpr auto kOps = all_ops();
static_assert(std::apply([](const auto&... op) { return std::array{op.name...}; }, kOps) ==
              kInstructionNames);

template <class Measure>
void measure_named(CudaBench& bench, Measure measure) {
  const std::string name = bench.text("op");
  std::apply([&](const auto&... op) { ((op.name == name ? measure(op) : void()), ...); }, kOps);
}

}  // namespace

void instruction_throughput(CudaBench& bench) {
  measure_named(bench, [&](const auto& op) { measure_throughput(bench, op); });
}

void instruction_latency(CudaBench& bench) {
  measure_named(bench, [&](const auto& op) { measure_latency(bench, op); });
}

}  // namespace peakline::bench
