// Matrix instructions of 10.0 and later: tcgen05.mma by one or two SMs, mma.sync with block scales.

#include <cstring>
#include <span>

#include "bench/mma_work.cuh"
#include "kernels/mma_scaled.cuh"
#include "kernels/tcgen05.cuh"

namespace peakline::bench {
namespace {

using kernels::BlockFormat;

// Packed operands with block scales; each tile's elements precede its scales. Scales are powers of
// two from 1/2 to 2, or 0.5 to 1.875.
template <class Tile>
class ScaledOperands {
 public:
  ScaledOperands(std::size_t tiles, std::mt19937_64& random, Data data)
      : random_(random), data_(data) {
    fill(a_, tiles, Tile::kM, kFormat.element.sign_bit());
    fill(b_, tiles, Tile::kN, 0);
  }

  const std::uint32_t* a() const { return a_.on_device.data(); }
  const std::uint32_t* b() const { return b_.on_device.data(); }

  std::vector<double> product(std::size_t tile) const {
    const auto element = [](const Side& side, std::size_t first) {
      return [&side, first](std::size_t row, std::size_t k) {
        return side.values[(first + row) * Tile::kK + k];
      };
    };
    return product_of<Tile>(element(a_, tile * Tile::kM), element(b_, tile * Tile::kN));
  }

 private:
  static constexpr BlockFormat kFormat = Tile::Format::kFormat;
  static constexpr std::size_t kHalf = Tile::kK / 2;
  static constexpr std::size_t kScaleBytes = Tile::kScaleWords * sizeof(std::uint32_t);
  static_assert(kHalf % kFormat.block == 0);

  struct Side {
    std::vector<double> values;  // element x scale
    DeviceBuffer<std::uint32_t> on_device;
  };

  std::uint32_t random_code() {
    const float number = data_ == Data::kIntegers ? static_cast<float>(random_integer(random_))
                                                  : kFormat.deviation() * deviate_(random_);
    return encode(kFormat.element, number);
  }

  std::uint32_t random_scale() {
    using Uniform = std::uniform_int_distribution<std::uint32_t>;
    if (kFormat.scale_is_power_of_two)
      return Uniform(kernels::encode_ue8m0(0.5F), kernels::encode_ue8m0(2.0F))(random_);
    const std::uint32_t half = kernels::encode(kernels::kUe4m3, 0.5F);
    return Uniform(half, half + 15)(random_);
  }

  // repeated_sign: XOR mask of the second half of a row against the first, if they cancel.
  void fill(Side& side, std::size_t tiles, std::size_t rows, std::uint32_t repeated_sign) {
    std::vector<std::uint32_t> words;
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      std::vector<std::uint8_t> elements(rows * Tile::kRowWords * sizeof(std::uint32_t));
      std::vector<std::uint8_t> scales(rows * kScaleBytes);
      for (std::size_t row = 0; row < rows; ++row) {
        std::array<std::uint32_t, Tile::kK> codes{};
        const std::span<std::uint8_t> of_row(scales.data() + row * kScaleBytes, kScaleBytes);
        for (std::size_t k = 0; k < Tile::kK; ++k) {
          const bool repeats = data_ == Data::kCancelling && k >= kHalf;
          std::uint8_t& scale = of_row[k / kFormat.block];
          if (k % kFormat.block == 0)
            scale = static_cast<std::uint8_t>(repeats ? of_row[(k - kHalf) / kFormat.block]
                                                      : random_scale());
          codes[k] = repeats ? codes[k - kHalf] ^ repeated_sign : random_code();
          const std::size_t bit = row * Tile::kRowWords * 32 + k * kFormat.element_bits;
          elements[bit / 8] |= static_cast<std::uint8_t>(codes[k] << bit % 8);
          side.values.push_back(static_cast<double>(decode(kFormat.element, codes[k])) *
                                kFormat.scale(scale));
        }
      }
      const std::size_t first = words.size();
      words.resize(first + (elements.size() + scales.size()) / sizeof(std::uint32_t));
      std::memcpy(words.data() + first, elements.data(), elements.size());
      std::memcpy(reinterpret_cast<std::uint8_t*>(words.data() + first) + elements.size(),
                  scales.data(), scales.size());
    }
    side.on_device = DeviceBuffer<std::uint32_t>(words.size());
    side.on_device.from_host(words);
  }

