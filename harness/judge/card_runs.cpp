#include "harness/judge/card_runs.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "harness/hardware/usual_spread.hpp"
#include "harness/statistics/sm_clock.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/cards.hpp"
#include "harness/values/resources.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

constexpr std::size_t kFewestSiblings = 3;

// A node's figures other than ceilings, by benchmark. Higher is better for all figures, so a
// latency counts as dependent loads per second.
struct NodeFigure {
  std::string_view id, label, unit;
  Basis basis = Basis::kMeasured;
  std::string_view theory_of = {};  // a GPU's resource that bounds it
};
constexpr std::array<NodeFigure, 6> kNodeFigures = {
    {{"p2p.latency", "loads from another GPU, one after another", "load/s"},
     {"pcie.concurrent.h2d", "PCIe H2D with all GPUs at once", "B/s"},
     {"pcie.concurrent.d2h", "PCIe D2H with all GPUs at once", "B/s"},
     {"pcie.concurrent.both", "PCIe both ways with all GPUs at once", "B/s"},
     {"hbm.concurrent", "HBM read with all GPUs at once", "B/s", Basis::kMeasured, "hbm.read"},
     {"gemm.concurrent", "BF16 GEMM with all GPUs at once", "FLOP/s", Basis::kSustained,
      "tensor.bf16"}}};

using Peaks = std::map<std::pair<std::string_view, Basis>, const Ceiling*>;

Peaks peaks_of(const DeviceView& device) {
  Peaks peaks;
  for (const Ceiling* row : device.ceilings)
    if (row->measurement.empty()) peaks.try_emplace({row->resource, row->basis}, row);
  return peaks;
}

std::optional<double> peak(const Peaks& peaks, std::string_view resource, Basis basis) {
  const auto found = peaks.find({resource, basis});
  return found == peaks.end() ? std::nullopt : std::optional(found->second->value);
}

// Excluded from populations: wrong, impossible, or unsteady unless by a host's neighbours.
bool disturbed(const DeviceView& device, const Ceiling& row) {
  const Measurement* source = device.source(row);
  const bool scatters = own_scatter(device, row).excessive.has_value();
  if (source == nullptr) return scatters;
  const bool shared =
      row.resource == "pcie.bidirectional" && in_virtual_machine(device.profile->host);
  return source->flags.implausible || source->verified == false ||
         (source->flags.unstable && !shared) || scatters;
}

double clock_share(const std::optional<double>& clock_hz, const DeviceFacts& gpu) {
  const auto& most = gpu.sm_clock_max_hz;
  return clock_hz && most && *most > 0 ? std::min(1.0, *clock_hz / *most) : 0;
}

// theory: of the figure; nullptr: none.
double clock_seen(const DeviceFacts& gpu, const Ceiling* theory) {
  if (theory == nullptr || !theory->conditions.sm_clock_hz) return 1;
  const double assumed_hz = *theory->conditions.sm_clock_hz;
  const auto seen = possible_clock(highest_sm_clock_hz(gpu), assumed_hz, gpu.sm_clock_step_hz);
  return seen ? std::max(1.0, *seen / assumed_hz) : 1;
}

RunFigure figure_of(const DeviceView& device, const Ceiling& row, const Peaks& peaks) {
  const Measurement* source = device.source(row);
  RunFigure figure{{row.resource, row.basis}};
  figure.unit = row.unit;
  figure.value = row.value;
  figure.measurement = row.measurement;
  if (source != nullptr) figure.method_version = source->method_version;
  figure.theory = peak(peaks, row.resource, Basis::kTheoretical);
  figure.datasheet = peak(peaks, row.resource, Basis::kDatasheet);
  const UsualSpread& usual =
      usual_spread(row.resource, row.basis, site_of(row.device, device.profile->host));
  // The class's spread covers the interval up to its usual width.
  figure.own =
      std::max(0.0, own_scatter(device, row).believed - usual.usual_half_width / kNormal95);
  if (device.facts == nullptr) return figure;
  if (is_compute(row.unit))
    figure.clock_share = clock_share(row.conditions.sm_clock_hz, *device.facts);
  const auto theory = peaks.find({row.resource, Basis::kTheoretical});
  figure.clock_seen = clock_seen(*device.facts, theory == peaks.end() ? nullptr : theory->second);
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

// The first error, named as `check` names its rule; empty without errors.
std::string error_of(const DeviceView& view) {
  const auto error = std::ranges::find(view.findings, Severity::kError, &Finding::severity);
  return error == view.findings.end() ? "" : "health/" + (*error)->code;
}

}  // namespace

