// The promises of verdicts, case by case, on real cards and on the same cards with faults.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "harness/judge/check.hpp"
#include "harness/judge/compare.hpp"
#include "harness/judge/fleet.hpp"
#include "harness/judge/population.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/show/check.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using testing::HasSubstr;

Profile h100(const std::string& file = "s-full1") {
  Profile profile = read_profile(
      PEAKLINE_SOURCE_DIR "/reports/reference/cards/nvidia-h100-80gb-hbm3/" + file + ".json.gz");
  // A warm room is a warning by itself.
  std::erase_if(profile.findings, [](const Finding& f) { return f.code == "thermal_limit"; });
  for (Measurement& m : profile.measurements)
    if (thermally_limited(m.conditions)) m.conditions.throttle_reasons.clear();
  return profile;
}

std::vector<Population> known(const std::function<bool(const Population&)>& which) {
  std::vector<Population> some;
  for (const Population& p : bundled_populations())
    if (which(p)) some.push_back(p);
  return some;
}
std::vector<Population> without(std::string_view model) {
  return known([&](const Population& p) { return p.facts.model.find(model) == std::string::npos; });
}

struct Answer {
  Outcome verdict;
  std::string line, all;
};
Answer judged(const Profile& profile, const std::vector<Population>& populations,
              std::optional<int> gpus = {}) {
  const CheckResult result =
      check(profile, {.populations = populations, .donors = populations, .gpus = gpus});
  Checks checks{.files = {{"a.json", result}}, .source = "here"};
  return {result.verdict(), terminal_text(check_line(checks), false),
          check_text(checks, false, {})};
}
Answer judged(const Profile& profile, std::optional<int> gpus = {}) {
  return judged(profile, bundled_populations(), gpus);
}

void scale(Profile& profile, double factor, std::string_view resource = "",
           std::string_view device = "") {
  sample::scale(profile, factor, [&](const Ceiling& row) {
    return row.resource.starts_with(resource) && (device.empty() || row.device == device);
  });
}

void scale_points(Profile& profile, double factor, std::string_view id) {
  for (Measurement& m : profile.measurements)
    if (m.id == id && m.value) *m.value *= factor;
}

TEST(Acceptance, HealthyCardsPassWhereSomethingIsKnown) {
  for (const char* file : {"s-full1", "s-quick1", "x-full1", "x-quick3"})
    EXPECT_EQ(judged(h100(file)).verdict, Outcome::kPass) << judged(h100(file)).all;
  EXPECT_EQ(judged(sample::reference()).line,
            "PASS  gpu0, NVIDIA H200: memory, compute, Tensor Cores, PCIe, health (--gpus N also "
            "checks that none is missing)\n");
  // Another model is enough to know.
  const Answer found = judged(h100(), without("H100"));
  EXPECT_EQ(found.verdict, Outcome::kPass) << found.all;
  EXPECT_THAT(found.line, HasSubstr("(by NVIDIA H200 shares)"));
  EXPECT_EQ(judged(sample::reference(), without("H200")).verdict, Outcome::kPass);
  // Rows that no clock explains are not judged.
  EXPECT_EQ(judged(h100("s-full2-at-1995-mhz")).verdict, Outcome::kCannotJudge);
  // Nor is a healthy model of which nothing is known.
  EXPECT_EQ(judged(h100(), std::vector<Population>()).line,
            "CANNOT JUDGE  gpu0 (H100): memory, compute, Tensor Cores, PCIe not "
            "judged: none below its floor\n");
}

TEST(Acceptance, LossesFailWhateverIsKnown) {
  Profile slow = h100("x-quick1");
  scale(slow, 0.5);
  std::vector<Population> one = known([](const Population& p) { return p.mode == "quick"; });
  for (Population& p : one) {
    p.cards = p.runs = 1;
    for (PopulationFigure& f : p.figures) f.cards = f.runs = 1;
  }
  for (const auto& populations : {one, without("H100"), std::vector<Population>()})
    EXPECT_EQ(judged(slow, populations).verdict, Outcome::kFail);
  slow = h100();
  scale(slow, 0.92, "hbm");
  EXPECT_EQ(judged(slow, without("H100")).verdict, Outcome::kFail);
}

