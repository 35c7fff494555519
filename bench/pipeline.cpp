#include "bench/pipeline.hpp"

#include "bench/question.hpp"

namespace peakline::bench {

std::optional<double> overlap_share(const Measurement& m) {
  const auto alone_s = [&](const char* part) {
    return static_cast<double>(int_param(m.launch, part).value_or(0)) * 1e-9;
  };
  const double copy_s = std::max(alone_s(kCopyInNs), alone_s(kCopyOutNs));
  const double kernel_s = alone_s(kKernelNs);
  if (copy_s <= 0 || std::max(copy_s, kernel_s) > kMatched * std::min(copy_s, kernel_s))
    return std::nullopt;
  return std::max(copy_s, kernel_s) / m.summary->median;
}

unsigned steps_that_take(double seconds, StepsTiming few, StepsTiming many) {
  const double step_s = std::max((many.seconds - few.seconds) / (many.steps - few.steps),
                                 many.seconds / (16.0 * many.steps));
  return static_cast<unsigned>(std::max(0.0, few.steps + (seconds - few.seconds) / step_s)) + 1;
}

CurveRule overlap_curve(const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    std::vector<std::string> parts;
    for (const char* memory : {"pinned", "pageable"}) {
      const auto points = sweep_where(curve, "chunk", "memory", std::string(memory));
      double share = 0, hidden_from = 0;  // share: at the largest chunk; hidden_from 0: not hidden
      for (const auto& [chunk, m] : points) {
        const auto found = overlap_share(*m);
        if (!found) continue;
        share = *found;
        const Params by = {{"memory", memory}, {"chunk", std::llround(chunk)}};
        sentence.figure("share", share, by);
        sentence.figure("rate", *m->value, by);
        sentence.figure("hidden_rate", *m->value / share, by);
        if (share < kHidden)
          hidden_from = 0;
        else if (hidden_from == 0)
          hidden_from = chunk;
      }
      if (share == 0) continue;
      parts.push_back(parts.empty() ? fmt::format("{} of the slowest part's rate with {} memory",
                                                  format_percent(share), memory)
                                    : fmt::format("{} with {}", format_percent(share), memory));
      if (hidden_from == 0) continue;
      parts.back() +=
          fmt::format(" ({:.0f} % from chunks of {})", kHidden * 100, format_size(hidden_from));
      sentence.figure("hidden_from", hidden_from, {{"memory", memory}});
    }
    if (!parts.empty())
      sentence.add(fmt::format("{} while a kernel runs: {}", label, fmt::join(parts, ", ")));
  };
  return {"overlap",
          {{"share", "1", {"memory", "chunk"}},
           {"rate", "B/s", {"memory", "chunk"}},
           {"hidden_rate", "B/s", {"memory", "chunk"}},
           {"hidden_from", "B", {"memory"}}},
          summarize};
}

CurveRule fusion_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    std::vector<std::string> parts;
    for (const auto& [steps, fused] : sweep_where(curve, "steps", "kernels", "fused")) {
      const Measurement* separate =
          single(curve, {{"steps", std::llround(steps)}, {"kernels", "separate"}});
      if (separate == nullptr) continue;
      const double saving = 1 - fused->summary->median / separate->summary->median;
      const double by_bytes = 1 - fused->work.bytes() / separate->work.bytes();
      parts.push_back(fmt::format("{:.0f} steps {} ({} by bytes)", steps, format_percent(saving),
                                  format_percent(by_bytes)));
      sentence.figure("saving", saving, {{"steps", std::llround(steps)}});
      sentence.figure("saving_by_bytes", by_bytes, {{"steps", std::llround(steps)}});
    }
    sentence.add("time saved by one kernel:", parts);
  };
  return {"fusion", {{"saving", "1", {"steps"}}, {"saving_by_bytes", "1", {"steps"}}}, summarize};
}

CurveRule small_chain_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    std::map<double, std::map<std::string, double>> seconds;  // by bytes and kernels
    for (const auto& [bytes, m] : sweep(curve, "bytes")) {
      const double chain_s = m->summary->median / static_cast<double>(kChainsInARow);
      const std::string kernels = text_param(m->params, "kernels").value_or("");
      seconds[bytes][kernels] = chain_s;
      sentence.figure("time", chain_s, {{"kernels", kernels}, {"bytes", std::llround(bytes)}});
    }
    if (seconds.empty()) return;
    const auto& [bytes, of] = *seconds.begin();
    if (of.size() < 3) return;
    sentence.add(
        fmt::format("4 steps over {}: {} with a kernel each, {} as a graph of these, {} fused",
                    format_size(bytes), format_time(of.at("separate")), format_time(of.at("graph")),
                    format_time(of.at("fused"))));
  };
  return {"fusion", {{"time", "s", {"kernels", "bytes"}}}, summarize};
}

CurveRule waits_curve(const std::string& label, const std::string& param, std::string topic) {
  std::vector<FigureKind> kinds = {{"time", "s"}, {"cycles", "cycles"}};
  if (!param.empty())
    for (FigureKind& kind : kinds) kind.by = {param};
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    std::vector<std::string> parts;
    for (const Measurement* m : curve.points) {
      std::string part;
      Params by;
      if (const ParamValue* value = find_param(m->params, param)) {
        const bool counts = std::holds_alternative<std::int64_t>(*value);
        by = {{param, *value}};
        part = to_string(*value) + (counts ? " " + param : "") + " ";
        std::ranges::replace(part, '_', ' ');
      }
      part += format_time(*m->value);
      sentence.figure("time", *m->value, by);
      const auto& clock_hz = m->conditions.sm_clock_hz;
      if (clock_hz && m->conditions.sm_clock_source == ClockSource::kKernel) {
        const double cycles = *m->value * *clock_hz;
        part += fmt::format(" ({:.0f} cycles)", cycles);
        sentence.figure("cycles", cycles, by);
      }
      parts.push_back(std::move(part));
    }
    sentence.add(label, parts);
  };
  return {std::move(topic), std::move(kinds), summarize};
}

}  // namespace peakline::bench
