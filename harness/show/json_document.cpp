#include "harness/show/json_document.hpp"

namespace peakline {

json document_of(const Judged& rule) {
  json object = {{"code", to_string(rule.kind)},
                 {"name", to_string(rule.name)},
                 {"outcome", to_string(rule.outcome)},
                 {"text", describe(rule)}};
  if (rule.group) object["group"] = to_string(*rule.group);
  if (!rule.reason.empty()) object["reason"] = rule.reason;
  if (!rule.cause.empty()) object["cause"] = rule.cause;
  if (!rule.value) return object;
  object.update({{"value", optional(rule.value)},
                 {"first_value", optional(rule.first_value)},
                 {"limit", optional(rule.limit)},
                 {"unit", rule.unit}});
  if (!rule.found) return object;
  const Yardstick& y = rule.found->by;
  object.update({{"yardstick", to_string(y.kind)},
                 {"source", y.source},
                 {"median", y.centre},
                 {"cards", y.cards},
                 {"between_cards", y.between_cards},
                 {"between_runs", y.between_runs}});
  if (rule.found->deviations > 0 && !rule.limited_by_site)
    object["limit_deviations"] = rule.found->deviations;
  return object;
}

}  // namespace peakline
