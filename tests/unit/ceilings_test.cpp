#include "harness/conclude/ceilings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "harness/conclude/limits.hpp"
#include "harness/statistics/statistics.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using sample::all_of;
using sample::at;
using sample::each;
using sample::everywhere;
using sample::find;
using sample::gpu;
using sample::kUuid;
using sample::run_with;
using sample::with;

const Ceiling* row(const Profile& p, std::string_view resource, Basis basis,
                   std::string_view device = kUuid) {
  return find_ceiling(p.ceilings, device, resource, basis);
}

TEST(Ceilings, TakeTheBestLargeFootprint) {
  const auto p = sample::h200_run();
  const Ceiling* read = row(p, "hbm.read", Basis::kMeasured);
  ASSERT_NE(read, nullptr);
  EXPECT_DOUBLE_EQ(read->value, 4583e9);  // not the small one's 4702 GB/s: that is L2
  EXPECT_EQ(read->measurement, "hbm.read/width:16/bytes:4294967296");
  EXPECT_EQ(read->unit, "B/s");
}

TEST(Ceilings, TheIntervalIsWhereTheNextRunLands) {
  auto p = sample::h200_run();
  const auto half_width = [&](std::string_view resource, Basis basis,
                              std::string_view device = kUuid) {
    const Ceiling* c = row(p, resource, basis, device);
    if (c == nullptr) throw std::logic_error("no such ceiling");
    EXPECT_NEAR(*c->ci_low * *c->ci_high, c->value * c->value, 1e-9 * c->value * c->value);
    return *c->ci_high / c->value - 1;
  };
  // At least the class's usual spread: 2.3 x sqrt(2) standard deviations.
  EXPECT_NEAR(half_width("hbm.write", Basis::kMeasured), 0.0035, 0.0005);
  EXPECT_GT(half_width("tensor.bf16", Basis::kBurst), 0.0105);
  EXPECT_GT(half_width("tensor.bf16", Basis::kSustained), half_width("tensor.bf16", Basis::kBurst));
  // A shared host varies too much for an interval.
  EXPECT_LT(half_width("memory.read", Basis::kMeasured, kHostDevice), 0.03);
  p.host.virtualization = "kvm";
  p = sample::derived(p);
  EXPECT_FALSE(row(p, "memory.read", Basis::kMeasured, kHostDevice)->ci_low);
  // Scattered samples widen the interval.
  auto& m = find(p, "hbm.write/width:16/bytes:4294967296");
  for (std::size_t i = 0; i < m.samples_s.size(); ++i) m.samples_s[i] *= i % 2 == 0 ? 1.05 : 0.95;
  p = sample::derived(p);
  EXPECT_GT(half_width("hbm.write", Basis::kMeasured), 0.02);
}

TEST(Ceilings, ACurvesPointGivesWayToTheFullRule) {
  const auto read = [](const sample::Change& change) {
    return row(run_with(change), "hbm.read", Basis::kMeasured)->value;
  };
  const char* best = "hbm.read/width:16/bytes:4294967296";
  EXPECT_DOUBLE_EQ(read(at(best, [](auto& m) { m.summary->n = 7; })), 4520e9);
  EXPECT_DOUBLE_EQ(read(everywhere([](auto& m) { m.summary->n = 7; })), 4583e9);
  // In several runs too.
  for (const std::size_t runs : {2, 6}) {
    const auto in_runs = [&](Measurement& m) {
      const bool curve = m.name() == best;
      const std::size_t sittings = curve ? 1 : 2;
      const std::size_t blocks =
          std::min<std::size_t>(curve ? 7 : 10, kMaxSamples / runs / sittings);
      m.sittings.assign(runs,
                        std::vector<std::int64_t>(sittings, static_cast<std::int64_t>(blocks)));
      m.samples_s.assign(runs * sittings * blocks, m.summary->median);
      m.summary = summarize(m.samples_s);
    };
    EXPECT_DOUBLE_EQ(read(everywhere([&](Measurement& m) {
                       if (m.id.starts_with("hbm.read")) in_runs(m);
                     })),
                     4520e9)
        << runs;
  }
}

