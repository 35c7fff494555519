#include "harness/judge/population.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "harness/judge/sides.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/cards.hpp"
#include "harness/values/resources.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

constexpr std::size_t kFewestSiblings = 3;
// A figure beside siblings has to scatter by less than this share of the figure itself.
constexpr double kMostOfSiblings = 0.5;
// Levels are this many standard deviations apart, as of the scatter around them. Fourteen cards
// around one level come no further apart than three.
constexpr double kBetweenStates = 6;
constexpr std::size_t kFewestOfState = 2;
constexpr double kFarthestStates = 0.04;
// The window that holds one level: a share, or so many deviations of the class.
constexpr double kLeastWindow = 0.03, kWindowDeviations = 6;

using FigureKey = std::tuple<std::string, Basis, bool>;

// There is a list for each card, in their order, empty where the card has no value.
using CardValues = std::vector<std::vector<double>>;

double deviation(std::span<const double> values) {
  const double center = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - center) * (value - center);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// Sorted values that lie around two levels, at the first of the upper one; else their end.
std::size_t upper_state(std::span<const double> sorted) {
  std::size_t best = sorted.size();
  double widest = 0;
  for (std::size_t i = kFewestOfState; i + kFewestOfState <= sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] <= widest) continue;
    widest = sorted[i] - sorted[i - 1];
    best = i;
  }
  if (best == sorted.size()) return best;
  const double within =
      std::hypot(deviation(sorted.first(best)), deviation(sorted.subspan(best))) / std::sqrt(2);
  const bool near = sorted.back() <= (1 + kFarthestStates) * sorted.front();
  return near && widest > kBetweenStates * within ? best : sorted.size();
}

const UsualSpread& usual_of(std::string_view resource, Basis basis, bool beside_siblings,
                            const CardFacts& facts) {
  if (beside_siblings) return usual_spread_beside_siblings();
  constexpr std::array<std::string_view, 4> kOfHosts = {"cpu", "memory", "storage", "input"};
  return usual_spread(resource, basis,
                      {.is_host = std::ranges::find(kOfHosts, part_of(resource)) != kOfHosts.end(),
                       .virtual_machine = facts.virtual_machine.value_or(true)});
}

double least_loss(std::string_view resource, double least = kLeastLoss) {
  return part_of(resource) == "l2" ? std::max(least, kLeastLossOfFew) : least;
}

// The sorted values of the window that holds most of them.
std::span<const double> densest(std::span<const double> sorted, const UsualSpread& usual) {
  const double width = std::max(kLeastWindow, kWindowDeviations * usual.between_cards);
  std::span<const double> best;
  for (std::size_t first = 0, end = 0; first < sorted.size(); ++first) {
    while (end < sorted.size() && sorted[end] <= sorted[first] * (1 + width)) ++end;
    if (end - first >= best.size()) best = sorted.subspan(first, end - first);
  }
  return best;
}

// One figure over the cards that are not left out.
struct Level {
  PopulationFigure figure;
  std::size_t within = 0;        // cards of the window
  std::vector<double> of_cards;  // medians; NaN: none
};

Level level_of(const FigureKey& key, const CardValues& values, const std::vector<bool>& out,
               const UsualSpread& usual) {
  Level level;
  PopulationFigure& f = level.figure;
  std::tie(f.resource, f.basis, f.beside_siblings) = key;
  std::vector<double> sorted;
  double squares = 0;
  std::size_t degrees = 0;
  for (std::size_t card = 0; card < values.size(); ++card) {
    const std::vector<double>& runs = values[card];
    level.of_cards.push_back(runs.empty() || out[card] ? std::nan("") : median(runs));
    if (runs.empty() || out[card]) continue;
    ++f.cards;
    f.runs += runs.size();
    sorted.push_back(level.of_cards.back());
    if (runs.size() < 2) continue;
    squares += std::pow(deviation(runs) / mean(runs), 2) * static_cast<double>(runs.size() - 1);
    degrees += runs.size() - 1;
  }
  if (sorted.empty()) return level;
  std::ranges::sort(sorted);
  if (degrees > 0) f.between_runs = std::sqrt(squares / static_cast<double>(degrees));
  const std::span<const double> window = densest(sorted, usual);
  level.within = window.size();
  f.median = median(window);
  const std::size_t upper = upper_state(window);
  const std::span<const double> low = window.first(upper), high = window.subspan(upper);
  f.lowest_state = median(low);
  f.highest_state = high.empty() ? f.lowest_state : median(high);
  double within = 0;
  for (std::size_t i = 0; i < window.size(); ++i)
    within += std::pow((window[i] - (i < upper ? f.lowest_state : f.highest_state)) / f.median, 2);
  const auto free = static_cast<double>(window.size()) - (high.empty() ? 1 : 2);
  if (free > 0) f.between_cards = std::sqrt(within / free);
  return level;
}