TEST(Acceptance, LinksBetweenGpusAreJudged) {
  for (const Profile& pair :
       {sample::reference("nvidia-h200-x2"), h100("vw-full1"), h100("tu-quick1")}) {
    EXPECT_EQ(judged(pair).verdict, Outcome::kPass) << judged(pair).all;
    EXPECT_THAT(judged(pair).line, HasSubstr("PCIe, NVLink, health"));
    Profile slow = pair;
    scale(slow, 0.5, "", kNodeDevice);
    EXPECT_EQ(judged(slow).verdict, Outcome::kFail);
    EXPECT_THAT(judged(slow).all, HasSubstr("node/nvlink.read/measured"));
    EXPECT_THAT(judged(slow).all, HasSubstr("node/nccl."));
    Profile late = pair;
    scale_points(late, 1.1, "p2p.latency");
    EXPECT_EQ(judged(late).verdict, Outcome::kFail);
    EXPECT_THAT(judged(late).line,
                testing::ContainsRegex("loads from another GPU, one after another [89][.]"));
    Profile fewer = pair;
    for (int link = 0; link < 9; ++link) fewer.devices[0].nvlinks.down.push_back(link);
    EXPECT_EQ(judged(fewer).verdict, Outcome::kFail);
    EXPECT_THAT(judged(fewer).line, HasSubstr("NVLinks that are up: 9"));
  }
}

TEST(Acceptance, AllGpusUnderLoadAreJudged) {
  for (const char* id : {"hbm.concurrent", "gemm.concurrent"}) {
    Profile slow = h100("vw-full1");
    scale_points(slow, 0.5, id);
    EXPECT_EQ(judged(slow).verdict, Outcome::kFail) << id;
    EXPECT_THAT(judged(slow).line,
                testing::ContainsRegex("all GPUs at once 50[.][0-9] % below healthy"));
  }
}

TEST(Acceptance, WrongResultsOfAllGpusTogetherFail) {
  for (const char* id : {"nccl.all_reduce", "p2p.all_to_all", "gemm.concurrent"}) {
    Profile wrong = h100("vw-full1");
    std::ranges::find(wrong.measurements, id, &Measurement::id)->verified = false;
    EXPECT_EQ(judged(wrong).verdict, Outcome::kFail) << id;
  }
}

TEST(Acceptance, BothDirectionsOfALinkAreJudged) {
  for (const char* direction :
       {"nvlink.read.1-0", "nvlink.write.0-1", "nvlink.bidirectional.0-1"}) {
    Profile lacking = h100("vw-full1");
    std::erase_if(lacking.ceilings, [&](const Ceiling& row) { return row.resource == direction; });
    EXPECT_EQ(judged(lacking).verdict, Outcome::kCannotJudge) << direction;
  }
}

TEST(Acceptance, ComparingWithoutNcclCannotJudgeIt) {
  const Profile before = h100("vw-full1");
  Profile after = before;
  for (Measurement& m : after.measurements) {
    if (!m.id.starts_with("nccl.")) continue;
    m.status = Status::kSkipped;
    m.reason = "NCCL was not found";
    m.value.reset();
    m.summary.reset();
    m.verified.reset();
  }
  for (Ceiling& row : after.ceilings)
    if (row.resource.starts_with("nccl.") && !row.measurement.empty())
      after.missing_ceilings.push_back({.device = row.device,
                                        .resource = row.resource,
                                        .basis = row.basis,
                                        .why = Absence::kSkipped,
                                        .reason = "skipped: NCCL was not found"});
  std::erase_if(after.ceilings,
                [](const Ceiling& row) { return row.resource.starts_with("nccl."); });
  const Gate found = compare({&before, 1}, {&after, 1}, {}).gate;
  EXPECT_EQ(verdict(found.reasons), Outcome::kCannotJudge);
  EXPECT_THAT(to_string(found.reasons.at(0).name), HasSubstr("node/nccl."));
}

// The sustained and instruction rates of a model that was not studied may scatter so much that a
// loss of 15 % would hide.
TEST(Acceptance, AGroupWithTooWideLimitsIsNotJudged) {
  const auto with_scatter = [](double scatter) {
    Profile p = sample::reference();
    p.devices[0].name = "NVIDIA H200 of another kind";
    for (Ceiling& row : p.ceilings)
      if (row.spread && row.resource.starts_with("tensor")) row.spread->within = scatter;
    return judged(p);
  };
  EXPECT_EQ(with_scatter(0.001).verdict, Outcome::kPass) << with_scatter(0.001).all;
  EXPECT_EQ(with_scatter(0.035).verdict, Outcome::kCannotJudge);
  EXPECT_THAT(with_scatter(0.035).all, HasSubstr("scatter so much that a loss of 15 % could hide"));
}

