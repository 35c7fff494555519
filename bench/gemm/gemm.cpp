// What do matrix products reach: from rest, under load, with cold caches, by layout and data?

#include "bench/gemm/curves.hpp"
#include "bench/gemm/formats.hpp"
#include "bench/gemm/operand_data.hpp"
#include "bench/question.hpp"
#include "harness/benchmark/load_points.hpp"

namespace peakline::bench {

void gemm_products(CudaBench& bench, std::string_view format);

namespace {

// Short: data differ by far more than a swing of the power control.
constexpr double kDataLoadSeconds = 0.3;

struct Parts {
  bool variant = false;  // of another format: only burst, by the brief rule
  bool quick = false;
  bool layouts = true;
  bool cleared = false;
  std::vector<std::string_view> data = {};  // of kOperandData, in its order
  double soak_s = 0;
};

std::vector<Point> gemm_points(const Parts& parts) {
  std::vector<Point> points;
  const auto add = [&](const char* name, std::string_view value, Phase phase, Rule rule,
                       double seconds) {
    points.push_back(
        {.params = {{name, std::string(value)}}, .phase = phase, .rule = rule, .seconds = seconds});
  };
  if (parts.variant) {
    add("load", "burst", Phase::kBurst, Rule::kBrief, 1.2);
    return points;
  }
  for (Point& point : load_points()) {
    point.quick = point.quick && parts.quick;
    // A share of the search, and filling the operands.
    point.seconds += point.rule == Rule::kBurst ? 0.9 : 0.2;
    points.push_back(std::move(point));
  }
  if (parts.layouts)
    for (const char* layout : {"NN", "NT", "TN", "TT"})
      add("layout", layout, Phase::kWarm, Rule::kCurve, 0.1);
  if (parts.cleared) add("l2", "cleared", Phase::kWarm, Rule::kBrief, 1.2);
  for (const std::string_view data : parts.data) {
    add("data", data, Phase::kSustained, Rule::kSustained, 0.8);
    points.back().load_s = kDataLoadSeconds;
  }
  if (parts.soak_s > 0) {
    add("load", "soak", Phase::kSoak, Rule::kSoak, parts.soak_s + 1);
    points.back().load_s = parts.soak_s;
    points.back().quick = true;
  }
  return points;
}

}  // namespace

void register_gemm(Registry& registry, double soak_s) {
  const auto add = [&](const char* name, const Parts& parts, std::vector<Topic> topics = {}) {
    const ProductFormat& format = product_format(name);
    registry.add({.id = std::string("gemm.") + name,
                  .what = format.what,
                  .work = format.whole_numbers ? "2 x M x N x K operations per product"
                                               : "2 x M x N x K FLOP per product",
                  .quantity = quantity_of(format),
                  .method_version = 3,
                  .loads = Loads::kCores,
                  .varies_with = VariesWith::kSearch,
                  .limit = limit_of(format),
                  .ceilings = parts.variant ? std::vector<CeilingRule>() : load_ceilings_of(format),
                  .curves = {sustained_load_curve(format_label(name)), operand_data_curve(name),
                             variants_curve(name), soak_curve()},
                  .topics = std::move(topics),
                  .runs_on = devices_of(format),
                  .never_run = format.blocks,
                  .points = gemm_points(parts)},
                 on_gpu([name](auto& bench) { gemm_products(bench, name); }));
  };
  const std::vector<std::string_view> all_data(kOperandData.begin(), kOperandData.end());
  add("bf16", {.quick = true, .cleared = true, .data = all_data, .soak_s = soak_s},
      {{kSustainedLoad, sustained_title},
       {kOperandDataTopic, operand_data_title, operand_data_picture()},
       {kVariants, variants_title, variants_picture()},
       {kSoak, soak_title}});
  add("fp16", {.quick = true, .cleared = true});
  add("tf32", {.quick = true, .cleared = true});
  // Normal data and zeros are the extremes; FP8 needs no others.
  add("fp8", {.quick = true, .cleared = true, .data = {"normal", "zeros"}});
  add("fp8_e5m2", {.variant = true});
  add("fp8_accurate", {.variant = true});
  add("int8", {});
  // Blocks run along k, which must be contiguous: only TN works.
  add("mxfp8", {.layouts = false});
  add("mxfp8_e5m2", {.variant = true});
  add("nvfp4", {.layouts = false});
  add("fp64", {});
  add("fp32", {});
}

}  // namespace peakline::bench
