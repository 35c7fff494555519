#include "harness/show/compare_fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/judge/rules.hpp"
#include "harness/show/compare.hpp"
#include "harness/show/table.hpp"
#include "harness/values/point_names.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

constexpr std::size_t kShiftsNamed = 3;
constexpr std::size_t kMostCards = 20;  // in the table
// Losses that the first line names of a single card, and of each of several.
constexpr std::size_t kOfOne = 3, kOfEach = 1;
constexpr std::size_t kFewCompared = 3;  // cards whose losses are all listed
constexpr double kManyTimes = 0.2;       // lower ratios are told as "150 times"
constexpr double kWorthNaming = 0.005;   // smaller shifts only bound the rest

// A figure that is slower or unsteady. Ratios are of speed, also those of times.
struct Loss {
  std::string label;
  double ratio = 1;
  bool is_time = false, unsteady = false;
  const CeilingComparison* ceiling = nullptr;  // nullptr: a curve
  const CurveComparison* curve = nullptr;

  // Losses first, the largest first; of equal ones, to the digits printed, ceilings.
  std::tuple<bool, double, bool> rank() const {
    return {unsteady, std::round(ratio * 1000), curve != nullptr};
  }
};

// A device's reasons, and its losses, the most first.
struct Blamed {
  const DeviceComparison* device = nullptr;  // nullptr: of one side alone, or no device
  std::vector<const Judged*> reasons;
  std::vector<Loss> losses = {};

  double ratio() const { return losses.empty() ? 1 : losses[0].ratio; }
};
using DeviceName = std::pair<std::string, std::string>;  // machine, device

std::string place_text(const DeviceName& name) {
  return name.first.empty() ? name.second : name.first + ' ' + name.second;
}

bool is_gpu(std::string_view key) { return key.starts_with("gpu"); }

std::size_t compared_cards(const CompareResult& result) {
  return static_cast<std::size_t>(std::ranges::count_if(result.devices, &DeviceComparison::is_gpu));
}

std::string percent_slower(double ratio) {
  return fmt::format("{} {}", format_percent(std::abs(1 - ratio)), ratio < 1 ? "slower" : "faster");
}

// "launch graph", "part of latency sweep"; "HBM read curve" beside a ceiling of that name.
std::string name_of_curve(const CurveComparison& curve, const DeviceComparison& device) {
  const std::string name = name_of_id(curve.id);
  const bool taken =
      std::ranges::find(device.ceilings, name, &CeilingComparison::label) != device.ceilings.end();
  return (curve.slow_part ? "part of " : "") + name + (taken ? " curve" : "");
}

void find_losses(Blamed& blamed) {
  for (const Judged* reason : blamed.reasons) {
    const bool unsteady = reason->kind == RuleKind::kUnsteady;
    if (blamed.device == nullptr || (reason->kind != RuleKind::kSlower && !unsteady)) continue;
    for (const CeilingComparison& c : blamed.device->ceilings)
      if (reason->name.figure == static_cast<const FigureKey&>(c))
        blamed.losses.push_back({c.label, c.ratio, c.unit == "s", unsteady, &c, nullptr});
    for (const CurveComparison& c : blamed.device->curves)
      if (!reason->name.figure && reason->name.other == c.id)
        blamed.losses.push_back({name_of_curve(c, *blamed.device), c.loss_ratio(), c.unit == "s",
                                 unsteady, nullptr, &c});
  }
  std::ranges::stable_sort(blamed.losses, {}, &Loss::rank);
}

bool leads(const Judged& reason, std::string_view verdict) {
  if (reason.passes()) return false;
  if (verdict == "slower" || verdict == "unsteady")
    return reason.kind == RuleKind::kSlower || reason.kind == RuleKind::kUnsteady;
  return verdict == "cannot_judge" || reason.outcome == Outcome::kFail;
}

