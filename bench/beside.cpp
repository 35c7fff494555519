// What do a kernel and a collective beside it cost each other?

#include "bench/beside.hpp"

#include "bench/gemm/formats.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void measure_beside(NodeBench& bench, const Beside& beside);

namespace {

constexpr const char *kTopic = "beside collectives", *kGemm = "beside.gemm";
constexpr std::array kBesides = {Collective::kAllReduce, Collective::kAllGather,
                                 Collective::kReduceScatter};
constexpr std::array<std::int64_t, 3> kCtas{4, 8, 16};
// Four periods, and what comes before.
constexpr double kSeconds = 0.65;
// The next run may swap numbers of thread blocks that are closer; the fewest of them count.
constexpr double kAlike = 1.04;

// A benchmark varies the collective, or the limit on the all-reduce's thread blocks; NCCL's choice
// of them is always there.
struct Varied {
  bool collectives = false, limits = false;
};

std::vector<Point> points(const Varied& varied, const std::vector<int>& gpus) {
  const Point like{.phase = Phase::kNodeLoad, .seconds = kSeconds, .gpus = gpus};
  std::vector<Point> points;
  for (const Collective collective : kBesides) {
    const bool first = collective == Collective::kAllReduce;
    if (!first && !varied.collectives) continue;
    std::vector<ParamValue> ctas = {"auto"};
    if (first && varied.limits) std::ranges::move(values_of(kCtas), std::back_inserter(ctas));
    std::ranges::move(
        points_over({{"collective", {std::string(to_string(collective))}}, {"ctas", ctas}}, like),
        std::back_inserter(points));
  }
  return points;
}

// How a measurement splits up; nullopt without its notes.
struct Costs {
  double load = 0, collective = 0;   // times as long as alone
  std::optional<double> clock = {};  // the part of the load's that its lower clock explains
  // Time of both at once over that of one after the other.
  double together() const { return 1 / (1 / load + 1 / collective); }
};

std::optional<Costs> costs_of(const Measurement& m) {
  const auto note = [&](const char* name) {
    return static_cast<double>(int_param(m.launch, name).value_or(0));
  };
  const double load_alone = note(kLoadAloneNs), load_beside = note(kLoadBesideNs),
               collective_alone = note(kCollectiveAloneNs),
               collective_beside = note(kCollectiveBesideNs);
  if (std::min({load_alone, load_beside, collective_alone, collective_beside}) <= 0)
    return std::nullopt;
  Costs costs{.load = load_beside / load_alone, .collective = collective_beside / collective_alone};
  const double clock_alone = note(kClockAloneHz), clock_beside = note(kClockBesideHz);
  if (std::min(clock_alone, clock_beside) > 0) costs.clock = clock_alone / clock_beside;
  return costs;
}

// is_gemm: its figures are those of the first screen.
CurveRule curve(bool is_gemm) {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    std::map<std::string, std::map<std::int64_t, double>> together;  // by collective and blocks
    for (const Measurement* m : curve.points) {
      const auto costs = costs_of(*m);
      const auto collective = text_param(m->params, "collective");
      if (!costs || !collective) continue;
      const auto limit = int_param(m->params, "ctas");
      const Params by = {{"collective", *collective},
                         {"ctas", limit ? ParamValue(*limit) : ParamValue("auto")}};
      figures.add("load", costs->load, by);
      figures.add("collective", costs->collective, by);
      figures.add("together", costs->together(), by);
      if (costs->clock) figures.add("by_clock", *costs->clock, by);
      const auto channels = limit ? limit : int_param(m->launch, "channels");
      if (!channels) continue;
      double& least = together[*collective].try_emplace(*channels, INFINITY).first->second;
      least = std::min(least, costs->together());
    }
    for (const auto& [collective, of] : together) {
      const auto share = [](const auto& one) { return one.second; };
      const double most = kAlike * std::ranges::min_element(of, {}, share)->second;
      const auto fewest =
          std::ranges::find_if(of, [&](const auto& one) { return one.second <= most; });
      if (of.size() > 1)
        figures.add("best_ctas", static_cast<double>(fewest->first), {{"collective", collective}});
    }
  };
  return {kTopic,
          {{.name = "load",
            .unit = unit::kFactor,
            .by = {"collective", "ctas"},
            .role = is_gemm ? role::kGemmBeside : ""},
           {.name = "collective",
            .unit = unit::kFactor,
            .by = {"collective", "ctas"},
            .role = is_gemm ? role::kCollectiveBeside : ""},
           {"together", unit::kShare, {"collective", "ctas"}},
           {"by_clock", unit::kFactor, {"collective", "ctas"}},
           {"best_ctas", unit::kCount, {"collective"}}},
          summarize};
}

