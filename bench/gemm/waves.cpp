// What does a partial last wave of tiles cost?

#include "bench/gemm/shapes.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

// Measures with a kernel whose tiles have `tile_m` rows; `wave_tiles` of them along M are one wave.
void gemm_waves(CudaBench& bench, std::string_view format, std::int64_t tile_m,
                std::int64_t wave_tiles);

namespace {

constexpr const char* kTopic = "waves";

// M grows tile by tile of one kernel; N is chosen so that kWaveTiles tiles along M are one wave.
constexpr std::int64_t kTileM = 128;
constexpr std::int64_t kWaveTiles = 12;
// Tiles along M: dense around one, two and three waves.
constexpr std::array<std::int64_t, 14> kTilesAlongM = {4,  8,  11, 12, 13, 16, 20,
                                                       23, 24, 25, 30, 35, 36, 37};

std::vector<Point> wave_points() {
  std::vector<Point> points;
  for (const char* kernel : {"fixed", "best"})
    for (const std::int64_t tiles : kTilesAlongM)
      points.emplace_back(kWarm).params = {{"m", tiles * kTileM}, {"kernel", kernel}};
  return points;
}

// A product of the sweep's fixed kernel.
struct WavePoint {
  const Measurement* m = nullptr;
  double waves = 0;  // how many times its tiles, in whole clusters, fill the SMs
  double work = 0;   // likewise, only tiles that have work
  double ideal = 0;  // share of SM time spent on tiles with work, if all tiles take equally long
};

std::vector<WavePoint> waves_of(const CurveView& curve) {
  std::vector<WavePoint> points;
  if (curve.device == nullptr || curve.device->sm_count.value_or(0) <= 0) return points;
  const double sms = *curve.device->sm_count;
  for (const CurvePoint& point : sweep_where(curve, "m", "kernel", ParamValue("fixed"))) {
    const auto noted = [&](const char* name) {
      return static_cast<double>(int_param(point.m->launch, name).value_or(0));
    };
    const double waves = noted("tiles") / sms, tile = noted("tile_m") * noted("tile_n");
    if (waves <= 0 || tile <= 0) continue;
    const double work = point.x * noted("n") / tile / sms;
    points.push_back({point.m, waves, work, work / std::ceil(waves)});
  }
  return points;
}

// The ideal sawtooth, and the measured one scaled to meet it where it is highest.
void note_sawtooth(const std::vector<WavePoint>& points, Figures& figures) {
  const auto fullest = std::ranges::max_element(points, {}, &WavePoint::ideal);
  for (const WavePoint& point : points) {
    const auto m = *int_param(point.m->params, "m");
    figures.add("ideal_share", point.ideal, {{"m", m}});
    if (const auto share = share_per_clock(*point.m, *fullest->m))
      figures.add("share_of_full_waves", *share * fullest->ideal, {{"m", m}});
  }
}

void summarize_waves(const CurveView& curve, Figures& figures) {
  const std::vector<WavePoint> points = waves_of(curve);
  const WavePoint* edge = nullptr;  // last point before the deepest fall
  double deepest = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    if (std::ceil(points[i + 1].waves) <= std::ceil(points[i].waves)) continue;
    const auto share = share_per_clock(*points[i + 1].m, *points[i].m);
    if (!share || (edge != nullptr && *share >= deepest)) continue;
    deepest = *share;
    edge = &points[i];
  }
  if (edge == nullptr) return;
  note_sawtooth(points, figures);
  const WavePoint& beyond = *(edge + 1);
  figures.add("waves_before", edge->work);
  figures.add("waves_after", beyond.work);
  figures.add("share_past_edge", deepest);
  figures.add("ideal_share_past_edge", beyond.ideal / edge->ideal);
  const Measurement* best =
      single(curve, {{"m", *int_param(beyond.m->params, "m")}, {"kernel", "best"}});
  const auto best_share =
      best != nullptr ? share_per_clock(*best, *edge->m) : std::optional<double>();
  if (best_share) figures.add("best_share_past_edge", *best_share);
}

std::string waves_title(const TitleView& view) {
  return fmt::format("Just past a full wave one kernel runs at {} of its rate, the best one at {}",
                     format_percent(view.value({.name = "share_past_edge"})),
                     format_percent(view.value({.name = "best_share_past_edge"})));
}

}  // namespace

void register_gemm_waves(Registry& registry) {
  add_sweep(registry, {"waves",
                       "bf16",
                       "Throughput of products whose tiles fill the SMs once, twice or three "
                       "times, or slightly more",
                       on_gpu([](auto& bench) { gemm_waves(bench, "bf16", kTileM, kWaveTiles); }),
                       wave_points(),
                       {{kTopic,
                         {{"ideal_share", unit::kShare, {"m"}},
                          {"share_of_full_waves", unit::kShare, {"m"}},
                          {"waves_before", unit::kCount},
                          {"waves_after", unit::kCount},
                          {"share_past_edge", unit::kShare},
                          {"ideal_share_past_edge", unit::kShare},
                          {"best_share_past_edge", unit::kShare}},
                         summarize_waves}},
                       {},
                       {{kTopic, waves_title}},
                       2});
}

}  // namespace peakline::bench