TEST(Ceilings, ComeInTheOrderShown) {
  const auto p = sample::h200_run();
  const auto position = [&](std::string_view resource, Basis basis) {
    const Ceiling* found = row(p, resource, basis);
    return found == nullptr ? -1 : found - p.ceilings.data();
  };
  EXPECT_EQ(position("hbm.read", Basis::kTheoretical), 0);
  EXPECT_EQ(position("hbm.read", Basis::kDatasheet), 1);
  EXPECT_EQ(position("hbm.read", Basis::kMeasured), 2);
  EXPECT_LT(position("pcie.h2d", Basis::kMeasured),
            position("cuda_core.fp64", Basis::kTheoretical));
  EXPECT_LT(position("tensor.bf16", Basis::kBurst), position("tensor.bf16", Basis::kSustained));
  EXPECT_EQ(p.ceilings.back().device, kHostDevice);
}

TEST(Ceilings, TheoreticalAndDatasheetNameTheirClock) {
  const auto p = sample::h200_run();
  const Ceiling* peak = row(p, "tensor.bf16", Basis::kTheoretical);
  EXPECT_NEAR(peak->value, 1070.5e12, 0.1e12);
  EXPECT_EQ(peak->conditions.sm_clock_hz, 1980e6);
  EXPECT_EQ(peak->note, "4096 ops/clk/SM x 132 SMs x 1980 MHz");
  const Ceiling* datasheet = row(p, "tensor.bf16", Basis::kDatasheet);
  EXPECT_DOUBLE_EQ(datasheet->value, 989.4e12);
  EXPECT_EQ(datasheet->conditions.sm_clock_hz, 1830e6);
  EXPECT_NEAR(row(p, "pcie.h2d", Basis::kTheoretical)->value, 63.0e9, 0.1e9);
  EXPECT_NEAR(row(p, "pcie.bidirectional", Basis::kTheoretical)->value, 126.0e9, 0.1e9);
  EXPECT_EQ(row(p, "hbm.copy", Basis::kTheoretical)->value,
            row(p, "hbm.read", Basis::kTheoretical)->value);
}

TEST(Ceilings, Fp32ProductsAreMeasuredAgainstTheCudaCores) {
  const auto p = sample::h200_run();
  EXPECT_DOUBLE_EQ(row(p, "gemm.fp32", Basis::kTheoretical)->value,
                   row(p, "cuda_core.fp32", Basis::kTheoretical)->value);
  EXPECT_DOUBLE_EQ(row(p, "gemm.fp32", Basis::kBurst)->value, 53e12);
  EXPECT_EQ(row(p, "tensor.fp32", Basis::kBurst), nullptr);
}

TEST(Ceilings, OfSweepsOnlyRestAndLoadGiveOne) {
  auto p = sample::h200_run();
  EXPECT_DOUBLE_EQ(row(p, "tensor.bf16", Basis::kBurst)->value, 805e12);      // not 823 on zeros
  EXPECT_DOUBLE_EQ(row(p, "tensor.bf16", Basis::kSustained)->value, 692e12);  // not the soak's
  const Ceiling* layers = row(p, "tensor.bf16", Basis::kModelShaped);
  ASSERT_NE(layers, nullptr);
  EXPECT_DOUBLE_EQ(layers->value, 665e12);  // not a single GEMM's 773
  EXPECT_EQ(layers->measurement, "gemm.model.bf16/load:sustained");
  EXPECT_DOUBLE_EQ(row(p, "tensor.bf16", Basis::kModelBurst)->value, 770e12);
  EXPECT_EQ(row(p, "tensor.bf16", Basis::kModelBurst) - row(p, "tensor.bf16", Basis::kSustained),
            1);
  EXPECT_EQ(layers - row(p, "tensor.bf16", Basis::kModelBurst), 1);

  find(p, "gemm.model.bf16/load:burst").reason = "a remark";
  find(p, "gemm.model.bf16/load:sustained").flags.implausible = true;
  p = sample::derived(p);
  EXPECT_EQ(row(p, "tensor.bf16", Basis::kModelBurst)->note,
            "a layer each of hidden size 4096 and 8192, 1024 tokens: all FLOPs over the time of "
            "all; a remark");
  EXPECT_EQ(row(p, "tensor.bf16", Basis::kModelShaped), nullptr);
}

