#include "harness/conclude/ceilings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "harness/conclude/limits.hpp"
#include "harness/statistics/statistics.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

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

TEST(Ceilings, ASoakGivesNoneAndRemarksAreKept) {
  auto p = sample::h200_run();
  EXPECT_DOUBLE_EQ(row(p, "tensor.bf16", Basis::kSustained)->value, 692e12);  // not the soak's
  find(p, "gemm.model.bf16/load:burst").reason = "a remark";
  find(p, "gemm.model.bf16/load:sustained").flags.implausible = true;
  p = sample::derived(p);
  EXPECT_EQ(row(p, "tensor.bf16", Basis::kModelBurst)->note,
            "a layer each of hidden size 4096 and 8192, 1024 tokens: all FLOPs over the time of "
            "all; a remark");
  EXPECT_EQ(row(p, "tensor.bf16", Basis::kModelShaped), nullptr);
}

TEST(Ceilings, Fp64WithoutTensorCoresRunsOnCudaCores) {
  Measurement gemm =
      sample::measurement("gemm.fp64", {{"load", std::string("burst")}}, Quantity::kFlopRate, 1e12);
  gemm.conditions.sm_clock_hz = 1900e6;
  auto p = run_with(with(gemm));
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

TEST(Ceilings, NvlinkC2cWithoutItsRateHasNoTheory) {
  const auto p = run_with(gpu([](auto& d) {
    d.c2c = C2cLinks{};
    d.pcie = {};
    d.pcie_read_under_load = false;
  }));
  EXPECT_NE(row(p, "c2c.h2d", Basis::kMeasured), nullptr);
  EXPECT_EQ(row(p, "c2c.h2d", Basis::kTheoretical), nullptr);
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