std::string title(const TitleView& view) {
  const auto value = [&](const char* id, const char* name) {
    return view.value(
        {.id = id, .name = name, .by = {{"collective", "all_reduce"}, {"ctas", "auto"}}});
  };
  return fmt::format(
      "Beside an all-reduce a GEMM takes {:.2f} times as long, the all-reduce {:.2f} times; a copy "
      "of device memory {:.2f} and {:.2f} times",
      value(kGemm, "load"), value(kGemm, "collective"), value("beside.copy", "load"),
      value("beside.copy", "collective"));
}

Picture picture() {
  std::vector<PictureSeries> bars;
  int group = 0;
  for (const auto& [load, id] : {std::pair("GEMM", kGemm), std::pair("copy", "beside.copy")})
    for (const Collective collective : kBesides) {
      const std::string with(label_of(collective));
      const Params where = {{"collective", std::string(to_string(collective))}, {"ctas", "auto"}};
      bars.push_back({fmt::format("{} beside {}", load, with),
                      {.id = id, .figure = "load", .where = where},
                      "",
                      group});
      bars.push_back({fmt::format("{} beside {}", with, load),
                      {.id = id, .figure = "collective", .where = where},
                      "",
                      group++});
    }
  return {
      .key = "beside-collectives",
      .subject = "At the same time: what computing and communicating cost each other",
      .how =
          "Each GPU repeats BF16 GEMMs or copies of device memory while NCCL's collectives of "
          "256 MiB run between all GPUs. 1 is the time alone; a pair that takes twice as long each "
          "gains nothing over one after the other.",
      .panels = {{.kind = PanelKind::kBars,
                  .x = {.label = "times as long as alone", .low = 0},
                  .series = std::move(bars)}}};
}

}  // namespace

void register_beside(Registry& registry, const std::vector<int>& gpus) {
  const auto add = [&](const Beside& beside, const Varied& varied, Benchmark benchmark) {
    benchmark.varies_with = VariesWith::kCollectives;
    benchmark.curves = {curve(benchmark.id == kGemm)};
    benchmark.points = points(varied, gpus);
    if (beside.load == BesideLoad::kCopy) {
      benchmark.work = "bytes read and written by one GPU's copy";
      benchmark.quantity = Quantity::kByteRate;
      benchmark.limit = device_memory_bandwidth();
    } else {
      benchmark.work = "2 x M x N x K FLOP per product, of one GPU";
      benchmark.quantity = Quantity::kFlopRate;
      benchmark.loads = Loads::kCores;
      benchmark.limit = limit_of(product_format("bf16"));
    }
    registry.add(std::move(benchmark),
                 on_node([beside](auto& bench) { measure_beside(bench, beside); }));
  };
  add({BesideLoad::kGemm}, {.collectives = true, .limits = true},
      {.id = kGemm,
       .what = "BF16 products of all GPUs beside a collective of 256 MiB, by its thread blocks",
       .topics = {{kTopic, title, picture()}}});
  add({BesideLoad::kYieldingGemm}, {.limits = true},
      {.id = "beside.yielding_gemm",
       .what = "The same where the products are planned for the SMs that the collective leaves"});
  add({BesideLoad::kGemm, false}, {},
      {.id = "beside.gemm_as_urgent",
       .what = "The same where the collective has no priority over the products"});
  add({BesideLoad::kCopy}, {.collectives = true},
      {.id = "beside.copy",
       .what = "Copies of device memory by all GPUs beside a collective of 256 MiB"});
}

}  // namespace peakline::bench
