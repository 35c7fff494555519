#include "harness/conclude/instruction_curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/conclude/curves.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Loop and launch overhead cost up to 2 % of the documented rate.
constexpr double kNearDocumented = 0.98;

// Lowest and highest figure, with their instructions.
class Range {
 public:
  void add(const std::string& op, double figure) {
    if (lowest_.first.empty() || figure < lowest_.second) lowest_ = {op, figure};
    if (highest_.first.empty() || figure > highest_.second) highest_ = {op, figure};
  }
  // "<what> from 2.00 (match) to 127 (fp32_fma)"; nothing without figures.
  void say(std::string_view what, Sentence& sentence) const {
    if (lowest_.first.empty()) return;
    sentence.add(fmt::format("{} from {} ({}) to {} ({})", what, format_number(lowest_.second),
                             lowest_.first, format_number(highest_.second), highest_.first));
  }

 private:
  std::pair<std::string, double> lowest_, highest_;
};

}  // namespace

std::optional<double> results_per_clock_per_sm(const Measurement& m, const DeviceFacts& device) {
  const auto& clock_hz = m.conditions.sm_clock_hz;
  if (!m.value || !clock_hz || *clock_hz <= 0 || device.sm_count.value_or(0) <= 0)
    return std::nullopt;
  return *m.value / *clock_hz / *device.sm_count;
}

std::optional<double> latency_cycles(const Measurement& m) {
  if (!m.value || !m.conditions.sm_clock_hz) return std::nullopt;
  return *m.value * *m.conditions.sm_clock_hz;
}

CurveRule instruction_throughput_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    if (curve.device == nullptr) return;
    Range range;
    int documented = 0, near = 0;
    std::string furthest;
    double least = 1;
    for (const Measurement* m : curve.points) {
      const auto op = text_param(m->params, "op");
      const auto found = results_per_clock_per_sm(*m, *curve.device);
      if (!op || !found) continue;
      sentence.figure("results", *found, {{"op", *op}});
      range.add(*op, *found);
      const auto stated =
          results_per_clock_per_sm(curve.device->compute_major, curve.device->compute_minor, *op);
      if (!stated) continue;
      sentence.figure("documented", *stated, {{"op", *op}});
      ++documented;
      near += *found >= kNearDocumented * *stated;
      if (*found / *stated < least) {
        least = *found / *stated;
        furthest = *op;
      }
    }
    range.say("per clock and SM", sentence);
    if (documented > 0)
      sentence.add(fmt::format("{} of {} within 2 % of the documented rate, furthest {} at {}",
                               near, documented, furthest, format_percent(least)));
  };
  return {kInstructions,
          {{"results", "1/clk/SM", {"op"}, role::kResults},
           {"documented", "1/clk/SM", {"op"}, role::kDocumentedResults}},
          summarize};
}

CurveRule instruction_latency_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    Range range;
    for (const Measurement* m : curve.points) {
      const auto op = text_param(m->params, "op");
      const auto cycles = latency_cycles(*m);
      if (!op || !cycles) continue;
      sentence.figure("cycles", *cycles, {{"op", *op}});
      range.add(*op, *cycles);
    }
    range.say("latency in cycles", sentence);
  };
  return {kInstructions, {{"cycles", "cycles", {"op"}, role::kCycles}}, summarize};
}

CurveRule atomics_curve(std::string topic, const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    std::vector<std::string> parts;
    std::map<std::string, double> apart;  // largest deviation from device scope, by scope
    for (const Measurement* m : curve.points) {
      if (const auto scope = text_param(m->params, "scope"); scope && *scope != "device") {
        Params at_device = m->params;
        for (auto& [name, value] : at_device)
          if (name == "scope") value = std::string("device");
        if (const Measurement* same = single(curve, at_device))
          apart[*scope] = std::max(apart[*scope], std::abs(*m->value / *same->value - 1));
      }
      if (text_param(m->params, "addresses") != "per_thread") continue;
      Params contended = m->params;
      for (auto& [name, value] : contended)
        if (name == "addresses") value = std::string("one");
      const Measurement* one = single(curve, contended);
      const auto op = text_param(m->params, "op");
      if (one == nullptr || !op) continue;
      const std::string scope = text_param(m->params, "scope").value_or("device");
      const bool device = scope == "device";
      const double share = *one->value / *m->value;
      if (device)
        parts.push_back(fmt::format("{} {}, {} on one", *op, format_value(*m->value, m->unit),
                                    format_value(*one->value, one->unit)));
      const Params by = {{"op", *op}, {"scope", scope}};
      sentence.figure("rate", *m->value, by);
      sentence.figure("one_address_share", share, by);
    }
    if (!parts.empty())
      sentence.add(
          fmt::format("{} with one address per thread: {}", label, fmt::join(parts, "; ")));
    std::vector<std::string> scopes;
    for (const auto& [scope, difference] : apart) {
      scopes.push_back(fmt::format("{} within {}", scope, format_percent(difference)));
      sentence.figure("furthest_from_device", difference, {{"scope", scope}});
    }
    sentence.add("against device scope:", scopes);
  };
  return {std::move(topic),
          {{"rate", "OP/s", {"op", "scope"}},
           {"one_address_share", "1", {"op", "scope"}},
           {"furthest_from_device", "1", {"scope"}}},
          summarize};
}

}  // namespace peakline