std::string_view to_string(RuleGroup group) {
  return name_of(
      {"memory", "compute", "tensor", "host_link", "gpu_links", "facts", "health", "devices"},
      group);
}

std::string_view label_of(RuleGroup group) {
  return name_of({"memory", "compute", "Tensor Cores", "host link", "links between GPUs", "facts",
                  "health", "number of GPUs"},
                 group);
}

std::optional<RuleGroup> rule_group_of(std::string_view resource) {
  const std::string_view part = part_of(resource);
  for (const std::string_view memory : {"hbm", "l2", "l1", "shared"})
    if (part == memory) return RuleGroup::kMemory;
  if (part == "cuda_core" || part == "gemm") return RuleGroup::kCompute;
  if (part == "tensor") return RuleGroup::kTensor;
  if (part == "pcie" || part == "c2c") return RuleGroup::kHostLink;
  if (part == "nvlink" || part == "nccl" || part == "p2p") return RuleGroup::kGpuLinks;
  return std::nullopt;
}

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

bool is_of_node(std::string_view figure) {
  return rule_group_of(figure) == RuleGroup::kGpuLinks ||
         std::ranges::find(kNodeFigures, figure.substr(0, figure.find('/')), &NodeFigure::id) !=
             kNodeFigures.end();
}

std::vector<RunFigure> figures_together(const DeviceView& node) {
  std::vector<RunFigure> figures;
  for (const NodeFigure& asked : kNodeFigures) {
    const MeasuredPoint* slowest = nullptr;
    double least = 0, most = 0;
    std::set<GpuPair> measured;
    for (const MeasuredPoint& point : *node.points) {
      if (point.what->id != asked.id || !point.sound || point.value <= 0) continue;
      if (text_param(point.what->params, "beside").value_or("all") != "all") continue;
      const double rate = point.what->unit == "s" ? 1 / point.value : point.value;
      most = std::max(most, rate);
      if (const auto gpu = first_gpu(point.what->params))
        measured.insert(std::minmax(*gpu, second_gpu(point.what->params).value_or(*gpu)));
      if (slowest != nullptr && rate >= least) continue;
      slowest = &point;
      least = rate;
    }
    if (slowest == nullptr) continue;
    RunFigure& figure = figures.emplace_back();
    figure.resource = asked.id;
    figure.basis = asked.basis;
    figure.unit = asked.unit;
    figure.method_version = slowest->what->method_version;
    figure.value = least;
    figure.fastest = most;
    figure.of = std::move(measured);
    figure.measurement = slowest->what->name();
    figure.label = asked.label;
    const DeviceFacts* gpu = facts_for(*node.profile, *slowest->what);
    if (asked.theory_of.empty() || gpu == nullptr) continue;
    const auto row_of = [&](Basis of) {
      return find_ceiling(node.profile->ceilings, gpu->uuid, asked.theory_of, of);
    };
    const Ceiling *theory = row_of(Basis::kTheoretical), *datasheet = row_of(Basis::kDatasheet);
    if (theory != nullptr) figure.theory = theory->value;
    if (datasheet != nullptr) figure.datasheet = datasheet->value;
    figure.clock_seen = clock_seen(*gpu, theory);
    if (is_compute(figure.unit)) figure.clock_share = clock_share(slowest->sm_clock_hz, *gpu);
  }
  return figures;
}

CardFacts node_facts(const DeviceView& node) {
  const std::vector<DeviceFacts>& gpus = node.profile->devices;
  if (gpus.empty()) return {};
  CardFacts facts = card_facts(gpus[0], node.profile->host);
  facts.model = node.model();
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
    // A node is as fast as its slowest pair.
    figure.resource.resize(without_pair(figure.resource).size());
    const auto [place, added] =
        places.try_emplace({figure.resource, figure.basis}, run.figures.size());
    if (added) {
      run.figures.push_back(std::move(figure));
      continue;
    }
    RunFigure& known = run.figures[place->second];
    figure.fastest = std::max({figure.value, known.value, known.fastest});
    if (figure.value < known.value)
      known = std::move(figure);
    else
      known.fastest = figure.fastest;
  }
  std::ranges::move(figures_together(node), std::back_inserter(run.figures));
  return run;
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
      run.fault = fault != faults.end() ? fault->second : error_of(view);
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

}  // namespace peakline