Yardstick yardstick_of(const PopulationFigure& f) {
  return {.kind = YardstickKind::kPopulation,
          .centre = f.lowest_state,
          .cards = f.cards,
          .between_cards = f.between_cards,
          .between_runs = f.between_runs,
          .card_degrees = f.cards - 1,
          .run_degrees = f.runs - f.cards};
}

// Whether two figures are beside the same siblings, whose peaks are part of their theory.
bool same_siblings(const auto& a, const auto& b) {
  constexpr double kExact = 1e-3;
  return !a.beside_siblings || !a.theory || !b.theory ||
         std::abs(*a.theory / *b.theory - 1) < kExact;
}

// The values of a group of runs by figure and card.
struct Collected {
  std::vector<std::string> cards;
  std::vector<FigureKey> order;
  std::map<FigureKey, CardValues> values;
  std::map<FigureKey, const RunFigure*> examples;
};

Collected collect(std::span<const CardRun* const> runs) {
  Collected all;
  std::map<std::string, std::size_t> places;
  for (const CardRun* run : runs)
    if (places.try_emplace(run->card, places.size()).second) all.cards.push_back(run->card);
  for (const CardRun* run : runs) {
    for (const RunFigure& figure : run->figures) {
      const FigureKey key{figure.resource, figure.basis, figure.beside_siblings};
      const auto [found, added] = all.values.try_emplace(key, all.cards.size());
      if (added) all.order.push_back(key);
      // The newest method counts, and what another one gave says nothing of it.
      const RunFigure*& example = all.examples[key];
      if (example == nullptr || example->method_version < figure.method_version) {
        found->second.assign(all.cards.size(), {});
        example = &figure;
      }
      if (example->method_version != figure.method_version || !same_siblings(*example, figure))
        continue;
      found->second[places.at(run->card)].push_back(figure.value);
    }
  }
  return all;
}

// Leaves out cards that have a fault, and those that are below the limits of the others, or as far
// above, until none is.
std::vector<LeftOutCard> leave_out(const Collected& all, std::span<const CardRun* const> runs,
                                   const CardFacts& facts, std::vector<bool>& out) {
  std::vector<LeftOutCard> left;
  for (std::size_t card = 0; card < all.cards.size(); ++card) {
    const auto faulty = std::ranges::find_if(runs, [&](const CardRun* run) {
      return run->card == all.cards[card] && !run->fault.empty();
    });
    if (faulty == runs.end()) continue;
    out[card] = true;
    left.push_back({.card = all.cards[card], .figure = (*faulty)->fault});
  }
  const double tail = kFalseAlarms / static_cast<double>(all.order.size());
  for (bool again = true; again;) {
    again = false;
    std::map<std::size_t, LeftOutCard> found;
    for (const FigureKey& key : all.order) {
      const auto& [resource, basis, beside_siblings] = key;
      const UsualSpread& usual = usual_of(resource, basis, beside_siblings, facts);
      const Level level = level_of(key, all.values.at(key), out, usual);
      if (level.figure.cards < 2) continue;
      Yardstick yardstick = yardstick_of(level.figure);
      yardstick.cards = level.within;
      yardstick.card_degrees = level.within - 1;
      const double limit =
          limit_by(yardstick, {.least = least_loss(resource), .usual = &usual}, tail);
      for (std::size_t card = 0; card < level.of_cards.size(); ++card) {
        const double share = level.of_cards[card] / level.figure.lowest_state;
        const bool apart =
            level.of_cards[card] < limit ||
            level.of_cards[card] > yardstick.centre / limit * level.figure.highest_state;
        if (!apart || neighbours_may_slow(facts, resource, share)) continue;
        const auto [place, added] = found.try_emplace(card);
        if (added || std::abs(std::log(share)) > std::abs(std::log(*place->second.share)))
          place->second = {all.cards[card],
                           ceiling_name(resource, basis) + (beside_siblings ? "/siblings" : ""),
                           std::stod(fmt::format("{:.3g}", share))};
      }
    }
    for (auto& [card, why] : found) {
      out[card] = again = true;
      left.push_back(std::move(why));
    }
  }
  return left;
}

