#include "harness/values/figure.hpp"

#include <algorithm>

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

}  // namespace peakline
