#include "harness/core/instruction_curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "harness/core/curves.hpp"
#include "harness/core/spec.hpp"
#include "harness/core/units.hpp"

namespace peakline {
namespace {

// One of each kind, for the sentence.
constexpr std::array<std::string_view, 6> kExamples = {"fp32_fma",  "fp64_fma", "fp16x2_fma",
                                                       "int32_mad", "ex2",      "shuffle"};
// What the loop and the start and end of a launch may cost.
constexpr double kNearDocumented = 0.98;

bool is_example(std::string_view op) { return std::ranges::find(kExamples, op) != kExamples.end(); }

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

CurveRule instruction_throughput_curve(std::string topic) {
  return {
      std::move(topic), [](const CurveView& curve, Sentence& sentence) {
        if (curve.device == nullptr) return;
        std::vector<std::string> examples;
        int documented = 0, near = 0;
        std::string furthest;
        double least = 1;
        for (const Measurement* m : curve.points) {
          const auto op = text_param(m->params, "op");
          const auto found = results_per_clock_per_sm(*m, *curve.device);
          if (!op || !found) continue;
          sentence.value(*op + "_per_clock_per_sm", *found);
          const auto stated = results_per_clock_per_sm(curve.device->compute_major,
                                                       curve.device->compute_minor, *op);
          if (is_example(*op))
            examples.push_back(fmt::format("{} {}", *op, format_number(*found)) +
                               (stated ? fmt::format(" of {:.0f}", *stated) : ""));
          if (!stated) continue;
          sentence.value(*op + "_documented_per_clock_per_sm", *stated);
          ++documented;
          near += *found >= kNearDocumented * *stated;
          if (*found / *stated < least) {
            least = *found / *stated;
            furthest = *op;
          }
        }
        if (!examples.empty())
          sentence.add(fmt::format("per clock and SM {}", fmt::join(examples, ", ")));
        if (documented > 0)
          sentence.add(fmt::format("{} of {} within 2 % of the documented rate, furthest {} at {}",
                                   near, documented, furthest, format_percent(least)));
      }};
}

CurveRule instruction_latency_curve(std::string topic) {
  return {std::move(topic), [](const CurveView& curve, Sentence& sentence) {
            std::vector<std::string> examples;
            for (const Measurement* m : curve.points) {
              const auto op = text_param(m->params, "op");
              const auto cycles = latency_cycles(*m);
              if (!op || !cycles) continue;
              sentence.value(*op + "_cycles", *cycles);
              if (is_example(*op)) examples.push_back(fmt::format("{} {:.1f}", *op, *cycles));
            }
            if (!examples.empty())
              sentence.add(fmt::format("latency in cycles {}", fmt::join(examples, ", ")));
          }};
}

CurveRule atomics_curve(std::string topic, std::string space, std::string label) {
  return {
      std::move(topic), [=](const CurveView& curve, Sentence& sentence) {
        std::vector<std::string> parts;
        std::map<std::string, double> apart;  // from device scope at most, by scope
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
          const std::string name = fmt::format("{}_{}{}", space, *op, device ? "" : "_" + scope);
          sentence.value(name + "_ops_per_s", *m->value);
          sentence.value(name + "_one_address_share", share);
        }
        if (!parts.empty())
          sentence.add(
              fmt::format("{} with one address per thread: {}", label, fmt::join(parts, "; ")));
        std::vector<std::string> scopes;
        for (const auto& [scope, difference] : apart) {
          scopes.push_back(fmt::format("{} within {}", scope, format_percent(difference)));
          sentence.value(fmt::format("{}_{}_scope_apart", space, scope), difference);
        }
        if (!scopes.empty())
          sentence.add(fmt::format("against device scope: {}", fmt::join(scopes, ", ")));
      }};
}

}  // namespace peakline
