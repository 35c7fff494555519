// How many SMs does it take to reach the rates of memory, the L2, NVLinks and GEMMs? Whoever
// keeps SMs for communication, or shares a GPU, asks.

#include "bench/gemm/formats.hpp"
#include "bench/p2p/links.hpp"
#include "bench/pairs.hpp"
#include "bench/question.hpp"

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
constexpr std::array<std::int64_t, 2> kPercents{50, 90};
constexpr double kSureOf = 0.95;

std::vector<Point> points(std::int64_t fewest, const Point& like) {
  std::vector<ParamValue> sms;
  for (const std::int64_t count : kSms)
    if (count >= fewest) sms.emplace_back(count);
  sms.emplace_back("all");
  return points_over("sms", sms, like);
}

// Rate by number of SMs, its share of the ceiling, without one of the rate of all SMs, and the SMs
// for some shares. ceiling: empty: none.
void summarize(const char* ceiling, const CurveView& curve, Figures& figures) {
  std::vector<Amount> rates;
  const Measurement* all = nullptr;
  for (const Measurement* m : curve.points) {
    if (const auto sms = int_param(m->launch, "sms"))
      rates.push_back({static_cast<double>(*sms), *m->value});
    if (text_param(m->params, "sms")) all = m;
  }
  auto whole = curve.ceiling(ceiling, Basis::kMeasured);
  if (!whole && all != nullptr) whole = *all->value;
  if (!whole || rates.empty()) return;
  for (const auto& [sms, rate] : rates) {
    const Params by = {{"sms", std::llround(sms)}};
    figures.add("rate", rate, by);
    figures.add("share_of_all_sms", rate / *whole, by);
  }
  // Near the highest rate here, a fraction of a percent decides how many SMs it takes.
  const double highest = kSureOf * std::ranges::max(rates, {}, &Amount::rate).rate;
  for (const std::int64_t percent : kPercents) {
    const double wanted = static_cast<double>(percent) / 100 * *whole;
    if (wanted > highest) continue;
    if (const auto sms = amount_for(rates, wanted))
      figures.add("sms_for", *sms, {{"percent", percent}});
  }
}

CurveRule curve(const char* topic, Quantity quantity, const char* ceiling = "") {
  return {
      topic,
      {{"rate", std::string(unit_of(quantity)), {"sms"}},
       {"share_of_all_sms", unit::kShare, {"sms"}},
       {"sms_for", unit::kCount, {"percent"}}},
      [ceiling](const CurveView& view, Figures& figures) { summarize(ceiling, view, figures); }};
}

std::string title(const TitleView& view) {
  const auto sms_for = [&](const char* id, std::int64_t percent) {
    return view.find({.id = id, .name = "sms_for", .by = {{"percent", percent}}});
  };
  const Figure *half = sms_for("sms.hbm", 50), *most = sms_for("sms.hbm", 90);
  if (half == nullptr || !view.facts->sm_count) throw Missing();
  std::string text = fmt::format("Half of the memory's read rate takes {:.0f} of {} SMs",
                                 half->value, *view.facts->sm_count);
  // Other kernels have several blocks on an SM, and get further.
  if (most != nullptr)
    text += fmt::format(", 90 % of it {:.0f}", most->value);
  else
    text += "; one block on each does not surely reach 90 % of it";
  if (const Figure* l2 = sms_for("sms.l2", 90))
    text += fmt::format("; 90 % of the L2's rate takes {:.0f}", l2->value);
  if (const Figure* gemm = sms_for("sms.gemm", 90))
    text += fmt::format(", of a BF16 GEMM's {:.0f}", gemm->value);
  return text;
}

Picture picture() {
  return {.key = "sms",
          .subject = "Some of the SMs: what the others leave",
          .how =
              "A kernel with one block on each of so many SMs reads device memory or the L2, and "
              "GEMMs run on a partition of so many. What a line has reached, more SMs cannot add: "
              "those beyond the bend are free for communication.",
          .panels = {{.over = "sms",
                      .x = {.label = "SMs at work", .written = Written::kInteger, .low = 0},
                      .y = percent_axis("% of the best rate measured", 100),
                      .series = {{"memory", {.id = "sms.hbm", .figure = "share_of_all_sms"}},
                                 {"L2", {.id = "sms.l2", .figure = "share_of_all_sms"}},
                                 {"GEMM", {.id = "sms.gemm", .figure = "share_of_all_sms"}}},
                      .marks = {{.label = "90 %", .value = 0.9}}}}};
}

std::string link_title(const TitleView& view) {
  const auto most = [&](const char* id) {
    return view.value({.id = id, .name = "sms_for", .by = {{"percent", std::int64_t{90}}}});
  };
  return fmt::format("90 % of a link's rate takes {:.0f} SMs that read, or {:.0f} that write",
                     most("sms.link_read"), most("sms.link_write"));
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
                .points = points(kFewestOfProducts, {.phase = Phase::kWarm, .seconds = 0.2})},
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