TEST(Ceilings, OnlyTheMainKindOfFp8GivesOne) {
  // Only the accurate one exists.
  EXPECT_EQ(row(sample::h200_run(), "tensor.fp8", Basis::kBurst), nullptr);
  const auto p = run_with(all_of(with(sample::compute("gemm.fp8_e5m2", "burst", 1300e12, 1900e6)),
                                 with(sample::compute("gemm.fp8", "burst", 1200e12, 1900e6))));
  EXPECT_DOUBLE_EQ(row(p, "tensor.fp8", Basis::kBurst)->value, 1200e12);
  for (const Ceiling& c : p.ceilings) EXPECT_EQ(c.resource.find("fp8_"), std::string::npos);
}

TEST(Ceilings, Fp64WithoutTensorCoresRunsOnCudaCores) {
  auto p = run_with(with(sample::compute("gemm.fp64", "burst", 1e12, 1900e6)));
  EXPECT_NE(row(p, "tensor.fp64", Basis::kBurst), nullptr);
  EXPECT_EQ(row(p, "gemm.fp64", Basis::kTheoretical), nullptr);
  p.devices[0].compute_major = 8;
  p.devices[0].compute_minor = 6;
  p = sample::derived(p);
  EXPECT_EQ(row(p, "tensor.fp64", Basis::kBurst), nullptr);
  EXPECT_DOUBLE_EQ(row(p, "gemm.fp64", Basis::kBurst)->value, 1e12);
  EXPECT_DOUBLE_EQ(row(p, "gemm.fp64", Basis::kTheoretical)->value,
                   row(p, "cuda_core.fp64", Basis::kTheoretical)->value);
}

TEST(Ceilings, LeaveOutWhatIsNotSound) {
  const auto sustained_bf16 = [](const std::function<void(Measurement&)>& spoil) {
    const auto p = run_with(at("gemm.bf16/load:sustained", spoil));
    return row(p, "tensor.bf16", Basis::kSustained) != nullptr;
  };
  EXPECT_TRUE(sustained_bf16([](auto&) {}));
  EXPECT_FALSE(sustained_bf16([](auto& m) { m.flags.implausible = true; }));
  EXPECT_FALSE(sustained_bf16([](auto& m) { m.verified = false; }));
  EXPECT_FALSE(sustained_bf16([](auto& m) { m.status = Status::kError; }));
  EXPECT_FALSE(sustained_bf16([](auto& m) { m.value.reset(); }));
  EXPECT_TRUE(sustained_bf16([](auto& m) { m.verified.reset(); }));  // --no-verify
  EXPECT_TRUE(sustained_bf16([](auto& m) { m.flags.throttled = true; }));
}

// The changes leave no ceiling of this basis to one resource, and one to another.
TEST(Ceilings, LeaveOutWhatIsTooSmallOrNotKnown) {
  struct Case {
    sample::Change change;
    const char* none;
    const char* some;
    Basis basis;
  };
  const auto compute_capability = [](int major, int minor) {
    return gpu([=](DeviceFacts& d) {
      d.compute_major = major;
      d.compute_minor = minor;
    });
  };
  const Case cases[] = {
      // A footprint that was shrunk below its parameter.
      {each("hbm.read", [](auto& m) { m.work.bytes_read = 1535.0 * kMiB; }), "hbm.read",
       "hbm.write", Basis::kMeasured},
      // Copies that are only small or pageable.
      {[](Profile& p) {
         std::erase_if(p.measurements, [](const Measurement& m) {
           return m.id == "pcie.h2d.pinned" && *int_param(m.params, "bytes") >= (256 << 20);
         });
       },
       "pcie.h2d", "pcie.d2h", Basis::kMeasured},
      // An unknown architecture, and a share of it that is not known.
      {compute_capability(13, 0), "tensor.bf16", "pcie.h2d", Basis::kTheoretical},
      {compute_capability(8, 6), "tensor.bf16", "cuda_core.fp32", Basis::kTheoretical},
  };
  for (const auto& [change, none, some, basis] : cases) {
    const Profile p = run_with(change);
    EXPECT_EQ(row(p, none, basis), nullptr) << none;
    EXPECT_NE(row(p, some, basis), nullptr) << some << " beside " << none;
    EXPECT_EQ(row(p, none, Basis::kTheoretical) == nullptr, basis != Basis::kMeasured) << none;
  }
  const Profile unknown = run_with(compute_capability(13, 0));
  EXPECT_EQ(row(unknown, "tensor.bf16", Basis::kDatasheet), nullptr);
  EXPECT_NE(row(unknown, "tensor.bf16", Basis::kBurst), nullptr);
  // One launch each, as under a profiler.
  for (const Ceiling& ceiling : run_with(everywhere([](auto& m) { m.summary->n = 1; })).ceilings)
    EXPECT_TRUE(ceiling.measurement.empty());
}

