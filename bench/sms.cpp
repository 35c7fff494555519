// How many SMs does it take to reach the rates of memory, the L2, NVLinks and GEMMs? Whoever
// keeps SMs for communication, or shares a GPU, asks.

#include "bench/gemm/formats.hpp"
#include "bench/pairs.hpp"
#include "bench/question.hpp"
#include "harness/values/device_view.hpp"

namespace peakline::bench {

void sms_hbm(CudaBench& bench);
void sms_l2(CudaBench& bench);
void sms_gemm(CudaBench& bench);
void sms_link(NodeBench& bench, bool reads);

namespace {

constexpr const char *kTopic = "some of the SMs", *kLinkTopic = "some of the SMs on links";

// Dense where memory saturates; the last point has all SMs, however many those are.
constexpr std::array<std::int64_t, 12> kSms{1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112};
// A product on less takes too long.
constexpr std::int64_t kFewestOfProducts = 8;
// On so many, products stay below the power limit of an H200.
constexpr std::int64_t kMostByShortLoads = 48;
// Nearer to the highest rate, a fraction of a percent would decide how many SMs it takes.
constexpr std::int64_t kBend = 95;
constexpr std::array<std::int64_t, 3> kPercents{50, 90, kBend};

std::vector<Point> points(std::int64_t fewest, const Point& like) {
  std::vector<ParamValue> sms;
  for (const std::int64_t count : kSms)
    if (count >= fewest) sms.emplace_back(count);
  sms.emplace_back("all");
  return points_over("sms", sms, like);
}

// Short loads, and the many SMs once more under one in which power control has settled: short ones
// there differ by a tenth from run to run. 64 and 80 have no such load: at full voltage they heat
// their part of the chip by 4 to 8 degrees more than all SMs do, and a card with little cooling
// then slows down.
std::vector<Point> points_of_products() {
  constexpr double kLoadSeconds = 1;
  std::vector<Point> all = points(kFewestOfProducts, {.phase = Phase::kWarm, .seconds = 0.2});
  for (Point& point : points_over({{"sms", {96, 112, "all"}}, {"load", {"sustained"}}},
                                  {.phase = Phase::kSustained,
                                  .timing = Timing::kSustained,
                                  .seconds = kLoadSeconds + 0.5,
                                  .load_s = kLoadSeconds}))
    all.push_back(std::move(point));
  return all;
}

bool under_load(const Measurement& m) { return text_param(m.params, "load").has_value(); }

// Whether the figures take the point: with loads, short ones of many SMs do not count.
bool counts(const Measurement& m, std::int64_t sms, bool with_loads) {
  return !with_loads || sms <= kMostByShortLoads || under_load(m);
}

// By number of SMs the rate, and its share of the highest steady one here; the SMs for some shares;
// what that highest rate is of the ceiling. ceiling: empty: none.
void summarize(const char* ceiling, const CurveView& curve, Figures& figures) {
  std::vector<Amount> steady;
  const bool with_loads =
      std::ranges::any_of(curve.points, [](const Measurement* m) { return under_load(*m); });
  for (const Measurement* m : curve.points) {
    const auto sms = int_param(m->launch, "sms");
    if (!sms || !counts(*m, *sms, with_loads)) continue;
    figures.add("rate", *m->value, {{"sms", *sms}});
    if (!m->flags.unstable) steady.push_back({static_cast<double>(*sms), *m->value});
  }
  if (steady.size() < 2) return;
  const double best = std::ranges::max(steady, {}, &Amount::rate).rate;
  for (const auto& [sms, rate] : steady)
    figures.add("share_of_best", rate / best, {{"sms", std::llround(sms)}});
  for (const std::int64_t percent : kPercents)
    if (const auto sms = amount_for(steady, static_cast<double>(percent) / 100 * best))
      figures.add("sms_for", std::ceil(*sms), {{"percent", percent}});
  if (const auto whole = curve.ceiling(ceiling, Basis::kMeasured))
    figures.add("best_share_of_ceiling", best / *whole);
}

CurveRule curve(const char* topic, Quantity quantity, const char* ceiling = "") {
  return {
      topic,
      {{"rate", std::string(unit_of(quantity)), {"sms"}},
       {"share_of_best", unit::kShare, {"sms"}},
       {"sms_for", unit::kCount, {"percent"}},
       {"best_share_of_ceiling", unit::kShare}},
      [ceiling](const CurveView& view, Figures& figures) { summarize(ceiling, view, figures); }};
}

std::string title(const TitleView& view) {
  const auto sms_for = [&](const char* id) {
    const Figure* sms = view.find({.id = id, .name = "sms_for", .by = {{"percent", kBend}}});
    return sms == nullptr ? std::nullopt : std::optional(sms->value);
  };
  const auto memory = sms_for("sms.hbm");
  if (!memory || !view.facts->sm_count) throw Missing();
  const int sms = *view.facts->sm_count;
  std::vector<std::string> parts;
  const auto add = [&](const char* what, double taken) {
    parts.push_back(fmt::format("{:.0f} before {} {}", sms - taken, what,
                                parts.empty() ? fmt::format("lose {} %", 100 - kBend) : "do"));
  };
  const auto gemm = sms_for("sms.gemm");
  if (gemm) add("BF16 GEMMs", *gemm);
  add("reads of device memory", *memory);
  if (const auto l2 = sms_for("sms.l2")) add("reads of the L2", *l2);
  const bool repeats = !gemm || std::ranges::any_of(view.view.measurements, [](const auto* m) {
    return m->id == "sms.gemm" && under_load(*m);
  });
  return fmt::format("Communication can take so many of {} SMs: {}{}", sms, joined(parts),
                     repeats ? "" : "; GEMMs by short loads, which differ by a tenth between runs");
}

Picture picture() {
  return {
      .key = "sms",
      .subject = "Some of the SMs: what the others leave",
      .how =
          "A kernel with one block on each of so many SMs reads device memory or the L2, and "
          "GEMMs run on a partition of so many, of many SMs under sustained load. 100 % is the "
          "highest steady rate of the same kernel, which may be below the ceiling: several "
          "blocks on an SM get further. Points that varied have no share. SMs beyond those that "
          "95 % takes are nearly free for communication.",
      .panels = {{.over = "sms",
                  .x = {.label = "SMs at work", .written = Written::kInteger, .low = 0},
                  .y = percent_axis("% of the kernel's highest rate", 100),
                  .series = {{"memory", {.id = "sms.hbm", .figure = "share_of_best"}},
                             {"L2", {.id = "sms.l2", .figure = "share_of_best"}},
                             {"GEMM", {.id = "sms.gemm", .figure = "share_of_best"}}},
                  .marks = {{.label = "95 %", .value = kBend / 100.0}}}}};
}

std::string link_title(const TitleView& view) {
  const auto most = [&](const char* id) {
    return view.value({.id = id, .name = "sms_for", .by = {{"percent", kBend}}});
  };
  return fmt::format("{} % of a link's rate takes {:.0f} SMs that read, or {:.0f} that write",
                     kBend, most("sms.link_read"), most("sms.link_write"));
}

}  // namespace

void register_sms(Registry& registry) {
  constexpr double kSeconds = 0.1;
  registry.add({.id = "sms.hbm",
                .what = "Device memory read bandwidth, by the number of SMs that read",
                .work = "bytes read",
                .quantity = Quantity::kByteRate,
                .limit = device_memory_bandwidth(),
                .curves = {curve(kTopic, Quantity::kByteRate, "hbm.read")},
                .topics = {{kTopic, title, picture()}},
                .points = points(1, {.seconds = kSeconds})},
               on_gpu([](auto& bench) { sms_hbm(bench); }));
  registry.add({.id = "sms.l2",
                .what = "L2 read bandwidth, past the L1, by the number of SMs that read",
                .work = "bytes read by threads",
                .quantity = Quantity::kByteRate,
                .limit = only_bound(on_chip_bandwidth(), "NVIDIA states no bandwidth of the L2"),
                .curves = {curve(kTopic, Quantity::kByteRate, "l2.read")},
                .points = points(1, {.seconds = kSeconds})},
               on_gpu([](auto& bench) { sms_l2(bench); }));
  registry.add({.id = "sms.gemm",
                .what = "Throughput of BF16 matrix products, by the number of SMs that run them",
                .work = "2 x M x N x K FLOP per product",
                .quantity = Quantity::kFlopRate,
                .loads = Loads::kCores,
                .varies_with = VariesWith::kSearch,
                .limit = limit_of(product_format("bf16")),
                .curves = {curve(kTopic, Quantity::kFlopRate)},
                .points = points_of_products()},
               on_gpu([](auto& bench) { sms_gemm(bench); }));
}

void register_sms_on_links(Registry& registry, const std::vector<int>& gpus) {
  std::vector<Point> of_first_pair =
      points(1, {.phase = Phase::kNode, .seconds = 0.05, .gpus = {gpus[0], gpus[1]}});
  for (Point& point : of_first_pair)
    point.params.insert(point.params.begin(), {"pair", pair_name({gpus[0], gpus[1]})});
  const auto add = [&](const char* id, const char* what, bool reads, std::vector<Topic> topics) {
    registry.add({.id = id,
                  .what = what,
                  .work = "bytes over the link, counted once",
                  .quantity = Quantity::kByteRate,
                  .loads = Loads::kLink,
                  .limit = peer_link(1),
                  .curves = {curve(kLinkTopic, Quantity::kByteRate)},
                  .topics = std::move(topics),
                  .points = of_first_pair},
                 on_node([reads](auto& bench) { sms_link(bench, reads); }));
  };
  add("sms.link_read",
      "Bandwidth of reads from another GPU by a kernel, by the number of SMs that read", true,
      {{kLinkTopic, link_title}});
  add("sms.link_write",
      "Bandwidth of writes to another GPU by a kernel, by the number of SMs that write", false, {});
}

}  // namespace peakline::bench
