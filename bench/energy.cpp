// What energy does the board take for a byte moved and an operation done?

#include "bench/gemm/curves.hpp"
#include "bench/pairs.hpp"
#include "bench/pcie/ways.hpp"
#include "bench/question.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {

void energy_idle(CudaBench& bench);
// The loads are those of other questions, which measure them as long as these points say.
void hbm_read(CudaBench& bench);
void hbm_write(CudaBench& bench);
void l2_read(CudaBench& bench);
void l1_read(CudaBench& bench);
void shared_read(CudaBench& bench);
void fma_fp32(CudaBench& bench);
void copy_locked_memory(CudaBench& bench, pcie::Memory memory, pcie::Direction direction);
void sms_link(NodeBench& bench, bool reads);

namespace {

constexpr const char *kTopic = "energy", *kLinkTopic = "energy of links", *kIdle = "energy.idle";
// H100s read their power a quarter of the time only (arXiv 2312.02741): over shorter loads, the
// reading depends on when it fell.
constexpr double kLoadSeconds = 3;
constexpr std::int64_t kHbmBytes = std::int64_t{8} << 30;
constexpr std::int64_t kPercentOfL2 = 40;
constexpr std::array kFormats = {"tf32", "bf16", "fp16", "fp8", "fp8_block"};

// The idle point of the device, or of the node's GPU of this index.
const Measurement* idle_of(const CurveView& curve, std::optional<int> gpu) {
  if (!gpu) return curve.measurement(kIdle);
  if (curve.profile == nullptr) return nullptr;
  const auto& devices = curve.profile->devices;
  const auto& measurements = curve.profile->measurements;
  const auto device = std::ranges::find(devices, *gpu, &DeviceFacts::index);
  const auto idle = std::ranges::find_if(measurements, [&](const Measurement& m) {
    return device != devices.end() && m.device == device->uuid && m.id == kIdle;
  });
  return idle == measurements.end() ? nullptr : &*idle;
}

// Energy of a byte or operation: the board's power under load over the rate, and the same of what
// the load adds to the power of the idle board.
void summarize(const CurveView& curve, std::optional<int> gpu, Figures& figures) {
  if (curve.points.empty() || !curve.points.front()->conditions.power_w) return;
  const Measurement& m = *curve.points.front();
  const double power = *m.conditions.power_w;
  figures.add("power", power);
  figures.add("gross", power / *m.value);
  const Measurement* idle = idle_of(curve, gpu);
  if (idle != nullptr && idle->conditions.power_w)
    figures.add("net", (power - *idle->conditions.power_w) / *m.value);
}

// gpu: whose power it is, by index, where the question is the node's.
CurveRule energy(const char* topic, const char* per, std::optional<int> gpu = {}) {
  return {topic,
          {{"power", "W"}, {"gross", per}, {"net", per}},
          [gpu](const CurveView& curve, Figures& figures) { summarize(curve, gpu, figures); }};
}

// The idle power, and with it the energy of GEMMs under load, which full runs measure anyway.
CurveRule idle_power() {
  return {
      kTopic,
      {{"power", "W"}, {"gemm_gross", "J/FLOP", {"format"}}, {"gemm_net", "J/FLOP", {"format"}}},
      [](const CurveView& curve, Figures& figures) {
        if (curve.points.empty() || !curve.points.front()->conditions.power_w) return;
        const double idle = *curve.points.front()->conditions.power_w;
        figures.add("power", idle);
        if (curve.profile == nullptr || curve.device == nullptr) return;
        for (const char* format : kFormats) {
          const Ceiling* row = find_ceiling(curve.profile->ceilings, curve.device->uuid,
                                            std::string("tensor.") + format, Basis::kSustained);
          if (row == nullptr || !row->conditions.power_w) continue;
          const Params by = {{"format", format}};
          figures.add("gemm_gross", *row->conditions.power_w / row->value, by);
          figures.add("gemm_net", (*row->conditions.power_w - idle) / row->value, by);
        }
      }};
}

std::string title(const TitleView& view) {
  const auto net = [&](const char* id, const char* unit) {
    return format_value(view.value({.id = id, .name = "net"}), unit);
  };
  std::string text = fmt::format(
      "The board takes {:.0f} W idle; on top of that, {} of device memory read, {} of the L2, {} "
      "of "
      "FP32 FMAs",
      view.value({.id = kIdle, .name = "power"}), net("energy.hbm_read", "J/B"),
      net("energy.l2_read", "J/B"), net("energy.fma_fp32", "J/FLOP"));
  for (const char* format : {"bf16", "fp8"})
    if (const Figure* gemm =
            view.find({.id = kIdle, .name = "gemm_net", .by = {{"format", std::string(format)}}}))
      text += fmt::format(", {} of {} GEMMs", format_value(gemm->value, gemm->unit),
                          format_label(format));
  return text;
}

Picture picture() {
  const auto bars = [](const char* label, std::vector<PictureSeries> series) {
    return Panel{.kind = PanelKind::kBars,
                 .x = {.label = label, .per = 1e-12, .low = 0},
                 .series = std::move(series)};
  };
  Panel operations = bars(
      "pJ a FLOP, beyond the idle board",
      {{"FP32 FMA", {"energy.fma_fp32", "net"}}, {"{} GEMM", {kIdle, "gemm_net"}, "format", 1}});
  for (const char* format : kFormats) operations.names.emplace_back(format, format_label(format));
  return {.key = "energy",
          .subject = "Energy: what a byte and an operation cost the board",
          .how =
              "Net is what a load of seconds adds to the power of the idle board, over its rate; "
              "gross has the idle board's power in it. The board's own counter measured both, not "
              "the wall's. A copy over the host link costs the host as well, which is not in it, "
              "and adds so few watts that runs differ by a fifth.",
          .panels = {bars("pJ a byte, beyond the idle board",
                          {{"device memory read", {"energy.hbm_read", "net"}},
                           {"device memory write", {"energy.hbm_write", "net"}},
                           {"L2 read", {"energy.l2_read", "net"}},
                           {"L1 read", {"energy.l1_read", "net"}},
                           {"shared memory read", {"energy.shared_read", "net"}},
                           {"PCIe H2D", {"energy.pcie_h2d", "net"}, "", 1},
                           {"PCIe D2H", {"energy.pcie_d2h", "net"}, "", 1}}),
                     std::move(operations)}};
}

std::string link_title(const TitleView& view) {
  return fmt::format("Beyond its idle power, the GPU that reads over NVLink takes {}",
                     format_value(view.value({.id = "energy.nvlink_read", .name = "net"}), "J/B"));
}

Point load(Params params = {}) {
  return {.params = std::move(params),
          .phase = Phase::kWarm,
          .timing = Timing::kSustained,
          .quick = true,
          .seconds = kLoadSeconds + 1,
          .load_s = kLoadSeconds,
          .whole_load = true};
}

}  // namespace