void round_figure(PopulationFigure& f) {
  // Five digits say more than any population knows.
  for (double* value :
       {&f.median, &f.lowest_state, &f.highest_state, &f.between_cards, &f.between_runs, &f.limit})
    *value = std::stod(fmt::format("{:.5g}", *value));
}

// The peaks of a device's resources.
using Peaks = std::map<std::pair<std::string_view, Basis>, double>;

Peaks peaks_of(const DeviceView& device) {
  Peaks peaks;
  for (const Ceiling* row : device.ceilings)
    if (row->measurement.empty()) peaks.try_emplace({row->resource, row->basis}, row->value);
  return peaks;
}

std::optional<double> peak(const Peaks& peaks, std::string_view resource, Basis basis) {
  const auto found = peaks.find({resource, basis});
  return found == peaks.end() ? std::nullopt : std::optional(found->second);
}

// No part of a population: wrong, impossible, or unsteady other than by a host's neighbours.
bool disturbed(const DeviceView& device, const Ceiling& row) {
  const Measurement* source = device.source(row);
  if (source == nullptr) return excessive_scatter(row).has_value();
  const bool shared =
      row.resource == "pcie.bidirectional" && in_virtual_machine(device.profile->host);
  return source->flags.implausible || source->verified == false ||
         (source->flags.unstable && !shared) || excessive_scatter(row);
}

RunFigure figure_of(const DeviceView& device, const Ceiling& row, const Peaks& peaks) {
  const Measurement* source = device.source(row);
  RunFigure figure{
      .resource = row.resource, .basis = row.basis, .unit = row.unit, .value = row.value};
  figure.measurement = row.measurement;
  if (source != nullptr) figure.method_version = source->method_version;
  figure.theory = peak(peaks, row.resource, Basis::kTheoretical);
  figure.datasheet = peak(peaks, row.resource, Basis::kDatasheet);
  const UsualSpread& usual =
      usual_spread(row.resource, row.basis, site_of(row.device, device.profile->host));
  // Up to its usual width the class's spread has it already.
  if (row.spread)
    figure.own = std::max(0.0, std::min(own_scatter(*row.spread), most_own_scatter(row)) -
                                   usual.usual_half_width / kNormal95);
  if (is_compute(row.unit) && device.facts != nullptr) {
    const auto& clock = row.conditions.sm_clock_hz;
    const auto& most = device.facts->sm_clock_max_hz;
    figure.clock_share = clock && most && *most > 0 ? std::min(1.0, *clock / *most) : 0;
  }
  return figure;
}

CardRun run_of(const DeviceView& device, std::string card, CardFacts facts) {
  const Profile& profile = *device.profile;
  return {.card = std::move(card),
          .facts = std::move(facts),
          .mode = profile.mode,
          .driver = profile.software.driver,
          .revision = profile.software.git_revision,
          .created = profile.created,
          .figures = {}};
}

bool within(std::optional<double> a, std::optional<double> b, double share) {
  return a && b && *b > 0 && std::abs(*a / *b - 1) <= share;
}

