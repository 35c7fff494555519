#include "harness/values/figure.hpp"

#include <algorithm>
#include <iterator>

#include "harness/values/text.hpp"

namespace peakline {

std::string_view to_string(PureNumber number) {
  return name_of({"share", "factor", "count"}, number);
}

bool FigureQuery::operator()(const Figure& figure) const {
  const auto fits = [](std::string_view wanted, std::string_view found) {
    return wanted.empty() || wanted == found;
  };
  return fits(id, figure.id) && fits(name, figure.name) && fits(role, figure.role) &&
         std::ranges::all_of(by, [&](const auto& pair) {
           const ParamValue* found = find_param(figure.by, pair.first);
           return found != nullptr && *found == pair.second;
         });
}

const Figure* find_figure(std::span<const Figure> figures, const FigureQuery& query) {
  const auto found = std::ranges::find_if(figures, query);
  return found == figures.end() ? nullptr : &*found;
}

std::optional<std::pair<std::int64_t, std::int64_t>> full_between(
    const std::map<std::int64_t, double>& shares) {
  auto full = shares.end();
  while (full != shares.begin() && std::prev(full)->second >= role::kFullShare) --full;
  if (full == shares.begin() || full == shares.end()) return std::nullopt;
  return std::pair(std::prev(full)->first, full->first);
}

}  // namespace peakline