// By device, the one that lost most first.
std::vector<std::pair<DeviceName, Blamed>> blamed_by(const CompareResult& result,
                                                     std::string_view verdict) {
  std::map<DeviceName, Blamed> devices;
  for (const Judged& reason : result.gate.reasons)
    if (leads(reason, verdict) && reason.name.device != kFleetDevice)
      devices[{reason.name.machine, reason.name.device}].reasons.push_back(&reason);
  for (const DeviceComparison& device : result.devices)
    if (const auto found = devices.find({device.machine, device.key}); found != devices.end())
      found->second.device = &device;
  std::vector<std::pair<DeviceName, Blamed>> all(devices.begin(), devices.end());
  for (auto& [name, blamed] : all) find_losses(blamed);
  std::ranges::stable_sort(all, {}, [](const auto& each) { return each.second.ratio(); });
  return all;
}

// "43.0 % slower", "150 times slower", "takes 2.1 x as long", "unsteady". short_form: the word
// slower stands before.
std::string how_much(const Loss& loss, bool short_form) {
  if (loss.unsteady) return "unsteady";
  if (loss.is_time) return fmt::format("takes {} x as long", format_number(1 / loss.ratio));
  const std::string amount = loss.ratio < kManyTimes ? format_number(1 / loss.ratio) + " times"
                                                     : format_percent(std::abs(1 - loss.ratio));
  return amount + (short_form ? "" : loss.ratio < 1 ? " slower" : " faster");
}

// "HBM read 4.1 % slower, HBM write 3.9 %, and 5 more". most: losses to name.
std::string what_of(const Blamed& blamed, std::size_t most) {
  std::vector<std::string> parts;
  bool said_slower = false;
  for (const Loss& loss : blamed.losses) {
    if (parts.size() == most) break;
    parts.push_back(loss.label + ' ' + how_much(loss, said_slower));
    said_slower = said_slower || (!loss.unsteady && !loss.is_time && loss.ratio < 1);
  }
  if (parts.empty()) {
    const bool added = blamed.device == nullptr && blamed.reasons[0]->name.figure;
    parts.push_back((added ? "only in new: " : "") + describe(*blamed.reasons[0]));
  }
  const std::size_t rest = blamed.reasons.size() - std::min(parts.size(), blamed.reasons.size());
  return joined(parts) + (rest > 0 ? fmt::format(", and {} more", rest) : "");
}

// GPUs of the old side that the new one lacks.
std::vector<std::string> lost(const CompareResult& result) {
  std::vector<std::string> all;
  for (const Judged& reason : result.gate.reasons)
    if (reason.kind == RuleKind::kMissing && !reason.passes() && reason.name.within().empty() &&
        is_gpu(reason.name.device))
      all.push_back(place_text({reason.name.machine, reason.name.device}));
  return all;
}

std::string shift_text(const FleetShift& shift) {
  const auto [least, most] =
      std::minmax({std::abs(1 - shift.ratio_low), std::abs(1 - shift.ratio_high)});
  return fmt::format("{} {} ({:.1f} to {:.1f} %)", shift.label, percent_slower(shift.ratio),
                     least * 100, most * 100);
}

// Conditions that changed alike on most devices of a kind, with the number of devices.
using Change = std::tuple<std::string, std::string, std::string>;
std::map<Change, std::size_t> common_changes(const CompareResult& result) {
  std::map<Change, std::size_t> counts;
  std::size_t gpus = 0;
  for (const DeviceComparison& device : result.devices) {
    if (!device.is_gpu()) continue;
    ++gpus;
    for (const Difference& d : device.differences) ++counts[{d.what, d.base, d.next}];
  }
  std::erase_if(counts, [&](const auto& each) { return 2 * each.second <= gpus; });
  return counts;
}

std::string own_changes(const DeviceComparison& device,
                        const std::map<Change, std::size_t>& common) {
  std::vector<std::string> parts;
  for (const Difference& d : device.differences)
    if (!common.contains({d.what, d.base, d.next}))
      parts.push_back(fmt::format("{} {} → {}", d.what, d.base, d.next));
  return joined(parts, "; ");
}