TEST(Acceptance, OtherGuestsOfAHostMaySlowWhatAllGpusCopy) {
  Profile shared = h100("vw-full1");
  EXPECT_EQ(judged(shared).verdict, Outcome::kPass);
  scale_points(shared, 0.5, "pcie.concurrent.h2d");
  EXPECT_EQ(judged(shared).verdict, Outcome::kWarn);
  EXPECT_THAT(judged(shared).line, HasSubstr("PCIe H2D with all GPUs at once"));
}

TEST(Acceptance, AMissingGpuFailsWhereTheirNumberIsGiven) {
  const Profile one = h100();
  EXPECT_EQ(judged(one, 2).verdict, Outcome::kFail);
  EXPECT_THAT(judged(one, 2).line, HasSubstr("1 of 2 GPUs measured"));
  EXPECT_THAT(judged(one).line, HasSubstr("(--gpus N also checks that none is missing)"));
  const CheckResult hidden =
      check(one, {.populations = bundled_populations(), .gpus = 2, .some_hidden = true});
  EXPECT_THAT(describe(*hidden.worst()), HasSubstr("CUDA_VISIBLE_DEVICES hides the rest"));
  EXPECT_THAT(judged(one, 1).line, testing::Not(HasSubstr("--gpus")));
}

TEST(Acceptance, WrongResultsFailDoubledCeilingsAreNotJudged) {
  Profile wrong = h100();
  const auto m = std::ranges::find(wrong.measurements, wrong.devices[0].uuid, &Measurement::device);
  m->verified = false;
  EXPECT_EQ(judged(wrong).verdict, Outcome::kFail);
  Profile doubled = h100();
  const Ceiling read = *std::ranges::find(doubled.ceilings, "hbm.read", &Ceiling::resource);
  doubled.ceilings.push_back(read);
  EXPECT_EQ(judged(doubled).verdict, Outcome::kCannotJudge);
}

TEST(Acceptance, TensorCoresThatWereNotMeasuredAreNamed) {
  Profile lacking = h100();
  std::erase_if(lacking.ceilings, [](const Ceiling& c) {
    return c.resource.starts_with("tensor") && !c.measurement.empty();
  });
  EXPECT_EQ(judged(lacking).verdict, Outcome::kCannotJudge);
  EXPECT_THAT(judged(lacking, without("H100")).line, HasSubstr("Tensor Cores not judged"));
  // Cut Tensor Cores have no documented peak, and other models say nothing about them.
  Profile cut = h100();
  cut.devices[0].name = "NVIDIA H20";
  scale(cut, 0.15, "tensor");
  std::erase_if(cut.ceilings, [](const Ceiling& c) { return c.basis == Basis::kDatasheet; });
  EXPECT_EQ(judged(cut, without("H100")).verdict, Outcome::kCannotJudge);
}

TEST(Acceptance, APoisonedReferenceIsNotTrusted) {
  Profile slow = h100();
  scale(slow, 0.5);
  std::vector<Population> planted = known([](const Population& p) { return p.mode == "full"; });
  for (Population& p : planted)
    for (PopulationFigure& f : p.figures)
      for (double* value : {&f.median, &f.lowest_state, &f.highest_state, &f.limit}) *value /= 2;
  const CheckResult result = check(slow, {.populations = planted, .donors = bundled_populations()});
  EXPECT_EQ(result.verdict(), Outcome::kFail);
}

TEST(Acceptance, AReferenceThatLacksTheCardsModeExcusesNothing) {
  Profile slow = h100();
  for (Ceiling& row : slow.ceilings)
    if (row.resource.starts_with("hbm.")) row.value *= 0.95;
  const std::vector<Population> quick =
      known([](const Population& p) { return p.mode == "quick"; });
  const CheckResult result = check(slow, {.populations = quick, .donors = bundled_populations()});
  EXPECT_EQ(result.verdict(), Outcome::kFail);
}