TEST(Ceilings, ALinkNotReadUnderLoadCountsAtItsMaximum) {
  const auto p = run_with(gpu([](auto& d) {
    d.pcie.generation = 1;  // trained down while idle
    d.pcie_read_under_load = false;
  }));
  const Ceiling* link = row(p, "pcie.h2d", Basis::kTheoretical);
  EXPECT_NEAR(link->value, 63.0e9, 0.1e9);
  EXPECT_NE(link->note.find("not read under load"), std::string::npos);
}

TEST(Ceilings, OfTheHostAreTheBestThreadCount) {
  const auto p = sample::h200_run();
  const Ceiling* read = row(p, "memory.read", Basis::kMeasured, kHostDevice);
  ASSERT_NE(read, nullptr);
  EXPECT_DOUBLE_EQ(read->value, 680e9);
  EXPECT_EQ(read->measurement, "host.memory.read/threads:192");
  EXPECT_DOUBLE_EQ(row(p, "cpu.fp32", Basis::kMeasured, kHostDevice)->value, 17.8e12);
}

TEST(Ceilings, DevicesStayApart) {
  const auto p = run_with([](Profile& run) {
    run.devices.push_back(sample::h200());
    run.devices[1].uuid = "GPU-2";
    auto slow = find(run, "gemm.bf16/load:burst");
    slow.device = "GPU-2";
    slow.value = 700e12;
    run.measurements.push_back(slow);
  });
  EXPECT_DOUBLE_EQ(row(p, "tensor.bf16", Basis::kBurst)->value, 805e12);
  EXPECT_DOUBLE_EQ(row(p, "tensor.bf16", Basis::kBurst, "GPU-2")->value, 700e12);
}

TEST(Rooflines, RidgeIsComputeOverBandwidth) {
  const auto p = sample::h200_run();
  ASSERT_EQ(p.rooflines.size(), 2U);  // the GPU and the host
  const Roofline& gpu = p.rooflines[0];
  EXPECT_EQ(gpu.memory, (std::vector<std::string>{"hbm.read", "pcie.h2d"}));
  EXPECT_EQ(std::ranges::count(gpu.compute, "tensor.bf16"), 1);
  const auto ridge = std::ranges::find_if(gpu.ridge_points, [](const RidgePoint& r) {
    return r.compute == "tensor.bf16" && r.memory == "hbm.read" &&
           r.compute_basis == Basis::kSustained;
  });
  ASSERT_NE(ridge, gpu.ridge_points.end());
  EXPECT_NEAR(ridge->intensity, 692e12 / 4583e9, 1e-9);
  EXPECT_EQ(p.rooflines[1].device, kHostDevice);
}

TEST(Rooflines, HaveASlopeForEachLevelOfTheCaches) {
  const auto p = run_with([](Profile& run) {
    for (const auto& [id, params, rate] : std::vector<std::tuple<const char*, Params, double>>{
             {"shared.read", {}, 33.3e12},
             {"l1.read", {}, 33.1e12},
             {"l2.read", {{"percent_of_l2", 40}}, 9.5e12},
             {"l2.write", {{"percent_of_l2", 40}}, 4.7e12}})
      run.measurements.push_back(sample::measurement(id, params, Quantity::kByteRate, rate));
  });
  // The L1's slope stands for shared memory too; the most used memory comes first.
  EXPECT_EQ(p.rooflines[0].memory,
            (std::vector<std::string>{"hbm.read", "l2.read", "l1.read", "pcie.h2d"}));
  EXPECT_DOUBLE_EQ(row(p, "l1.read", Basis::kTheoretical)->value, 128 * 132 * 1980e6);
  EXPECT_DOUBLE_EQ(row(p, "shared.read", Basis::kTheoretical)->value, 128 * 132 * 1980e6);
  EXPECT_EQ(row(p, "l2.read", Basis::kTheoretical), nullptr);
}