std::optional<double> power_per_sm(const CardFacts& card) {
  if (!card.power_limit_w || card.sm_count.value_or(0) == 0) return std::nullopt;
  return *card.power_limit_w / *card.sm_count;
}

// By this much the documented share of theory, or the power, of two models may differ.
constexpr double kAlike = 0.05;

// What the donor's figure makes of the card's: theory over theory; of an L2 bus and clock.
std::optional<double> carried_over(const Population& donor, const PopulationFigure& known,
                                   const CardFacts& card, const RunFigure& figure) {
  if (part_of(known.resource) == "l2") {
    const CardFacts& from = donor.facts;
    if (!card.memory_bus_bits || !from.memory_bus_bits || !card.sm_clock_max_hz ||
        !from.sm_clock_max_hz || !within(card.sm_count, from.sm_count, kAlike))
      return std::nullopt;
    return static_cast<double>(*card.memory_bus_bits) / *from.memory_bus_bits *
           *card.sm_clock_max_hz / *from.sm_clock_max_hz;
  }
  if (!figure.theory || !known.theory) return std::nullopt;
  // Copies between two GPUs are alike in nodes of any size; what all GPUs do together is not.
  const bool together = part_of(known.resource) == "nccl" || known.resource == "nvlink.all_to_all";
  if (together && donor.facts.gpus != card.gpus) return std::nullopt;
  if (part_of(known.resource) == "tensor") {
    if (!figure.datasheet || !within(power_per_sm(card), power_per_sm(donor.facts), kAlike))
      return std::nullopt;
  }
  if (figure.datasheet && known.datasheet &&
      !within(*figure.datasheet / *figure.theory, *known.datasheet / *known.theory, kAlike))
    return std::nullopt;
  return *figure.theory / *known.theory;
}

std::optional<double> floor_of(const CardFacts& card, const RunFigure& figure) {
  if (figure.beside_siblings) return std::nullopt;
  if (figure.resource == "l2.read" && card.sm_count && card.sm_clock_max_hz)
    return kL2FloorPerClock * *card.sm_count * *card.sm_clock_max_hz;
  const double share = usual_of(figure.resource, figure.basis, false, card).floor;
  if (share == 0 || !figure.theory || figure.clock_share == 0) return std::nullopt;
  const bool cut = part_of(figure.resource) == "tensor" && !figure.datasheet;
  // Products may have less than their architecture, as half the rate with FP32 sums.
  const double peak = std::min(*figure.theory, figure.datasheet.value_or(*figure.theory));
  return (cut ? kFloorOfUnknownTensorCores : share) * peak * figure.clock_share;
}

}  // namespace

void add_siblings(std::vector<RunFigure>& figures) {
  std::map<std::pair<std::string, Basis>, std::vector<const RunFigure*>> parts;
  for (const RunFigure& figure : figures)
    if (!figure.beside_siblings && part_of(figure.resource) == "tensor")
      parts[{std::string(part_of(figure.resource)), figure.basis}].push_back(&figure);
  std::vector<RunFigure> added;
  for (const auto& [part, members] : parts) {
    if (members.size() < kFewestSiblings) continue;
    for (const RunFigure* figure : members) {
      const auto ratio = [&, &members = members](auto peak,
                                                 const RunFigure& of) -> std::optional<double> {
        std::vector<double> peaks;
        for (const RunFigure* other : members) {
          if (!(other->*peak)) return std::nullopt;
          if (other != figure) peaks.push_back(*(other->*peak));
        }
        return *(of.*peak) / geometric_mean(peaks);
      };
      std::vector<double> others;
      for (const RunFigure* other : members)
        if (other != figure) others.push_back(other->value);
      RunFigure& beside = added.emplace_back(*figure);
      beside.beside_siblings = true;
      beside.unit = "1";
      beside.value = figure->value / geometric_mean(others);
      beside.theory = ratio(&RunFigure::theory, *figure);
      beside.datasheet = ratio(&RunFigure::datasheet, *figure);
    }
  }
  figures.insert(figures.end(), added.begin(), added.end());
}