  std::mt19937_64& random_;
  Data data_;
  std::normal_distribution<float> deviate_;
  Side a_, b_;
};

template <class F>
struct OperandsOf<kernels::ScaledMmaTile<F>> {
  using type = ScaledOperands<kernels::ScaledMmaTile<F>>;
};
template <class F>
requires(F::kScalesPerStep > 0) struct OperandsOf<kernels::Tcgen05Tile<F>> {
  using type = ScaledOperands<kernels::Tcgen05Tile<F>>;
};

template <class F>
void scaled_rate(CudaBench& bench) {
  using Tile = kernels::ScaledMmaTile<F>;
  constexpr auto kKernel = kernels::mma_scaled_chains<F>;
  measure_mma<Tile, kKernel>(bench, blocks_per_sm<kKernel>(bench, &kernels::mma_scaled::exists,
                                                           Tile::kThreads, "mma.sync"));
}

template <class Tile, auto kKernel>
void measure_tcgen05(CudaBench& bench, unsigned sms) {
  // Tensor memory has room for one block per SM.
  (void)blocks_per_sm<kKernel>(bench, &Tile::Format::exists, Tile::kThreads, "tcgen05.mma");
  if (bench.sm_count() % sms != 0) throw Skipped("the SMs cannot be paired");
  PEAKLINE_CUDA(cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     Tile::kSharedBytes));
  measure_mma<Tile, kKernel>(bench, 1, sms);
}

template <class F>
void tcgen05_rate(CudaBench& bench) {
  using Tile = kernels::Tcgen05Tile<F>;
  if (bench.integer("sms") == 1)
    measure_tcgen05<Tile, kernels::tcgen05_chains<F>>(bench, 1);
  else
    measure_tcgen05<Tile, kernels::tcgen05_pairs<F>>(bench, 2);
}

struct Rate {
  std::string_view id;
  void (*measure)(CudaBench&);
};
namespace scaled = kernels::mma_scaled;
namespace tcgen05 = kernels::tcgen05;
constexpr std::array kRates = {Rate{"mma.sync.mxfp8", scaled_rate<scaled::Mxfp8>},
                               Rate{"mma.sync.mxfp4", scaled_rate<scaled::Mxfp4>},
                               Rate{"mma.sync.nvfp4", scaled_rate<scaled::Nvfp4>},
                               Rate{"mma.tcgen05.fp16", tcgen05_rate<tcgen05::Fp16>},
                               Rate{"mma.tcgen05.bf16", tcgen05_rate<tcgen05::Bf16>},
                               Rate{"mma.tcgen05.tf32", tcgen05_rate<tcgen05::Tf32>},
                               Rate{"mma.tcgen05.fp8", tcgen05_rate<tcgen05::Fp8>},
                               Rate{"mma.tcgen05.int8", tcgen05_rate<tcgen05::Int8>},
                               Rate{"mma.tcgen05.mxfp8", tcgen05_rate<tcgen05::Mxfp8>},
                               Rate{"mma.tcgen05.mxfp4", tcgen05_rate<tcgen05::Mxfp4>},
                               Rate{"mma.tcgen05.nvfp4", tcgen05_rate<tcgen05::Nvfp4>},
                               Rate{"mma.tcgen05.nvfp4_k96", tcgen05_rate<tcgen05::Nvfp4K96>}};
static_assert(std::ranges::equal(kRates, kBlackwellInstructions, {}, &Rate::id,
                                 &MatrixInstruction::id));

}  // namespace

void blackwell_mma_rate(CudaBench& bench) {
  std::ranges::find(kRates, bench.record().id, &Rate::id)->measure(bench);
}

}  // namespace peakline::bench