std::string shifts_text(const CompareResult& result, std::size_t width) {
  std::map<std::string, std::vector<const FleetShift*>> by_model;
  for (const FleetShift& shift : result.shifts) by_model[shift.model].push_back(&shift);
  std::string text;
  for (auto& [model, shifts] : by_model) {
    std::ranges::stable_sort(shifts, std::ranges::greater{},
                             [](const FleetShift* shift) { return std::abs(shift->ratio - 1); });
    std::vector<std::string> named;
    std::size_t rest = 0, cards = 0;
    double bound = 0;
    for (const FleetShift* shift : shifts) {
      cards = std::max(cards, shift->cards);
      const bool moved = shift->ratio_low > 1 || shift->ratio_high < 1;
      if (moved && std::abs(shift->ratio - 1) >= kWorthNaming && named.size() < kShiftsNamed) {
        named.push_back(shift_text(*shift));
        continue;
      }
      ++rest;
      bound = std::max({bound, 1 - shift->ratio_low, shift->ratio_high - 1});
    }
    const std::string others =
        rest == 0 ? std::string()
                  : fmt::format("{}{} within {:.1f} %", named.empty() ? "" : "the other ",
                                format_count(static_cast<std::int64_t>(rest), "figure"),
                                std::max(0.0, std::ceil(1000 * bound - 1e-9) / 10));
    if (!others.empty()) named.push_back(others);
    text += hanging("  ",
                    fmt::format("the fleet as a whole (median of {} {}s): {}", cards, model,
                                joined(named, "; ")),
                    width);
  }
  return text;
}

// The point of a curve that changed as most did.
const CurveComparison::Point& typical(const CurveComparison& curve) {
  return *std::ranges::min_element(curve.points, {}, [&](const CurveComparison::Point& point) {
    return std::abs(std::log(point.ratio / curve.loss_ratio()));
  });
}

// "launch graph (nodes:16)": with the point whose figures stand beside it.
std::string row_label(const Loss& loss) {
  if (loss.curve == nullptr || loss.curve->points.size() == 1) return loss.label;
  return fmt::format("{} ({})", loss.label, typical(*loss.curve).name);
}

// Cells of a loss: base, new, change.
std::vector<Cell> loss_cells(const Loss& loss) {
  const CeilingComparison* c = loss.ceiling;
  const double times = loss.is_time ? 1 / loss.ratio : loss.ratio;
  const std::string change = loss.unsteady              ? "unsteady"
                             : loss.ratio >= kManyTimes ? format_signed_percent(times - 1)
                             : loss.is_time             ? format_number(times) + " x as long"
                                                        : how_much(loss, false);
  if (c != nullptr)
    return {value_cell(c->base.value, c->unit), value_cell(c->next.value, c->unit),
            text_cell(change)};
  const CurveComparison::Point& point = typical(*loss.curve);
  return {value_cell(point.base, loss.curve->unit), value_cell(point.next, loss.curve->unit),
          text_cell(change)};
}

// All losses of a card.
Table losses_table(const std::string& place, const Blamed& blamed, const std::string& changes) {
  Table table{.key = "losses", .title = place, .remark = changes};
  table.columns = {{.key = "base", .head = "base"},
                   {.key = "new", .head = "new"},
                   {.key = "change", .head = "change"}};
  for (const Loss& loss : blamed.losses)
    table.rows.push_back({.key = loss.label,
                          .label = row_label(loss),
                          .cells = loss_cells(loss),
                          .remark = loss.ceiling == nullptr ? "" : explanation(*loss.ceiling)});
  return table;
}

}  // namespace

std::string fleet_size(const CompareResult& result) {
  const std::size_t compared = compared_cards(result);
  std::set<std::string> machines;
  for (const DeviceComparison& device : result.devices)
    if (device.is_gpu()) machines.insert(device.machine);
  const std::string text =
      fmt::format("{} on {}", format_count(static_cast<std::int64_t>(compared), "card"),
                  format_count(std::ssize(machines), "machine"));
  if (result.cards == compared) return text;
  return fmt::format("{} ({} on one side alone, not compared)", text, result.cards - compared);
}

std::string machine_point(const CompareResult& result) {
  const auto blamed = blamed_by(result, result.verdict());
  if (blamed.size() == 1)
    return fmt::format("{}: {}", place_text(blamed[0].first), what_of(blamed[0].second, kOfOne));
  std::vector<std::string> named;
  for (const auto& [name, found] : blamed)
    named.push_back(fmt::format("{} ({})", place_text(name), what_of(found, kOfEach)));
  return shortened(named);
}