CardRun card_run(const DeviceView& gpu, std::string card, bool sound) {
  CardRun run = run_of(gpu, std::move(card), card_facts(gpu));
  const Peaks peaks = peaks_of(gpu);
  for (const Ceiling* row : gpu.ceilings)
    if (!row->measurement.empty() && row->value > 0 && !(sound && disturbed(gpu, *row)))
      run.figures.push_back(figure_of(gpu, *row, peaks));
  add_siblings(run.figures);
  return run;
}

CardFacts node_facts(const DeviceView& node) {
  const std::vector<DeviceFacts>& gpus = node.profile->devices;
  if (gpus.empty()) return {};
  CardFacts facts = card_facts(gpus[0], node.profile->host);
  facts.model = model_of(node);
  facts.gpus = static_cast<int>(gpus.size());
  return facts;
}

CardRun host_run(const DeviceView& host, std::string name) {
  const HostFacts& facts = host.profile->host;
  CardRun run = run_of(host, std::move(name),
                       {.model = facts.cpu_model, .virtual_machine = in_virtual_machine(facts)});
  for (const Ceiling* row : host.ceilings)
    if (!row->measurement.empty() && row->value > 0)
      run.figures.push_back(figure_of(host, *row, {}));
  return run;
}

CardRun node_run(const DeviceView& node, std::string name, bool sound) {
  CardRun run = run_of(node, std::move(name), node_facts(node));
  const Peaks peaks = peaks_of(node);
  std::map<std::pair<std::string, Basis>, std::size_t> places;
  for (const Ceiling* row : node.ceilings) {
    if (row->measurement.empty() || row->value <= 0 || (sound && disturbed(node, *row))) continue;
    RunFigure figure = figure_of(node, *row, peaks);
    // "nvlink.read.0-1" is one pair's. A node is as fast as its slowest.
    if (const std::size_t pair = figure.resource.find_first_of("0123456789");
        pair != std::string::npos && pair > 0 && figure.resource[pair - 1] == '.')
      figure.resource.resize(pair - 1);
    const auto [place, added] =
        places.try_emplace({figure.resource, figure.basis}, run.figures.size());
    if (added)
      run.figures.push_back(std::move(figure));
    else if (figure.value < run.figures[place->second].value)
      run.figures[place->second] = std::move(figure);
  }
  return run;
}

Population population_of(const CardFacts& facts, std::span<const CardRun* const> runs) {
  Population population{.facts = facts, .mode = runs[0]->mode};
  const Collected all = collect(runs);
  std::vector<bool> out(all.cards.size());
  population.left_out = leave_out(all, runs, facts, out);
  population.cards = all.cards.size() - population.left_out.size();
  std::set<std::string> drivers, revisions, created;
  for (const CardRun* run : runs) {
    if (out[static_cast<std::size_t>(std::ranges::find(all.cards, run->card) - all.cards.begin())])
      continue;
    ++population.runs;
    drivers.insert(run->driver);
    revisions.insert(run->revision);
    created.insert(run->created);
  }
  for (std::set<std::string>* texts : {&drivers, &revisions}) texts->erase("");
  population.drivers.assign(drivers.begin(), drivers.end());
  population.revisions.assign(revisions.begin(), revisions.end());
  if (!created.empty() && !created.contains(""))  // each run says when it was made
    std::tie(population.first, population.last) = std::pair(*created.begin(), *created.rbegin());
  std::map<FigureKey, double> spreads;
  for (const FigureKey& key : all.order) {
    const auto& [resource, basis, beside_siblings] = key;
    Level level =
        level_of(key, all.values.at(key), out, usual_of(resource, basis, beside_siblings, facts));
    PopulationFigure& f = level.figure;
    if (f.cards == 0) continue;
    const double spread = spreads[key] = std::hypot(f.between_cards, f.between_runs);
    // Precisions that do not move together say nothing of each other.
    if (beside_siblings && f.cards > 1 &&
        spread > kMostOfSiblings * spreads.at({resource, basis, false}))
      continue;
    const RunFigure& example = *all.examples.at(key);
    std::tie(f.unit, f.method_version) = std::tie(example.unit, example.method_version);
    std::tie(f.theory, f.datasheet) = std::tie(example.theory, example.datasheet);
    population.figures.push_back(std::move(f));
  }
  const double tail = kFalseAlarms / static_cast<double>(all.order.size());
  population.limit_deviations = std::stod(
      fmt::format("{:.5g}", student_quantile(tail, kClassDegrees + population.cards - 1)));
  for (PopulationFigure& f : population.figures) {
    const UsualSpread& usual = usual_of(f.resource, f.basis, f.beside_siblings, facts);
    f.limit = limit_by(yardstick_of(f), {.least = least_loss(f.resource), .usual = &usual}, tail);
    round_figure(f);
  }
  return population;
}