void register_energy(Registry& registry, bool wanted, const std::vector<int>& gpus) {
  if (!wanted) return;
  const auto add = [&](Benchmark benchmark, Run run) {
    benchmark.option = "--energy";
    registry.add(std::move(benchmark), std::move(run));
  };
  constexpr double kIdleSeconds = 14;  // its rest included
  Point idle = load();
  idle.seconds = kIdleSeconds;
  add({.id = kIdle,
       .what = "Power of the idle board with a CUDA context (--energy), ten seconds after load",
       .work = "a wait of 50 ms; the power stands in the conditions",
       .quantity = Quantity::kTime,
       .curves = {idle_power()},
       .topics = {{kTopic, title, picture()}},
       .points = {idle}},
      on_gpu([](auto& bench) { energy_idle(bench); }));
  const auto bytes = [&](const char* id, const char* what, Loads loads, Limit limit, Params params,
                         Run run) {
    add({.id = id,
         .what = what,
         .work = "bytes moved, counted once",
         .quantity = Quantity::kByteRate,
         .loads = loads,
         .limit = std::move(limit),
         .curves = {energy(kTopic, "J/B")},
         .points = {load(std::move(params))}},
        std::move(run));
  };
  const auto on_chip = [] {
    return only_bound(on_chip_bandwidth(), "NVIDIA states no bandwidth of the caches");
  };
  bytes("energy.hbm_read", "Device memory reads under load (--energy)", Loads::kMemory,
        device_memory_bandwidth(), {{"width", 16}, {"bytes", kHbmBytes}},
        on_gpu([](auto& bench) { hbm_read(bench); }));
  bytes("energy.hbm_write", "Device memory writes under load (--energy)", Loads::kMemory,
        device_memory_bandwidth(), {{"width", 16}, {"bytes", kHbmBytes}},
        on_gpu([](auto& bench) { hbm_write(bench); }));
  bytes("energy.l2_read", "L2 reads past the L1 under load (--energy)", Loads::kMemory, on_chip(),
        {{"percent_of_l2", kPercentOfL2}}, on_gpu([](auto& bench) { l2_read(bench); }));
  bytes("energy.l1_read", "L1 reads under load (--energy)", Loads::kCores, on_chip(), {},
        on_gpu([](auto& bench) { l1_read(bench); }));
  bytes("energy.shared_read", "Shared memory reads under load (--energy)", Loads::kCores, on_chip(),
        {}, on_gpu([](auto& bench) { shared_read(bench); }));
  const Params copy = {{"bytes", static_cast<std::int64_t>(pcie::kLargest)}};
  bytes("energy.pcie_h2d", "Copies from pinned host memory under load (--energy)", Loads::kLink,
        host_link(1), copy, on_gpu([](auto& bench) {
          copy_locked_memory(bench, pcie::Memory::kPinned, pcie::Direction::kToDevice);
        }));
  bytes("energy.pcie_d2h", "Copies to pinned host memory under load (--energy)", Loads::kLink,
        host_link(1), copy, on_gpu([](auto& bench) {
          copy_locked_memory(bench, pcie::Memory::kPinned, pcie::Direction::kToHost);
        }));
  add({.id = "energy.fma_fp32",
       .what = "FP32 FMAs of the CUDA cores under load (--energy)",
       .work = "2 FLOP per FMA and thread",
       .quantity = Quantity::kFlopRate,
       .loads = Loads::kCores,
       .limit = compute_peak({"cuda_core.fp32"}),
       .curves = {energy(kTopic, "J/FLOP")},
       .points = {load()}},
      on_gpu([](auto& bench) { fma_fp32(bench); }));
  Point link = load({{"pair", pair_name({gpus[0], gpus[1]})}, {"sms", "all"}});
  link.phase = Phase::kNodeLoad;
  link.gpus = {gpus[0], gpus[1]};
  add({.id = "energy.nvlink_read",
       .what = "Reads from another GPU under load (--energy); the energy is the reading board's",
       .work = "bytes over the link, counted once",
       .quantity = Quantity::kByteRate,
       .loads = Loads::kLink,
       .limit = peer_link(1),
       .curves = {energy(kLinkTopic, "J/B", gpus[0])},
       .topics = {{kLinkTopic, link_title}},
       .points = {link}},
      on_node([](auto& bench) { sms_link(bench, true); }));
}

}  // namespace peakline::bench