TEST(Rooflines, DivideByMemoryAndNotByStorage) {
  Profile profile;
  for (const auto& [name, unit] :
       {std::pair("storage.read", "B/s"), {"memory.read", "B/s"}, {"cpu.fp32", "FLOP/s"}}) {
    profile.resources.push_back(resource(name));
    profile.ceilings.push_back({.device = std::string(kHostDevice),
                                .resource = name,
                                .basis = Basis::kMeasured,
                                .value = 1e9,
                                .unit = unit});
  }
  const std::vector<Roofline> rooflines = derive_rooflines(profile, {});
  ASSERT_EQ(rooflines.size(), 1U);
  EXPECT_EQ(rooflines[0].memory, (std::vector<std::string>{"memory.read", "storage.read"}));
}

TEST(Limits, ABoundThatIsNoPeakIsHeldAgainstFigures) {
  Benchmark benchmark;
  benchmark.id = "l2.read";
  benchmark.limit = only_bound(on_chip_bandwidth(), "not stated");
  EXPECT_FALSE(benchmark.limit.is_peak());
  const auto is_implausible = [&](double rate) {
    return implausible(sample::measurement("l2.read", {}, Quantity::kByteRate, rate),
                       sample::h200(), Benchmarks(&benchmark, 1));
  };
  EXPECT_FALSE(is_implausible(128 * 132 * 1980e6));
  EXPECT_TRUE(is_implausible(1.01 * 128 * 132 * 1980e6));
}

TEST(Rooflines, PointsAreIntensityAndRateOfTheSweep) {
  const auto points = sample::h200_run().rooflines[0].points;
  ASSERT_EQ(points.size(), 9U);  // without the point that has no arithmetic
  EXPECT_EQ(points[0].precision, "fp32");
  EXPECT_DOUBLE_EQ(points[0].intensity, 0.5);
  EXPECT_DOUBLE_EQ(points[0].flops_per_s, 2250e9);
  const auto p = run_with(
      at("roofline.sweep.fp32/fma_per_element:4", [](auto& m) { m.flags.implausible = true; }));
  EXPECT_EQ(p.rooflines[0].points.size(), 8U);
}

TEST(Ceilings, TheFasterInstructionGivesTheCeiling) {
  EXPECT_EQ(row(sample::h200_run(), "tensor.fp16_acc16", Basis::kTheoretical), nullptr);
  const auto p = run_with([](Profile& run) {
    for (const auto& [id, rate] : {std::pair("mma.sync.bf16", 650e12),
                                   {"mma.wgmma.bf16", 1020e12},
                                   {"mma.sync.fp64", 65e12},
                                   {"mma.wgmma.int8", 2040e12},
                                   {"mma.wgmma.fp16", 1010e12},
                                   {"mma.wgmma.fp16_acc16", 1030e12}}) {
      auto m = sample::measurement(id, {}, Quantity::kFlopRate, rate);
      m.summary->n = 6;
      run.measurements.push_back(m);
    }
  });
  const Ceiling* bf16 = row(p, "tensor.bf16", Basis::kInstruction);
  ASSERT_NE(bf16, nullptr);
  EXPECT_DOUBLE_EQ(bf16->value, 1020e12);
  EXPECT_EQ(bf16->measurement, "mma.wgmma.bf16");
  EXPECT_DOUBLE_EQ(row(p, "tensor.fp64", Basis::kInstruction)->value, 65e12);
  EXPECT_EQ(row(p, "tensor.int8", Basis::kInstruction)->unit, "OP/s");
  EXPECT_EQ(row(p, "tensor.tf32", Basis::kInstruction), nullptr);
  // FP16 sums are a resource of their own.
  EXPECT_DOUBLE_EQ(row(p, "tensor.fp16", Basis::kInstruction)->value, 1010e12);
  EXPECT_DOUBLE_EQ(row(p, "tensor.fp16_acc16", Basis::kInstruction)->value, 1030e12);
  EXPECT_DOUBLE_EQ(row(p, "tensor.fp16_acc16", Basis::kTheoretical)->value,
                   row(p, "tensor.fp16", Basis::kTheoretical)->value);
}

TEST(Rooflines, NeedAMemoryAndAComputeCeiling) {
  const auto p = run_with([](Profile& run) {
    std::erase_if(run.measurements, [](const Measurement& m) {
      return m.id.starts_with("hbm.") || m.id.starts_with("pcie.") || m.id.starts_with("host.fma");
    });
  });
  EXPECT_TRUE(p.rooflines.empty());
}

}  // namespace
}  // namespace peakline