std::string text_of(const LeftOutCard& card) {
  return fmt::format("{} ({}{})", card.card, card.figure,
                     card.share ? ' ' + format_signed_percent(*card.share - 1) : std::string());
}

std::vector<Population> populations_of(std::span<const CardRun> runs) {
  struct Group {
    CardFacts facts;
    std::string mode;
    std::vector<const CardRun*> runs;
  };
  std::vector<Group> groups;
  for (const CardRun& run : runs) {
    auto found = std::ranges::find_if(groups, [&](const Group& group) {
      return group.mode == run.mode && agree(group.facts, run.facts);
    });
    if (found == groups.end()) found = groups.insert(found, {run.facts, run.mode, {}});
    complete(found->facts, run.facts);
    found->runs.push_back(&run);
  }
  std::vector<Population> populations;
  for (const Group& group : groups) {
    Population population = population_of(group.facts, group.runs);
    if (!population.figures.empty()) populations.push_back(std::move(population));
  }
  return populations;
}

std::vector<CardRun> runs_of_gpus(std::span<const Profile* const> profiles,
                                  const std::set<std::string>& without,
                                  const std::map<std::string, std::string>& faults) {
  Cards cards;
  for (const Profile* profile : profiles) cards.add(*profile);
  std::set<std::string> excluded;
  for (const std::string& uuid : without) excluded.insert(short_uuid(uuid));
  std::vector<CardRun> runs;
  for (const Profile* profile : profiles) {
    std::string node;
    const bool whole = std::ranges::none_of(profile->devices, [&](const DeviceFacts& gpu) {
      node += (node.empty() ? "" : "+") + cards.card_of(gpu.uuid);
      return excluded.contains(short_uuid(gpu.uuid));
    });
    for (const DeviceView& view : device_views(*profile)) {
      CardRun run;
      if (view.facts != nullptr && !excluded.contains(short_uuid(view.facts->uuid)))
        run = card_run(view, cards.card_of(view.facts->uuid), true);
      else if (view.is_node() && whole && !view.ceilings.empty())
        run = node_run(view, node, true);
      if (run.figures.empty()) continue;
      const auto fault = view.facts == nullptr ? faults.end() : faults.find(view.facts->uuid);
      if (fault != faults.end()) run.fault = fault->second;
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

std::vector<Population> populations_of_gpus(std::span<const Profile* const> profiles,
                                            const std::set<std::string>& without,
                                            const std::map<std::string, std::string>& faults) {
  return populations_of(runs_of_gpus(profiles, without, faults));
}

Known known_of(std::span<const Population> populations, std::span<const Population> donors,
               const CardFacts& card, std::string_view mode) {
  Known known{.population = find_population(populations, card, mode)};
  for (const Population& donor : donors) {
    const bool alike = donor.mode == mode && card.compute_capability &&
                       donor.facts.compute_capability == card.compute_capability &&
                       donor.facts.gpus.has_value() == card.gpus.has_value();
    if (!alike || (known.population != nullptr && donor == *known.population)) continue;
    const auto better = [&](const Population& a, const Population& b) {
      return std::tuple(a.facts.gpus == card.gpus, a.facts.model == card.model, a.cards) >
             std::tuple(b.facts.gpus == card.gpus, b.facts.model == card.model, b.cards);
    };
    if (known.donor == nullptr || better(donor, *known.donor)) known.donor = &donor;
  }
  return known;
}

Reading reading_of(const RunFigure& figure, const CardFacts& card, double least) {
  return {.value = figure.value,
          .own = figure.own,
          .least = least_loss(figure.resource, least),
          .usual = &usual_of(figure.resource, figure.basis, figure.beside_siblings, card)};
}

std::vector<Yardstick> yardsticks_for(const Known& known, const CardFacts& card,
                                      const RunFigure& figure) {
  std::vector<Yardstick> all;
  const auto find = [&](const Population* population) {
    const PopulationFigure* f =
        population == nullptr
            ? nullptr
            : find_figure(*population, figure.resource, figure.basis, figure.beside_siblings);
    return f != nullptr && same_siblings(*f, figure) ? f : nullptr;
  };
  if (const PopulationFigure* f = find(known.population)) {
    const std::size_t out = known.population->left_out.size(), in = known.population->cards;
    Yardstick& y = all.emplace_back(yardstick_of(*f));
    y.may_fail = out < in;       // fewer than half were left out
    y.may_pass = 2 * out <= in;  // at most a third
    y.source = format_count(static_cast<std::int64_t>(f->cards), card.gpus ? "node" : "card");
  }
  if (const PopulationFigure* f = find(known.peers)) {
    Yardstick& y = all.emplace_back(yardstick_of(*f));
    y.kind = YardstickKind::kPeers;
    y.may_fail = known.peers->left_out.size() < known.peers->cards;
    y.may_pass = false;
    y.source = format_count(static_cast<std::int64_t>(f->cards), "peer");
  }
  if (const PopulationFigure* f = find(known.donor)) {
    if (const auto factor = carried_over(*known.donor, *f, card, figure)) {
      Yardstick& y = all.emplace_back(yardstick_of(*f));
      y.kind = YardstickKind::kPrior;
      y.centre *= *factor;
      y.margin = reading_of(figure, card).usual->prior_margin;
      y.source = fmt::format("the {}'s shares of theory", known.donor->facts.model);
    }
  }
  if (const auto floor = floor_of(card, figure))
    all.push_back({.kind = YardstickKind::kFloor,
                   .centre = *floor,
                   .may_pass = false,
                   .source = "the floor of any model"});
  return all;
}

bool neighbours_may_slow(const CardFacts& card, std::string_view resource, double share) {
  return part_of(resource) == "pcie" && card.virtual_machine.value_or(true) &&
         (resource == "pcie.bidirectional" || share > 1 - kLossByNeighbours);
}

CardScatter card_scatter(std::span<const Population> populations, const CardFacts& card,
                         std::string_view mode, std::string_view resource, Basis basis) {
  const auto known_well = [&](const Population& population) {
    return population.mode == mode && population.cards >= kFewCards;
  };
  const Population* population = find_population(populations, card, mode);
  CardScatter scatter;
  double factor = 1;
  if (population == nullptr || !known_well(*population)) {
    const auto other = std::ranges::max_element(
        populations, {}, [&](const Population& each) { return known_well(each) ? each.cards : 0; });
    if (other == populations.end() || !known_well(*other)) return scatter;
    population = &*other;
    scatter.assumed_from = population->facts.model;
    factor = kWiderWhereAssumed;
  }
  // Each card may be on either of two levels.
  const auto deviation = [](const PopulationFigure& figure) {
    return std::hypot(figure.between_cards,
                      (figure.highest_state - figure.lowest_state) / 2 / figure.median);
  };
  const PopulationFigure* const known = find_figure(*population, resource, basis, false);
  for (const PopulationFigure& figure : population->figures) {
    if (figure.beside_siblings || (known != nullptr && known != &figure)) continue;
    if (known == nullptr && neighbours_may_slow(population->facts, figure.resource, 0)) continue;
    scatter.deviation = std::max(scatter.deviation, factor * deviation(figure));
    scatter.cards = std::max(scatter.cards, figure.cards);
  }
  return scatter;
}

}  // namespace peakline
