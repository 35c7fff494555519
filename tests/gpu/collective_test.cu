#include <cuda_bf16.h>

#include <limits>

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/collective.cuh"
#include "tests/gpu/support.cuh"

namespace peakline {
namespace {

using kernels::CollectiveResult;

template <class T>
void check_differences(const CollectiveResult& result) {
  constexpr std::size_t kCount = 1000;
  std::vector<T> host(kCount);
  for (std::size_t i = 0; i < kCount; ++i) host[i] = static_cast<T>(result.at(i));
  const auto differences = [&] {
    const bench::Accumulator<unsigned long long> found;
    kernels::reference_collective<<<3, 64>>>(on_device(host).data(), kCount, result, found.data());
    return found.get();
  };
  EXPECT_EQ(differences(), 0u);
  host[17] = static_cast<T>(result.at(17) + 1);
  host[kCount - 1] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(differences(), 2u);
}

TEST(Collective, WrongElementsAreCounted) {
  for (const CollectiveResult& result :
       {CollectiveResult{.first_rank = 0, .summed = 8, .segment = 1000, .offset = 0},
        CollectiveResult{.first_rank = 0, .summed = 8, .segment = 1000, .offset = 3000},
        CollectiveResult{.first_rank = 0, .summed = 1, .segment = 250, .offset = 500},
        CollectiveResult{.first_rank = 3, .summed = 1, .segment = 1000, .offset = 0}}) {
    check_differences<float>(result);
    check_differences<__nv_bfloat16>(result);
  }
}

TEST(Collective, RanksAndSegmentsAreToldApart) {
  const auto equal = [](const CollectiveResult& a, const CollectiveResult& b) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < 1000; ++i) count += a.at(i) == b.at(i);
    return count;
  };
  const CollectiveResult one{.first_rank = 0, .summed = 1, .segment = 250, .offset = 0};
  // One element in eight is equal by chance.
  EXPECT_LT(equal(one, {.first_rank = 1, .summed = 1, .segment = 250, .offset = 0}), 250u);
  EXPECT_LT(equal(one, {.first_rank = 0, .summed = 1, .segment = 1000, .offset = 0}), 500u);
  EXPECT_LT(equal(one, {.first_rank = 0, .summed = 1, .segment = 250, .offset = 250}), 250u);
}

TEST(Collective, InputsAreTheRanksContribution) {
  const cuda::DeviceBuffer<float> data(1000);
  kernels::fill_contribution<<<3, 64>>>(data.data(), data.size(), 5);
  const auto host = data.to_host();
  for (std::size_t i = 0; i < host.size(); ++i) EXPECT_EQ(host[i], kernels::contribution(5, i));
}

}  // namespace
}  // namespace peakline
