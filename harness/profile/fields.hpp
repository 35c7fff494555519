#pragma once

// Describes the fields of each structure of a profile once, for reader, writer and schema, in the
// order of the file. `a(key, field, rule)`: always present, unless it is an empty std::optional.
// `a.maybe(key, field, rule, otherwise)`: omitted if equal to `otherwise`. `a.rule(...)`: a rule
// between fields.

#include "harness/profile/picture_fields.hpp"
#include "harness/profile/population_fields.hpp"
#include "harness/profile/rule.hpp"

namespace peakline::profile_format {

inline constexpr Rule kDevice{.what = "A GPU's UUID, host or node.", .min_length = 1};
inline constexpr Rule kResource{.what = "The name of a resource.", .min_length = 1};
inline constexpr Rule kPointName{.what = "id/name:value/... of the measurement it came from."};
inline constexpr Rule kCelsius{.what = "Degrees Celsius.", .range = Range::kSigned};
inline constexpr Rule kSeconds{.range = Range::kPositive};
// Drivers state 0 for what they do not know.
inline constexpr Rule kNeverZero{.range = Range::kPositive};
inline constexpr Rule kColumn{.gaps = true};

void fields(auto& a, Like<PcieLink> auto& v) {
  a("generation", v.generation, kNeverZero);
  a("width", v.width, {.what = "Lanes.", .range = Range::kPositive});
  a("max_generation", v.max_generation,
    {.what = "Of the device in its slot.", .range = Range::kPositive});
  a("max_width", v.max_width, {.what = "Of the device in its slot.", .range = Range::kPositive});
  a("max_payload_bytes", v.max_payload_bytes,
    {.what = "Of a packet, as configured.", .range = Range::kPositive});
}

void fields(auto& a, Like<NvLinks> auto& v) {
  a("version", v.version);
  a("count", v.count, {.what = "That the GPU has."});
  a.maybe("down", v.down, {.what = "The numbers of those that are not up."});
  a.maybe("slow", v.slow, {.what = "The numbers of those that are slower than the fastest."});
  a("bytes_per_s", v.bytes_per_s, {.what = "Of the fastest, one direction, with all overhead."});
  a("to_switch", v.to_switch, {.what = "false: to other GPUs."});
}

void fields(auto& a, Like<C2cLinks> auto& v) {
  a("count", v.count, {.what = "That are up."});
  a("bytes_per_s", v.bytes_per_s, {.what = "Of each, one direction, with all overhead."});
}

void fields(auto& a, Like<PeerFacts> auto& v) {
  a("index", v.index, {.what = "Of the other GPU."});
  a.maybe("path", v.path,
          {.what = "Over PCIe: PIX one switch, PXB several, PHB a host bridge, NODE several of a "
                   "NUMA node, SYS across NUMA nodes."});
  a.maybe("nvlinks", v.nvlinks, {.what = "That are up and lead there."});
  a.maybe("refused", v.refused, {.what = "Why the GPUs cannot use each other's memory."});
  a("atomics", v.atomics, {.what = "Whether they work on the other's memory."});
}

void fields(auto& a, Like<EccCounts> auto& v) {
  a("corrected", v.corrected);
  a("uncorrected", v.uncorrected);
}

void fields(auto& a, Like<DeviceProcess> auto& v) {
  a("pid", v.pid);
  a.maybe("name", v.name);
  a("memory_bytes", v.memory_bytes);
}

void fields(auto& a, Like<DeviceHealth> auto& v) {
  a.maybe("ecc", v.ecc, {.what = "Errors since the driver was loaded."});
  a("remapped_rows_correctable", v.remapped_rows_correctable);
  a("remapped_rows_uncorrectable", v.remapped_rows_uncorrectable);
  a("remap_pending", v.remap_pending);
  a("remap_failed", v.remap_failed);
  a("temperature_c", v.temperature_c, kCelsius);
  a("pcie_replays", v.pcie_replays);
}

void fields(auto& a, Like<DeviceFacts> auto& v) {
  a("uuid", v.uuid, {.what = "No other device has the same.", .min_length = 1});
  a.maybe("name", v.name);
  a("index", v.index,
    {.what = "In PCI bus order: NVML's, unless there are MIG instances, each of which counts."});
  a.maybe("pci_bus_id", v.pci_bus_id);
  a.maybe("pci_device_id", v.pci_device_id,
          {.what = "Vendor and device, in hexadecimal: what product it is, as lspci -n has it."});
  a.maybe("pci_subsystem_id", v.pci_subsystem_id, {.what = "The same of the board."});
  a("compute_major", v.compute_major);
  a("compute_minor", v.compute_minor);
  a("sm_count", v.sm_count, kNeverZero);
  a("sm_clock_max_hz", v.sm_clock_max_hz,
    {.what = "As the driver states it.", .range = Range::kPositive});
  a("sm_clock_step_hz", v.sm_clock_step_hz,
    {.what = "Between the clocks that the driver says it can be set to.",
     .range = Range::kPositive});
  a("sm_clock_seen_max_hz", v.sm_clock_seen_max_hz,
    {.what = "The clock that several measurements agree on, where it is above sm_clock_max_hz.",
     .range = Range::kPositive});
  a("memory_clock_max_hz", v.memory_clock_max_hz, kNeverZero);
  a("memory_bus_bits", v.memory_bus_bits, kNeverZero);
  a("memory_bytes", v.memory_bytes, kNeverZero);
  a("memory_free_bytes", v.memory_free_bytes);
  a("l2_bytes", v.l2_bytes, kNeverZero);
  a("shared_per_sm_bytes", v.shared_per_sm_bytes, kNeverZero);
  a("ecc_enabled", v.ecc_enabled);
  a("mig_enabled", v.mig_enabled);
  a("integrated", v.integrated, {.what = "It shares the host's memory; its pcie is no link."});
  a.maybe("confidential_computing", v.confidential_computing,
          {.what = "\"off\", \"on\" or \"protected PCIe\": copies over the link are encrypted."});
  a.maybe("fabric", v.fabric,
          {.what = "\"completed\", \"in progress\" or \"not started\": the links behind "
                   "NVSwitches, which Fabric Manager sets up."});
  a("power_limit_w", v.power_limit_w, kNeverZero);
  a("power_limit_default_w", v.power_limit_default_w, kNeverZero);
  a("power_limit_max_w", v.power_limit_max_w, kNeverZero);
  a.maybe("pcie", v.pcie,
          {.what = "generation and width: the highest read under load if pcie_read_under_load, "
                   "else idle."});
  a("pcie_read_under_load", v.pcie_read_under_load);
  a("c2c", v.c2c,
    {.what = "NVLink-C2C, which copies from and to host memory take; left out: there is none."});
  a("numa_node", v.numa_node);
  a.maybe("nvlinks", v.nvlinks);
  a.maybe("peers", v.peers, {.what = "The other GPUs of the node."});
  a.maybe("processes", v.processes, {.what = "Other processes on the device."});
  a.maybe("before", v.before, {.what = "Counters read before the run."});
  a.maybe("after", v.after, {.what = "Counters read after the run."});
  a.maybe("xids", v.xids, {.what = "Xid errors during the run."});
  a.maybe("vbios", v.vbios);
  a.maybe("unusable", v.unusable, {.what = "Why the device could not be measured."});
}

void fields(auto& a, Like<CpuCacheFacts> auto& v) {
  a("level", v.level);
  a("bytes", v.bytes, {.what = "Of one cache."});
  a("shared_by_cores", v.shared_by_cores, {.what = "Physical cores that share one."});
  a("count", v.count);
}

void fields(auto& a, Like<NumaNodeFacts> auto& v) {
  a("index", v.index);
  a("memory_bytes", v.memory_bytes);
  a.maybe("cpus", v.cpus, {.what = "List format: 0-15,32-47."});
}

void fields(auto& a, Like<StorageFacts> auto& v) {
  a.maybe("path", v.path, {.what = "Of the directory; left out of an anonymized profile."});
  a.maybe("file_system", v.file_system, {.what = "ext4, xfs, tmpfs, overlay, nfs4, ..."});
  a.maybe("source", v.source,
          {.what = "What is mounted there; left out of an anonymized profile."});
  a.maybe("mount_options", v.mount_options);
  a.maybe("device_model", v.device_model, {.what = "Of the disk."});
  a("file_bytes", v.file_bytes, {.what = "Of what was read."});
  a("direct", v.direct, {.what = "Read past the page cache (O_DIRECT)."});
}

void fields(auto& a, Like<HostFacts> auto& v) {
  a.maybe("hostname", v.hostname);
  a.maybe("cpu_model", v.cpu_model);
  a.maybe("architecture", v.architecture);
  a("sockets", v.sockets);
  a("cores", v.cores);
  a("hardware_threads", v.hardware_threads);
  a("usable_threads", v.usable_threads, {.what = "What affinity and cgroup leave."});
  a.maybe("numa_nodes", v.numa_nodes);
  a.maybe("caches", v.caches, {.what = "Data and unified caches."});
  a("memory_bytes", v.memory_bytes);
  a("cpu_clock_max_hz", v.cpu_clock_max_hz);
  a.maybe("vector_extension", v.vector_extension, {.what = "The widest that was used."});
  a.maybe("os", v.os);
  a.maybe("kernel", v.kernel);
  a.maybe("virtualization", v.virtualization, {.what = "Left out: none was found."});
  a.maybe("cpu_governor", v.cpu_governor);
  a("cpu_quota", v.cpu_quota, {.what = "CPUs' worth of time that the cgroup allows."});
  a("cpuset_threads", v.cpuset_threads,
    {.what = "What the cgroup's cpuset leaves; usable_threads may be fewer."});
  a("storage", v.storage, {.what = "Left out: none was measured (--storage)."});
}

void fields(auto& a, Like<SoftwareFacts> auto& v) {
  a.maybe("driver", v.driver);
  a.maybe("cuda_driver_api", v.cuda_driver_api,
          {.what = "The newest CUDA that the driver supports."});
  a.maybe("cuda_runtime", v.cuda_runtime);
  a.maybe("cuda_compiler", v.cuda_compiler);
  a.maybe("cublaslt", v.cublaslt);
  a.maybe("cxx_compiler", v.cxx_compiler);
  a.maybe("build_type", v.build_type);
  a.maybe("git_revision", v.git_revision,
          {.what = "Of peakline; ends in -dirty where the tree had changes."});
  a.maybe("environment", v.environment, {.what = "Variables that change results and were set."});
}

void fields(auto& a, Like<Work> auto& v) {
  a.maybe("bytes_read", v.bytes_read);
  a.maybe("bytes_written", v.bytes_written);
  a.maybe("flops", v.flops);
}

void fields(auto& a, Like<Summary> auto& v) {
  a("median_s", v.median, kSeconds);
  a("ci_low_s", v.ci_low, kSeconds);
  a("ci_high_s", v.ci_high, kSeconds);
  a("min_s", v.min, kSeconds);
  a("max_s", v.max, kSeconds);
  a("n", v.n, {.range = Range::kPositive});
  a.rule(Ascending{{"min_s", "ci_low_s", "median_s", "ci_high_s", "max_s"}});
}

void fields(auto& a, Like<Conditions> auto& v) {
  a("sm_clock_hz", v.sm_clock_hz);
  a("sm_clock_source", v.sm_clock_source,
    {.what = "probe: read on the SMs right before and right after the work; kernel: within it; "
             "nvml: sampled from outside."});
  a("memory_clock_hz", v.memory_clock_hz);
  a("power_w", v.power_w,
    {.what = "From the energy counter, where the measurement lasts at least 1 s."});
  a("temperature_c", v.temperature_c, kCelsius);
  a("utilization", v.utilization,
    {.what = "Share of the time in which the SMs were busy.", .range = Range::kShare});
  a("pcie_generation", v.pcie_generation, {.what = "Of the link as read while data moved."});
  a("pcie_width", v.pcie_width, {.what = "Lanes of the link as read while data moved."});
  a("power_cap_share", v.power_cap_share,
    {.what = "Share of the time in which the driver lowered the clocks to keep the average power "
             "within its cap, where the measurement lasts at least 0.5 s.",
     .range = Range::kShare});
  a.maybe("throttle_reasons", v.throttle_reasons,
          {.what = "NVML's clock event reasons that were seen."});
}

void fields(auto& a, Like<Series> auto& v) {
  a("time_s", v.time_s, {.what = "Since the start of the load: the end of each interval."});
  a("rate", v.rate, {.what = "In the measurement's unit.", .gaps = true});
  a("sm_clock_hz", v.sm_clock_hz, kColumn);
  a("power_w", v.power_w, kColumn);
  a("temperature_c", v.temperature_c, {.range = Range::kSigned, .gaps = true});
  a.rule(OneLength{{"time_s", "rate", "sm_clock_hz", "power_w", "temperature_c"}});
}

void fields(auto& a, Like<Measurement> auto& v) {
  a("id", v.id,
    {.what = "area.what.variant; with params, the identity of a measurement on a device.",
     .pattern = "^[a-z0-9_]+(\\.[a-z0-9_]+)*$",
     .max_length = 128});
  a.maybe("params", v.params, {.what = "In the order of declaration."});
  a("device", v.device, kDevice);
  a("status", v.status);
  a.maybe("never_run", v.never_run,
          {.what = "Skipped after a failure: its code had never run on hardware before."});
  a.maybe("reason", v.reason, {.what = "Why skipped or failed; for an ok one, a remark."});
  a.maybe("work", v.work,
          {.what = "Of one launch. An FMA is 2 FLOP; a copy counts what it reads and what it "
                   "writes."});
  a.maybe("launch", v.launch,
          {.what = "What was launched or chosen by a search: grid, block, unroll, algorithm, ..."});
  a.maybe(
      "samples_s", v.samples_s,
      {.what = "Block medians in time order, seconds for one launch, 7 significant digits. Of many "
               "runs, where the estimate is a trimmed mean, means of several blocks.",
       .range = Range::kPositive,
       .max_items = kMaxSamples});
  a.maybe("sittings", v.sittings,
          {.what = "How many of samples_s are from each sitting of each run, in their order; left "
                   "out: all from one sitting.",
           .range = Range::kPositive});
  a("launches_per_sample", v.launches_per_sample);
  a("summary", v.summary,
    {.what = "Order statistics of samples_s. The interval covers the median with about 95 %: ranks "
             "r and n + 1 - r, r the highest of which it does (1 where none does)."});
  a.maybe("estimate", v.estimate,
          {.what = "The time that value follows from: the median of samples_s, where left out; the "
                   "mean of all but their fastest and slowest tenth, where the clock is at one of "
                   "two steps; or the median of their fastest tenth, where others on the machine "
                   "can only slow the work."},
          Estimate::kMedian);
  a("value", v.value,
    {.what =
         "That time (s), or bytes_read + bytes_written (B/s) or flops (FLOP/s, OP/s) over it."});
  a("unit", v.unit, {.what = "Of value.", .one_of = kMeasuredUnits});
  a.maybe("varies_with", v.varies_with,
          {.what = "What else the value differs with from run to run: nothing, where left out "
                   "(device), the kernel that a search has found, what NCCL sets up at its start, "
                   "the CPU that starts the work (launches), or the CPU that does it (cpu)."},
          VariesWith::kDevice);
  a("verified", v.verified, {.what = "Left out: not asked for, or nothing to verify."});
  a.maybe("flags", v.flags,
          {.what = "implausible: above a physical limit, never a ceiling; unstable: the samples "
                   "drift, or the sittings do not agree; throttled: a power, thermal or other "
                   "limit was active."});
  a.maybe("conditions", v.conditions, {.what = "What the device did during the measurement."});
  a.maybe("series", v.series,
          {.what = "A time series over one long measurement; all arrays have one length."});
  a.maybe("duration_s", v.duration_s, {.what = "Wall time with set-up, search and verification."});
  a("method_version", v.method_version, {.range = Range::kPositive});
  a.rule(Counts{.key = "sittings", .of = "samples_s"});
  a.rule(Needs{.key = "status",
               .is = to_string(Status::kOk),
               .then = {"summary", "value"},
               .otherwise = {"reason"}});
}

void fields(auto& a, Like<Resource> auto& v) {
  a("name", v.name, {.what = "hbm.read, cuda_core.fp32, tensor.bf16, ...", .min_length = 1});
  a("label", v.label,
    {.what =
         "As a person reads it. Readers prefer what x-labels calls the resource: it is newer."});
  a("unit", v.unit, {.one_of = kRateUnits});
  a("kind", v.kind, {.what = "memory: a slope of the roofline; compute: a roof."});
  a.maybe("precision", v.precision, {.what = "Of a compute resource: fp32, bf16, ..."});
}

void fields(auto& a, Like<Factor> auto& v) {
  a("name", v.name,
    {.what = "half rate, boost clock, clock, waves, instruction, launch, turnaround, memory clock, "
             "DRAM, packets, rest.",
     .min_length = 1});
  a("value", v.value, {.range = Range::kPositive});
}

void fields(auto& a, Like<RunSpread> auto& v) {
  a("within", v.within, {.what = "From the scatter of the samples within a sitting."});
  a("sittings", v.sittings,
    {.what = "From what the sittings of a run differ; left out: there was one."});
  a("runs", v.runs, {.what = "From run to run."});
  a("step", v.step,
    {.what = "Half of the largest step, as a share: between what a single sitting gave before and "
             "after any moment, or between the fastest samples of two. No part of the interval."});
  a.maybe("runs_measured", v.runs_measured,
          {.what = "Runs of this machine that `runs` rests on, beside the spread that is usual for "
                   "the class of the resource; left out: only on that."});
  a.maybe("kept_degrees", v.kept_degrees,
          {.what = "Degrees of freedom of earlier runs (--population) that `runs` rests on as "
                   "well; left out: there were none."});
  a.maybe(
      "assumed_from", v.assumed_from,
      {.what = "The model that this usual spread was measured on, where it is assumed, twice as "
               "wide, of the device's."});
}

void fields(auto& a, Like<Ceiling> auto& v) {
  a("device", v.device, kDevice);
  a("resource", v.resource, kResource);
  a("basis", v.basis);
  a("value", v.value, {.range = Range::kPositive});
  a("unit", v.unit, {.one_of = kRateUnits});
  a("ci_low", v.ci_low,
    {.what = "Of the interval in which the next run on this machine lies with about 95 %; without "
             "spread: of the 95 % interval of the median within the run."});
  a("ci_high", v.ci_high, {.what = "Its other end."});
  a("spread", v.spread,
    {.what = "What the interval is made of: standard deviations of one run's value, relative to "
             "it. They add in quadrature."});
  a.maybe("conditions", v.conditions, {.what = "Those of the measurement it came from."});
  a.maybe("measurement", v.measurement, kPointName);
  a.maybe("note", v.note, {.what = "How it was computed, or what makes it uncertain."});
  a.maybe("factors", v.factors,
          {.what = "Why it is not 100 %: their product is value / theoretical."});
  a.rule(Ascending{{"ci_low", "value", "ci_high"}});
}

void fields(auto& a, Like<MissingCeiling> auto& v) {
  a("device", v.device, kDevice);
  a("resource", v.resource, kResource);
  a("basis", v.basis);
  a.maybe("why", v.why, {.what = "Kind of reason; left out by older versions."}, Absence::kUnknown);
  a("reason", v.reason, {.what = "The reason in words.", .min_length = 1});
}

void fields(auto& a, Like<RidgePoint> auto& v) {
  a("compute", v.compute, kResource);
  a("memory", v.memory, kResource);
  a("compute_basis", v.compute_basis);
  a("memory_basis", v.memory_basis);
  a("intensity", v.intensity, {.what = "FLOP/byte."});
}

void fields(auto& a, Like<RooflinePoint> auto& v) {
  a("measurement", v.measurement, kPointName);
  a("precision", v.precision);
  a("intensity", v.intensity, {.what = "FLOP/byte."});
  a("flops_per_s", v.flops_per_s);
}

void fields(auto& a, Like<Roofline> auto& v) {
  a("device", v.device, kDevice);
  a("memory", v.memory, {.what = "Resources whose ceilings are slopes."});
  a("compute", v.compute, {.what = "Resources whose ceilings are roofs."});
  a("ridge_points", v.ridge_points);
  a("points", v.points, {.what = "Measured points of the sweep."});
}

void fields(auto& a, Like<Headline> auto& v) {
  a("device", v.device, kDevice);
  a("label", v.label);
  a("resource", v.resource, kResource);
  a("basis", v.basis, {.what = "With resource: the ceiling that it shows."});
  a("reference_basis", v.reference, {.what = "Of the ceiling that it is held against."});
  a.maybe("missing", v.missing, {.what = "Why there is no such ceiling."});
}

void fields(auto& a, Like<Figure> auto& v) {
  a("id", v.id, {.what = "Of the benchmark that it follows from.", .min_length = 1});
  a("name", v.name, {.min_length = 1});
  a.maybe("by", v.by, {.what = "What it holds for."});
  a("value", v.value, {.range = Range::kSigned});
  a("unit", v.unit, {.what = "1: a pure number.", .one_of = kFigureUnits});
  a.maybe("role", v.role, {.what = "What a program may look it up by."});
  a("number", v.number, {.what = "Kind of a pure number; left out by older versions."});
}

void fields(auto& a, Like<Curve> auto& v) {
  a("device", v.device, kDevice);
  a("topic", v.topic, {.min_length = 1});
  a.maybe("title", v.title, {.what = "The one thing of it worth telling."});
  a.maybe("figures", v.figures);
  a("picture", v.picture, {.what = "How it is drawn."});
}

void fields(auto& a, Like<MemoryLevel> auto& v) {
  a("device", v.device, kDevice);
  a("level", v.level, {.what = "shared, l1, l2, hbm, host.", .min_length = 1});
  a("label", v.label, {.what = "As a person reads it."});
  a.maybe("per_sm", v.per_sm, {.what = "The sizes are those of each SM."});
  a("size_bytes", v.size_bytes, {.what = "As the device states it."});
  a("held_bytes", v.held_bytes, {.what = "The largest footprint that it was seen to hold."});
  a("near_bytes", v.near_bytes,
    {.what = "The same of the part that is near to an SM, where it has parts."});
  a("line_bytes", v.line_bytes, {.what = "Fetched at a time."});
  a("sector_bytes", v.sector_bytes, {.what = "Of a line, filled at a time."});
  a("latency_s", v.latency_s, {.what = "Of a load; where it has parts, from the near one."});
  a("far_latency_s", v.far_latency_s, {.what = "Of a load from its far part."});
  a("bytes_per_s", v.bytes_per_s, {.what = "Read by all SMs; of host memory, over PCIe."});
}

void fields(auto& a, Like<Finding> auto& v) {
  a("code", v.code, {.what = "Stable.", .min_length = 1});
  a("severity", v.severity);
  a("device", v.device, {.what = "As elsewhere; empty: the whole machine."});
  a("message", v.message);
  a("evidence", v.evidence);
}

void fields(auto& a, Like<Asked> auto& v) {
  a.maybe("filter", v.filter,
          {.what = "Regular expression that selected points; left out: all were measured."});
  a.maybe("devices", v.devices,
          {.what = "GPUs that were asked for, or left by CUDA_VISIBLE_DEVICES or "
                   "NVIDIA_VISIBLE_DEVICES: indices, "
                   "UUIDs, none; left out: all of the machine."});
  a("verify", v.verify, {.what = "Results were compared with a reference."});
}

void fields(auto& a, Like<Profile> auto& v) {
  a("created", v.created, described(kUtcTime, "Start of the run, UTC."));
  a("tool", v.tool, {.what = "Name and version."});
  a("command", v.command, {.what = "The command line."});
  a.maybe("asked", v.asked,
          {.what = "Limits on what was measured and verified; left out: none, or older versions' "
                   "command line states them."});
  a("mode", v.mode, {.one_of = kModes});
  a("complete", v.complete, {.what = "false: a measurement failed, or the run ended early."});
  a("duration_s", v.duration_s);
  a("host", v.host);
  a("software", v.software);
  a("devices", v.devices);
  a("measurements", v.measurements, {.what = "A row each, which says all by itself."});
  a.maybe("resources", v.resources,
          {.what = "Those that occur, in the order in which they are shown."});
  a("ceilings", v.ceilings);
  a.maybe("missing_ceilings", v.missing_ceilings,
          {.what = "Ceilings that were tried for and could not be had."});
  a("rooflines", v.rooflines);
  a.maybe("headlines", v.headlines, {.what = "The few figures that stand at the top."});
  a.maybe("curves", v.curves);
  a.maybe("memory_map", v.memory_map,
          {.what = "The levels of each GPU's memory, the nearest first."});
  a("findings", v.findings, {.what = "What explains a gap between measured and possible."});
  a.rule(Names{.rows = "devices",
               .key = "uuid",
               .besides = {kHostDevice, kNodeDevice},
               .reference = "device",
               .in = {"measurements", "ceilings", "missing_ceilings", "rooflines", "headlines",
                      "curves", "memory_map"},
               .empty_in = {"findings"}});
  a.rule(Unique{.rows = "measurements", .keys = {"device", "id", "params"}});
  a.rule(Unique{.rows = "ceilings", .keys = {"device", "resource", "basis"}});
}

void flag_names(auto& flags, auto&& visit) {
  visit("implausible", flags.implausible);
  visit("unstable", flags.unstable);
  visit("throttled", flags.throttled);
}

}  // namespace peakline::profile_format