std::string fleet_point(const CompareResult& result) {
  const std::string_view verdict = result.verdict();
  std::vector<std::string> parts;
  std::vector<const FleetShift*> shifts;
  for (const FleetShift& shift : result.shifts)
    if (shift.verdict == Verdict::kSlower) shifts.push_back(&shift);
  std::ranges::stable_sort(shifts, {}, &FleetShift::ratio);
  if (!shifts.empty())
    parts.push_back(
        fmt::format("the fleet as a whole: {}{}", shift_text(*shifts[0]),
                    shifts.size() > 1 ? fmt::format(", and {} more", shifts.size() - 1) : ""));
  const auto blamed = blamed_by(result, verdict);
  std::size_t cards = 0;
  std::set<std::string> machines;
  std::vector<std::string> named;
  for (const auto& [name, found] : blamed) {
    if (is_gpu(name.second))
      ++cards;
    else
      machines.insert(name.first);
    named.push_back(fmt::format("{} ({})", place_text(name),
                                what_of(found, blamed.size() == 1 ? kOfOne : kOfEach)));
  }
  std::vector<std::string> counted;
  // A card that only one side has was not compared.
  const bool any_alone =
      std::ranges::any_of(blamed, [](const auto& each) { return each.second.device == nullptr; });
  if (cards > 0)
    counted.push_back(any_alone
                          ? fmt::format("{} of {} cards", cards, result.cards)
                          : fmt::format("{} of {} cards compared", cards, compared_cards(result)));
  if (!machines.empty())
    counted.push_back(fmt::format("{} of {} machines", machines.size(), result.machines.size()));
  if (!named.empty())
    parts.push_back(fmt::format("{}: {}", joined(counted, " and "), shortened(named)));
  if (const std::vector<std::string> gone = lost(result); verdict == "slower" && !gone.empty())
    parts.push_back("not in the new profiles: " + shortened(gone));
  return joined(parts, "; ");
}

std::string deviating_cards(const CompareResult& result, std::size_t width) {
  const auto common = common_changes(result);
  std::vector<std::pair<std::string, Blamed>> cards;
  for (auto& [name, blamed] : blamed_by(result, "slower"))
    if (blamed.device != nullptr && !blamed.losses.empty())
      cards.emplace_back(place_text(name), std::move(blamed));
  if (cards.size() <= kFewCompared) {
    std::string text;
    for (const auto& [place, blamed] : cards)
      text +=
          '\n' + text_of(losses_table(place, blamed, own_changes(*blamed.device, common)), width);
    return text;
  }
  Table table{.key = "cards", .label_head = "slower or unsteady"};
  table.columns = {{.key = "figure", .head = "largest loss", .is_text = true},
                   {.key = "base", .head = "base"},
                   {.key = "new", .head = "new"},
                   {.key = "change", .head = "change"},
                   {.key = "figures", .head = "figures"}};
  for (const auto& [place, blamed] : cards) {
    std::vector<Cell> cells = loss_cells(blamed.losses[0]);
    cells.insert(cells.begin(), text_cell(row_label(blamed.losses[0])));
    cells.push_back(number_cell(Format::kExact, static_cast<double>(blamed.reasons.size())));
    table.rows.push_back({.key = place,
                          .label = place,
                          .cells = std::move(cells),
                          .remark = own_changes(*blamed.device, common)});
  }
  if (const std::size_t all = table.rows.size(); all > kMostCards) {
    table.rows.resize(kMostCards);
    table.notes.push_back(
        fmt::format("and {} more, which lost less; --all shows them", all - kMostCards));
  }
  return '\n' + text_of(table, width);
}

std::string fleet_notes(const CompareResult& result, std::size_t width) {
  std::string text;
  for (const DeviceComparison& device : result.devices) {
    if (!device.is_gpu()) continue;
    const std::string place = place_text({device.machine, device.key});
    if (!device.moved_from.empty())
      text += hanging(
          "  ", fmt::format("{}: {} was in {} before", place, device.next_card, device.moved_from),
          width);
    if (device.replaced())
      text += hanging(
          "  ", fmt::format("{}: another card, {} → {}", place, device.base_card, device.next_card),
          width);
  }
  for (const auto& [change, count] : common_changes(result)) {
    const auto& [what, base, next] = change;
    text += hanging(
        "  ", fmt::format("{} {} → {} on {} of {} cards", what, base, next, count, result.cards),
        width);
  }
  return text + shifts_text(result, width);
}

}  // namespace peakline
