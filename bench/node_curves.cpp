#include "bench/node_curves.hpp"

#include "bench/question.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {
namespace {

// Pairs within this ratio are alike.
constexpr double kAlike = 1.01;

double value_of(const Measurement* m) { return *m->value; }

std::string pair_of(const Measurement& m) { return text_param(m.params, "pair").value_or(""); }

double median_of_pairs(const std::vector<const Measurement*>& pairs) {
  std::vector<double> values;
  for (const Measurement* m : pairs) values.push_back(*m->value);
  return median(values);
}

// The worst and the best pair, if they differ.
void add_range(const std::vector<const Measurement*>& pairs, bool least_is_worst,
               Figures& figures) {
  const auto [least, most] = std::ranges::minmax_element(pairs, {}, value_of);
  if (value_of(*most) <= kAlike * value_of(*least)) return;
  const Measurement &worst = least_is_worst ? **least : **most,
                    &best = least_is_worst ? **most : **least;
  figures.add("worst_pair", *worst.value, {{"pair", pair_of(worst)}});
  figures.add("best_pair", *best.value, {{"pair", pair_of(best)}});
}

// A GPU's rate beside all others, and its share of the rate alone.
struct Loaded {
  int gpu = 0;
  double rate = 0;
  std::optional<double> share = {};  // nullopt: the rate alone is not known
};

const DeviceFacts* facts_of(int gpu, const Profile& profile) {
  const auto found = std::ranges::find(profile.devices, gpu, &DeviceFacts::index);
  return found == profile.devices.end() ? nullptr : &*found;
}

// A point's rate while the other GPUs rest, else the ceiling of the GPU's own measurements.
std::optional<double> rate_alone(int gpu, const CurveView& curve, const AloneResource& resource) {
  for (const Measurement* m : curve.points)
    if (text_param(m->params, "beside") == "none" && first_gpu(m->params) == gpu) return *m->value;
  const DeviceFacts* const device = facts_of(gpu, *curve.profile);
  if (!resource || device == nullptr) return std::nullopt;
  const Ceiling* const row =
      find_ceiling(curve.profile->ceilings, device->uuid, resource(*device), Basis::kMeasured);
  return row == nullptr ? std::nullopt : std::optional(row->value);
}

std::vector<Loaded> loaded_gpus(const CurveView& curve, const AloneResource& resource) {
  std::vector<Loaded> loaded;
  for (const Measurement* m : curve.points) {
    if (text_param(m->params, "beside") != "all") continue;
    Loaded& gpu = loaded.emplace_back(*first_gpu(m->params), *m->value);
    if (const auto alone = rate_alone(gpu.gpu, curve, resource)) gpu.share = gpu.rate / *alone;
  }
  return loaded;
}

double median_share(const std::vector<Loaded>& loaded) {
  std::vector<double> shares;
  for (const Loaded& gpu : loaded) shares.push_back(*gpu.share);
  return median(shares);
}

}  // namespace

CurveRule pair_rate_curve(std::string topic) {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    const auto sizes = sweep(curve, "bytes");
    if (sizes.empty()) return;
    std::vector<const Measurement*> largest;
    std::vector<CurvePoint> of_one_pair;
    const std::string pair = pair_of(*sizes.front().m);
    for (const CurvePoint& point : sizes) {
      if (point.x == sizes.back().x) largest.push_back(point.m);
      if (pair_of(*point.m) == pair) of_one_pair.push_back(point);
    }
    figures.add("rate", median_of_pairs(largest));
    figures.add("slowest_rate", value_of(*std::ranges::min_element(largest, {}, value_of)));
    add_range(largest, true, figures);
    const auto half = std::ranges::find_if(of_one_pair, [&](const CurvePoint& point) {
      return value_of(point.m) >= value_of(of_one_pair.back().m) / 2;
    });
    if (half != of_one_pair.begin() && half != of_one_pair.end()) figures.add("half_rate", half->x);
  };
  return {std::move(topic),
          {{"rate", "B/s"},
           {"slowest_rate", "B/s"},
           {"half_rate", "B"},
           {"worst_pair", "B/s", {"pair"}},
           {"best_pair", "B/s", {"pair"}}},
          summarize};
}

CurveRule pair_time_curve(std::string topic) {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    figures.add("time", median_of_pairs(curve.points));
    add_range(curve.points, false, figures);
  };
  return {std::move(topic),
          {{"time", "s"}, {"worst_pair", "s", {"pair"}}, {"best_pair", "s", {"pair"}}},
          summarize};
}

CurveRule concurrent_curve(std::string topic, Quantity quantity, const AloneResource& alone) {
  const auto summarize = [=](const CurveView& curve, Figures& figures) {
    std::vector<Loaded> loaded = loaded_gpus(curve, alone);
    if (loaded.size() < 2) return;
    double total = 0;
    for (const Loaded& gpu : loaded) total += gpu.rate;
    figures.add("total", total);
    for (const Loaded& gpu : loaded) {
      const Params by = {{"gpu", std::int64_t{gpu.gpu}}};
      figures.add("rate_of_gpu", gpu.rate, by);
      if (gpu.share) figures.add("kept", *gpu.share, by);
    }
    std::erase_if(loaded, [](const Loaded& gpu) { return !gpu.share; });
    if (loaded.empty()) return;
    figures.add("share_of_alone", median_share(loaded));
    figures.add("least_share_of_alone",
                *std::ranges::min_element(loaded, {}, &Loaded::share)->share);
  };
  const std::string unit(unit_of(quantity));
  return {std::move(topic),
          {{"total", unit},
           {"rate_of_gpu", unit, {"gpu"}},
           {"kept", unit::kShare, {"gpu"}},
           {"share_of_alone", unit::kShare},
           {"least_share_of_alone", unit::kShare}},
          summarize};
}

}  // namespace peakline::bench
