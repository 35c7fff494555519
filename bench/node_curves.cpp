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

// "393 GB/s", or "390 GB/s (3-5) to 396 GB/s" if pairs differ, with the worst one's name.
template <class Format>
std::string range_of(const std::vector<const Measurement*>& pairs, bool least_is_worst,
                     Format format) {
  const auto [least, most] = std::ranges::minmax_element(pairs, {}, value_of);
  if (value_of(*most) <= kAlike * value_of(*least))
    return format(median_of_pairs(pairs)) +
           (pairs.size() > 2 ? fmt::format(" in all {} pairs", pairs.size()) : std::string());
  const Measurement& worst = least_is_worst ? **least : **most;
  const Measurement& best = least_is_worst ? **most : **least;
  return fmt::format("{} ({}) to {}", format(*worst.value), pair_of(worst), format(*best.value));
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

std::vector<std::vector<Loaded>> grouped(const std::vector<Loaded>& loaded,
                                         const Profile& profile) {
  std::vector<std::vector<Loaded>> groups;
  for (const Loaded& gpu : loaded) {
    const auto group = std::ranges::find_if(groups, [&](const std::vector<Loaded>& members) {
      const DeviceFacts *const one = facts_of(members.front().gpu, profile), *const other =
                                                                                 facts_of(gpu.gpu,
                                                                                          profile);
      return one != nullptr && other != nullptr && share_host_side(*one, *other);
    });
    if (group == groups.end())
      groups.push_back({gpu});
    else
      group->push_back(gpu);
  }
  return groups;
}

double median_share(const std::vector<Loaded>& loaded) {
  std::vector<double> shares;
  for (const Loaded& gpu : loaded) shares.push_back(*gpu.share);
  return median(shares);
}

// "99.3 % of alone (GPU 2: 61.0 %), GPUs 0 to 1: 99.5 %, GPUs 2 to 3: 61.0 %". Figures kept, share
// and least_share. loaded: with shares.
std::string shares_of(const std::vector<Loaded>& loaded, const Profile& profile,
                      Sentence& sentence) {
  const double share = median_share(loaded);
  const Loaded& least = *std::ranges::min_element(loaded, {}, &Loaded::share);
  for (const Loaded& gpu : loaded)
    sentence.figure("kept", *gpu.share, {{"gpu", std::int64_t{gpu.gpu}}});
  sentence.figure("share", share);
  sentence.figure("least_share", *least.share);
  if (loaded.size() == 1)
    return fmt::format("GPU {} at {} of alone", least.gpu, format_percent(share));
  std::string text = format_percent(share) + " of alone";
  if (share <= kAlike * *least.share) return text;
  text += fmt::format(" (GPU {}: {})", least.gpu, format_percent(*least.share));
  const auto groups = grouped(loaded, profile);
  if (groups.size() > 1 && groups.size() < loaded.size())
    for (const auto& group : groups)
      text += fmt::format(", GPUs {} to {}: {}", group.front().gpu, group.back().gpu,
                          format_percent(median_share(group)));
  return text;
}

}  // namespace

CurveRule pair_rate_curve(std::string topic, const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const auto sizes = sweep(curve, "bytes");
    if (sizes.empty()) return;
    std::vector<const Measurement*> largest;
    std::vector<CurvePoint> of_one_pair;
    const std::string pair = pair_of(*sizes.front().m);
    for (const CurvePoint& point : sizes) {
      if (point.x == sizes.back().x) largest.push_back(point.m);
      if (pair_of(*point.m) == pair) of_one_pair.push_back(point);
    }
    std::string text = fmt::format("{} {}", label, range_of(largest, true, [](double value) {
                                     return format_rate(value, "B/s");
                                   }));
    sentence.figure("rate", median_of_pairs(largest));
    sentence.figure("slowest_rate", value_of(*std::ranges::min_element(largest, {}, value_of)));
    const auto half = std::ranges::find_if(of_one_pair, [&](const CurvePoint& point) {
      return value_of(point.m) >= value_of(of_one_pair.back().m) / 2;
    });
    if (half != of_one_pair.begin() && half != of_one_pair.end()) {
      text += fmt::format(", half of that from {}", format_size(half->x));
      sentence.figure("half_rate", half->x);
    }
    sentence.add(std::move(text));
  };
  return {
      std::move(topic), {{"rate", "B/s"}, {"slowest_rate", "B/s"}, {"half_rate", "B"}}, summarize};
}

CurveRule pair_time_curve(std::string topic, const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    sentence.add(fmt::format("{} {}", label, range_of(curve.points, false, format_time)));
    sentence.figure("time", median_of_pairs(curve.points));
  };
  return {std::move(topic), {{"time", "s"}}, summarize};
}

CurveRule concurrent_curve(std::string topic, const std::string& label, Quantity quantity,
                           const AloneResource& alone) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    std::vector<Loaded> loaded = loaded_gpus(curve, alone);
    if (loaded.size() < 2) return;
    const std::string_view unit = unit_of(quantity);
    double total = 0;
    for (const Loaded& gpu : loaded) total += gpu.rate;
    std::string text = fmt::format("{} {} each, {} in all", label,
                                   format_rate(total / static_cast<double>(loaded.size()), unit),
                                   format_rate(total, unit));
    sentence.figure("total", total);
    std::erase_if(loaded, [](const Loaded& gpu) { return !gpu.share; });
    if (!loaded.empty()) text += ", " + shares_of(loaded, *curve.profile, sentence);
    sentence.add(std::move(text));
  };
  return {std::move(topic),
          {{"total", std::string(unit_of(quantity))},
           {"kept", "1", {"gpu"}},
           {"share", "1"},
           {"least_share", "1"}},
          summarize};
}

}  // namespace peakline::bench