// A fleet of H100s: a real one and copies with its figures.
std::vector<FleetProfile> fleet_of(std::size_t count) {
  std::vector<FleetProfile> fleet;
  for (std::size_t i = 0; i < count; ++i) {
    Profile p = h100("x-quick1");
    sample::rename(p, p.devices[0].uuid, fmt::format("GPU-{:08}-1111-2222-3333-444444444444", i));
    fleet.push_back({.file = fmt::format("node{}.json", i), .profile = std::move(p)});
  }
  return fleet;
}

std::size_t failing(const Fleet& fleet) {
  std::size_t count = 0;
  for (const FleetMember& member : fleet.groups.at(0).members)
    count += member.verdict() == Outcome::kFail;
  return count;
}

TEST(Acceptance, AFleetOfSlowDevicesFailsWithAllOfThemNamed) {
  const auto models = without("H100");
  for (const std::vector<Population>& known : {bundled_populations(), models, {}}) {
    for (const std::size_t slow : {1U, 6U, 10U}) {
      auto fleet = fleet_of(10);
      for (std::size_t i = 0; i < slow; ++i) scale(fleet[i].profile, 0.5);
      const Fleet found = study_fleet(fleet, {.populations = known, .donors = known});
      EXPECT_EQ(found.verdict(), Outcome::kFail);
      EXPECT_EQ(failing(found), slow);
    }
    EXPECT_EQ(failing(study_fleet(fleet_of(10), {.populations = known, .donors = known})), 0U);
  }
}

TEST(Acceptance, AFleetHasAnErrorThatNoFigureShows) {
  auto fleet = fleet_of(5);
  fleet[3].profile.devices[0].after.remap_pending = true;
  const Fleet found = study_fleet(fleet, {});
  EXPECT_EQ(failing(found), 1U);
  EXPECT_EQ(found.faults().begin()->second, "health/remap_pending");
}

TEST(Acceptance, ASlowCardIsLeftOutOfAReference) {
  auto fleet = fleet_of(5);
  scale(fleet[2].profile, 0.95, "hbm");
  std::vector<const Profile*> profiles;
  for (const FleetProfile& each : fleet) profiles.push_back(&each.profile);
  const std::vector<Population> written =
      populations_of_gpus(profiles, {}, study_fleet(fleet, {}).faults());
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].cards, 4U);
  ASSERT_EQ(written[0].left_out.size(), 1U);
  EXPECT_THAT(text_of(written[0].left_out[0]), HasSubstr("hbm."));
  const PopulationFigure* read = find_figure(written[0], {"hbm.read"});
  ASSERT_NE(read, nullptr);
  EXPECT_GE(read->limit, 0.959 * read->median);
}

// Kept runs of a machine whose figures differ by 20 %, genuine or planted.
std::vector<Population> uneven_runs(const Profile& profile) {
  std::vector<Population> kept = populations_of_gpus(std::vector{&profile});
  for (Population& p : kept)
    for (PopulationFigure& f : p.figures) {
      f.runs = 9;
      f.between_runs = 0.2;
    }
  return kept;
}

TEST(Acceptance, RunsThatDifferWildlyExcuseNoLoss) {
  const Profile base = h100("x-quick1");
  Profile slow = h100("x-quick2");
  // Above the floor of memory; curves, which are judged by their class, stay.
  for (Ceiling& row : slow.ceilings)
    if (!row.measurement.empty() && row.resource.starts_with("hbm")) row.value *= 0.75;
  const std::vector<Population> kept = uneven_runs(base);
  const Gate open = compare({&base, 1}, {&slow, 1}, {.kept = kept}).gate;
  EXPECT_EQ(verdict(open.reasons), Outcome::kCannotJudge);
  EXPECT_NE(std::ranges::find(open.reasons, RuleKind::kUneven, &Judged::kind), open.reasons.end());
  const Gate known =
      compare({&base, 1}, {&slow, 1}, {.populations = bundled_populations(), .kept = kept}).gate;
  EXPECT_EQ(verdict(known.reasons), Outcome::kFail);
  // A healthy machine must not fail for its uneven runs.
  const Profile well = h100("x-quick2");
  EXPECT_NE(verdict(compare({&base, 1}, {&well, 1}, {.kept = kept}).gate.reasons), Outcome::kFail);
}

}  // namespace
}  // namespace peakline
