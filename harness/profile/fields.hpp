#pragma once

// Describes the fields of each structure of a profile once, for reader, writer and schema, in the
// order of the file. `a(key, field, rule)`: always present, unless it is an empty std::optional.
// `a.maybe(key, field, rule, otherwise)`: omitted if equal to `otherwise`. `a.rule(...)`: a rule
// between fields.

#include "harness/profile/field_rule.hpp"
#include "harness/profile/picture_fields.hpp"
#include "harness/profile/population_fields.hpp"

namespace peakline::profile_format {

inline constexpr FieldRule kDevice{
    .what = "UUID of a GPU, or host, or node (what lies between GPUs)", .min_length = 1};
inline constexpr FieldRule kResource{.what = "Name of a resource, such as hbm.read or tensor.bf16",
                                     .min_length = 1};
inline constexpr FieldRule kPointName{
    .what = "Name of the measurement behind the figure: id/parameter:value/..."};
inline constexpr FieldRule kCelsius{.what = "Temperature of the GPU in degrees Celsius",
                                    .range = Range::kSigned};
inline constexpr FieldRule kSeconds{.range = Range::kPositive};
// Drivers state 0 for what they do not know.
inline constexpr FieldRule kNeverZero{.range = Range::kPositive};
inline constexpr FieldRule kColumn{.gaps = true};

void fields(auto& a, Like<PcieLink> auto& v) {
  a("generation", v.generation, kNeverZero);
  a("width", v.width, {.what = "Lanes of the link", .range = Range::kPositive});
  a("max_generation", v.max_generation,
    {.what = "Highest PCIe generation of the device in its slot", .range = Range::kPositive});
  a("max_width", v.max_width,
    {.what = "Most lanes of the device in its slot", .range = Range::kPositive});
  a("max_payload_bytes", v.max_payload_bytes,
    {.what = "Largest payload of a packet, as configured", .range = Range::kPositive});
}

void fields(auto& a, Like<NvLinks> auto& v) {
  a("version", v.version);
  a("count", v.count, {.what = "NVLinks that the GPU has, up or down"});
  a.maybe("down", v.down, {.what = "Numbers of the NVLinks that are down"});
  a.maybe("slow", v.slow, {.what = "Numbers of the NVLinks that are slower than the fastest"});
  a("bytes_per_s", v.bytes_per_s,
    {.what = "Raw rate of the fastest NVLink in one direction, protocol overhead included"});
  a("to_switch", v.to_switch,
    {.what = "Whether the NVLinks lead to NVSwitches; false: to other GPUs"});
}

void fields(auto& a, Like<C2cLinks> auto& v) {
  a("count", v.count, {.what = "NVLink-C2C links that are up"});
  a("bytes_per_s", v.bytes_per_s,
    {.what = "Raw rate of each NVLink-C2C link in one direction, protocol overhead included"});
}

void fields(auto& a, Like<PeerFacts> auto& v) {
  a("index", v.index, {.what = "Index of the other GPU"});
  a.maybe("path", v.path,
          {.what = "Path to the other GPU over PCIe: PIX one switch, PXB several switches, PHB a "
                   "host bridge, NODE several host bridges of a NUMA node, SYS across NUMA nodes"});
  a.maybe("nvlinks", v.nvlinks, {.what = "NVLinks that are up and lead to the other GPU"});
  a.maybe("refused", v.refused, {.what = "Reason why the two GPUs cannot use each other's memory"});
  a("atomics", v.atomics, {.what = "Whether atomic operations work on the other GPU's memory"});
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

void fields(auto& a, Like<NvLinkCounters> auto& v) {
  a("link", v.link, {.what = "Number of the NVLink"});
  a("bytes", v.bytes, {.what = "Data sent and received"});
  a("replays", v.replays, {.what = "Packets sent again, up to NVLink 4"});
  a("recoveries", v.recoveries, {.what = "Times that the link was trained again"});
  a("crc_errors", v.crc_errors, {.what = "Packets with a wrong checksum, up to NVLink 4"});
  a("malformed_packets", v.malformed_packets, {.what = "Malformed packets received on NVLink 5"});
  a("buffer_overruns", v.buffer_overruns,
    {.what = "Packets received on NVLink 5 and dropped for lack of room"});
  a("receive_errors", v.receive_errors, {.what = "Packets received with errors on NVLink 5"});
  a("integrity_errors", v.integrity_errors,
    {.what = "Times that errors of NVLink 5 exceeded the driver's threshold"});
  a("discards", v.discards, {.what = "Packets with errors that NVLink 5 did not send"});
  a("effective_errors", v.effective_errors,
    {.what = "Errors on NVLink 5 that error correction left"});
  a("symbol_errors", v.symbol_errors, {.what = "Symbols received with errors on NVLink 5"});
  a("effective_ber", v.effective_ber,
    {.what = "Bit error ratio of effective_errors", .range = Range::kShare});
  a("symbol_ber", v.symbol_ber,
    {.what = "Bit error ratio of symbol_errors", .range = Range::kShare});
}

void fields(auto& a, Like<DeviceHealth> auto& v) {
  a.maybe("ecc", v.ecc, {.what = "Memory errors that ECC found since the driver was loaded"});
  a("remapped_rows_correctable", v.remapped_rows_correctable);
  a("remapped_rows_uncorrectable", v.remapped_rows_uncorrectable);
  a("remap_pending", v.remap_pending);
  a("remap_failed", v.remap_failed);
  a("temperature_c", v.temperature_c, kCelsius);
  a("pcie_replays", v.pcie_replays, {.what = "Packets of the PCIe link that were sent again"});
  a("memory_temperature_c", v.memory_temperature_c,
    {.what = "Temperature of the GPU's memory in degrees Celsius", .range = Range::kSigned});
  a("temperature_margin_c", v.temperature_margin_c,
    {.what = "Degrees Celsius until the GPU slows down", .range = Range::kSigned});
  a.maybe("nvlinks", v.nvlinks, {.what = "Counters of the NVLinks since the driver was loaded"});
}

void fields(auto& a, Like<DeviceFacts> auto& v) {
  a("uuid", v.uuid, {.what = "Unique id of the GPU or MIG instance", .min_length = 1});
  a.maybe("name", v.name);
  a("index", v.index,
    {.what =
         "Position in PCI bus order, which is the index of NVML unless MIG instances are counted"});
  a.maybe("pci_bus_id", v.pci_bus_id);
  a.maybe("pci_device_id", v.pci_device_id,
          {.what = "PCI vendor and device id in hexadecimal, as in lspci -n"});
  a.maybe("pci_subsystem_id", v.pci_subsystem_id,
          {.what = "PCI subsystem id of the board in hexadecimal: vendor and device"});
  a("compute_major", v.compute_major);
  a("compute_minor", v.compute_minor);
  a("sm_count", v.sm_count, kNeverZero);
  a("sm_clock_max_hz", v.sm_clock_max_hz,
    {.what = "Highest SM clock that the driver states", .range = Range::kPositive});
  a("sm_clock_step_hz", v.sm_clock_step_hz,
    {.what = "Distance between the SM clocks that the driver can set", .range = Range::kPositive});
  a("sm_clock_seen_max_hz", v.sm_clock_seen_max_hz,
    {.what = "Highest SM clock that several measurements agree on, if above sm_clock_max_hz",
     .range = Range::kPositive});
  a("memory_clock_max_hz", v.memory_clock_max_hz, kNeverZero);
  a("memory_bus_bits", v.memory_bus_bits, kNeverZero);
  a("memory_bytes", v.memory_bytes, kNeverZero);
  a("memory_free_bytes", v.memory_free_bytes);
  a("l2_bytes", v.l2_bytes, kNeverZero);
  a("shared_per_sm_bytes", v.shared_per_sm_bytes, kNeverZero);
  a("ecc_enabled", v.ecc_enabled);
  a("mig_enabled", v.mig_enabled);
  a("integrated", v.integrated,
    {.what = "Whether the GPU shares the host's memory; its pcie is then no link"});
  a.maybe("confidential_computing", v.confidential_computing,
          {.what = "Encryption of copies over the link: off, on or protected PCIe"});
  a.maybe("fabric", v.fabric,
          {.what = "State of the links behind NVSwitches, which Fabric Manager sets up: completed, "
                   "in progress or not started"});
  a("power_limit_w", v.power_limit_w, kNeverZero);
  a("power_limit_default_w", v.power_limit_default_w, kNeverZero);
  a("power_limit_max_w", v.power_limit_max_w, kNeverZero);
  a.maybe("pcie", v.pcie,
          {.what = "PCIe link; its generation and width are the highest that were read under load, "
                   "or idle values without pcie_read_under_load"});
  a("pcie_read_under_load", v.pcie_read_under_load);
  a("c2c", v.c2c,
    {.what = "NVLink-C2C between GPU and CPU, which carries copies from and to host memory; left "
             "out where there is none"});
  a("numa_node", v.numa_node);
  a.maybe("nvlinks", v.nvlinks);
  a.maybe("peers", v.peers, {.what = "Other GPUs of the node, as this GPU reaches them"});
  a.maybe("processes", v.processes, {.what = "Other processes on the GPU"});
  a.maybe("before", v.before, {.what = "Counters before the run"});
  a.maybe("after", v.after, {.what = "Counters after the run"});
  a.maybe("xids", v.xids, {.what = "Numbers of the Xid errors during the run"});
  a.maybe("vbios", v.vbios);
  a.maybe("unusable", v.unusable, {.what = "Reason why the GPU could not be measured"});
}

void fields(auto& a, Like<CpuCacheFacts> auto& v) {
  a("level", v.level);
  a("bytes", v.bytes, {.what = "Size of one cache of this kind"});
  a("shared_by_cores", v.shared_by_cores, {.what = "Physical cores that share one cache"});
  a("count", v.count);
}

void fields(auto& a, Like<NumaNodeFacts> auto& v) {
  a("index", v.index);
  a("memory_bytes", v.memory_bytes);
  a.maybe("cpus", v.cpus, {.what = "CPUs of the NUMA node in list format, such as 0-15,32-47"});
}

void fields(auto& a, Like<StorageFacts> auto& v) {
  a.maybe("path", v.path, {.what = "Directory that was measured; left out of anonymized profiles"});
  a.maybe("file_system", v.file_system,
          {.what = "Kind of file system: ext4, xfs, tmpfs, overlay, nfs4, ..."});
  a.maybe("source", v.source,
          {.what = "Device or server behind the mount; left out of anonymized profiles"});
  a.maybe("mount_options", v.mount_options);
  a.maybe("device_model", v.device_model, {.what = "Model of the disk"});
  a("file_bytes", v.file_bytes, {.what = "Size of the file that was read"});
  a("direct", v.direct, {.what = "Whether reads bypassed the page cache (O_DIRECT)"});
}

void fields(auto& a, Like<HostFacts> auto& v) {
  a.maybe("hostname", v.hostname);
  a.maybe("cpu_model", v.cpu_model);
  a.maybe("architecture", v.architecture);
  a("sockets", v.sockets);
  a("cores", v.cores);
  a("hardware_threads", v.hardware_threads);
  a("usable_threads", v.usable_threads,
    {.what = "Hardware threads that affinity and cgroup allow"});
  a.maybe("numa_nodes", v.numa_nodes);
  a.maybe("caches", v.caches, {.what = "Data and unified caches of the CPU"});
  a("memory_bytes", v.memory_bytes);
  a("cpu_clock_max_hz", v.cpu_clock_max_hz);
  a.maybe("vector_extension", v.vector_extension,
          {.what = "Widest vector extension that was used"});
  a.maybe("os", v.os);
  a.maybe("kernel", v.kernel);
  a.maybe("virtualization", v.virtualization,
          {.what = "Hypervisor or container; left out if none was found"});
  a.maybe("cpu_governor", v.cpu_governor);
  a("cpu_quota", v.cpu_quota, {.what = "CPU time that the cgroup allows, in CPUs"});
  a("cpuset_threads", v.cpuset_threads,
    {.what = "Hardware threads in the cgroup's cpuset, before any affinity"});
  a("storage", v.storage, {.what = "Storage that was measured (--storage)"});
}

void fields(auto& a, Like<SoftwareFacts> auto& v) {
  a.maybe("driver", v.driver);
  a.maybe("cuda_driver_api", v.cuda_driver_api,
          {.what = "Newest CUDA version that the driver supports"});
  a.maybe("cuda_runtime", v.cuda_runtime);
  a.maybe("cuda_compiler", v.cuda_compiler);
  a.maybe("cublaslt", v.cublaslt);
  a.maybe("cxx_compiler", v.cxx_compiler);
  a.maybe("build_type", v.build_type);
  a.maybe("git_revision", v.git_revision,
          {.what = "Revision of peakline; ends in -dirty if the tree had changes"});
  a.maybe("environment", v.environment,
          {.what = "Environment variables that were set and change results"});
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
    {.what = "Way the SM clock was read: probe on the SMs right before and after the work, kernel "
             "within the work, nvml from outside"});
  a("memory_clock_hz", v.memory_clock_hz);
  a("power_w", v.power_w,
    {.what = "Average power from the energy counter, for measurements of at least 1 s"});
  a("temperature_c", v.temperature_c, kCelsius);
  a("utilization", v.utilization,
    {.what = "Share of the time in which the SMs were busy", .range = Range::kShare});
  a("pcie_generation", v.pcie_generation, {.what = "PCIe generation of the link while data moved"});
  a("pcie_width", v.pcie_width, {.what = "PCIe lanes of the link while data moved"});
  a("power_cap_share", v.power_cap_share,
    {.what = "Share of the time in which the driver lowered clocks to keep the average power "
             "within its cap, for measurements of at least 0.5 s",
     .range = Range::kShare});
  a.maybe("throttle_reasons", v.throttle_reasons,
          {.what = "NVML's clock event reasons that were seen"});
}

void fields(auto& a, Like<Series> auto& v) {
  a("time_s", v.time_s, {.what = "Ends of the intervals, since the start of the load"});
  a("rate", v.rate,
    {.what = "Rates in the intervals, in the measurement's unit; null where unknown",
     .gaps = true});
  a("sm_clock_hz", v.sm_clock_hz, kColumn);
  a("power_w", v.power_w, kColumn);
  a("temperature_c", v.temperature_c, {.range = Range::kSigned, .gaps = true});
  a.rule(OneLength{{"time_s", "rate", "sm_clock_hz", "power_w", "temperature_c"}});
}

void fields(auto& a, Like<Measurement> auto& v) {
  a("id", v.id,
    {.what = "Name of the benchmark, area.what.variant; with params it identifies a measurement on "
             "a device",
     .pattern = "^[a-z0-9_]+(\\.[a-z0-9_]+)*$",
     .max_length = 128});
  a.maybe("params", v.params, {.what = "Parameters of the point, in the benchmark's order"});
  a("device", v.device, kDevice);
  a("status", v.status);
  a.maybe("never_run", v.never_run,
          {.what = "Whether the measurement was skipped because its code, never run on hardware "
                   "before, failed"});
  a.maybe("reason", v.reason,
          {.what = "Reason why the measurement was skipped or failed; a remark on one that is ok"});
  a.maybe(
      "work", v.work,
      {.what =
           "Work of one launch; an FMA counts as 2 FLOP, a copy as bytes read plus bytes written"});
  a.maybe(
      "launch", v.launch,
      {.what = "Shape of the launch and choices of a search: grid, block, unroll, algorithm, ..."});
  a.maybe("samples_s", v.samples_s,
          {.what = "Block medians in time order: seconds per launch with 7 significant digits; of "
                   "many runs with estimate trimmed_mean, means of several blocks",
           .range = Range::kPositive,
           .max_items = kMaxSamples});
  a.maybe("sittings", v.sittings,
          {.what = "Number of samples_s from each sitting (measurement pass) of each run, in "
                   "order; left out if all are from one sitting",
           .range = Range::kPositive});
  a("launches_per_sample", v.launches_per_sample);
  a("summary", v.summary,
    {.what = "Order statistics of samples_s; the interval covers the median with about 95 %: ranks "
             "r and n + 1 - r with the highest such r, or 1"});
  a.maybe(
      "estimate", v.estimate,
      {.what =
           "Way the time behind value follows from samples_s: their median; trimmed_mean without "
           "the fastest and slowest tenth, for clocks that alternate; fastest_tenth, their median, "
           "for work that others can only slow; mean, for work that stalls and resumes"},
      Estimate::kMedian);
  a("value", v.value,
    {.what = "Result: the estimated time (s), or bytes_read + bytes_written (B/s) or flops "
             "(FLOP/s, OP/s) over that time"});
  a("unit", v.unit, {.what = "Unit of value", .one_of = kMeasuredUnits});
  a.maybe("varies_with", v.varies_with,
          {.what = "Main cause, besides the device, of differences from run to run: search (the "
                   "kernel that it picks), collectives (the setup of NCCL), launches (the CPU that "
                   "starts the work), cpu (the CPU that does it)"},
          VariesWith::kDevice);
  a("verified", v.verified,
    {.what = "Whether the result equals a reference; left out if it was not compared"});
  a.maybe("flags", v.flags,
          {.what = "Warnings: implausible is above a physical limit and never a ceiling; unstable "
                   "means that samples drift or sittings disagree; throttled that a power, thermal "
                   "or other limit was active"});
  a.maybe("conditions", v.conditions, {.what = "The device's state during the measurement"});
  a.maybe("series", v.series,
          {.what = "Time series over one long measurement, as lists of equal length"});
  a.maybe("duration_s", v.duration_s, {.what = "Wall time with setup, search and verification"});
  a("method_version", v.method_version, {.range = Range::kPositive});
  a.rule(Counts{.key = "sittings", .of = "samples_s"});
  a.rule(Needs{.key = "status",
               .is = to_string(Status::kOk),
               .then = {"summary", "value"},
               .otherwise = {"reason"}});
}

void fields(auto& a, Like<Resource> auto& v) {
  a("name", v.name,
    {.what = "Name of the resource: hbm.read, cuda_core.fp32, tensor.bf16, ...", .min_length = 1});
  a("label", v.label, {.what = "Name for people; readers prefer the newer one in x-labels"});
  a("unit", v.unit, {.one_of = kRateUnits});
  a("kind", v.kind, {.what = "Role in the roofline: memory is a slope, compute a roof"});
  a.maybe("precision", v.precision,
          {.what = "Number format of a compute resource: fp32, bf16, ..."});
}

void fields(auto& a, Like<Factor> auto& v) {
  a("name", v.name,
    {.what = "Cause of a loss: half rate, boost clock, clock, waves, instruction, launch, "
             "turnaround, memory clock, DRAM, packets, rest",
     .min_length = 1});
  a("value", v.value, {.range = Range::kPositive});
}

void fields(auto& a, Like<RunSpread> auto& v) {
  a("within", v.within,
    {.what = "Standard deviation from the scatter of samples within a sitting (measurement pass), "
             "as a share of the value"});
  a("sittings", v.sittings,
    {.what = "Standard deviation between the sittings (measurement passes) of a run, as a share of "
             "the value; left out if there was one"});
  a("runs", v.runs, {.what = "Standard deviation between runs, as a share of the value"});
  a("step", v.step,
    {.what = "Half of the largest step, as a share of the value: before and after any moment of a "
             "single sitting (measurement pass), or between the fastest samples of two; not part "
             "of the interval"});
  a.maybe("runs_measured", v.runs_measured,
          {.what = "Number of runs of this machine behind the spread between runs, besides the "
                   "usual spread of the resource's class"});
  a.maybe(
      "kept_degrees", v.kept_degrees,
      {.what = "Degrees of freedom of earlier runs (--population) behind the spread between runs"});
  a.maybe("assumed_from", v.assumed_from,
          {.what = "Model of GPU whose usual spread, doubled, is used because that of this model "
                   "is unknown"});
}

void fields(auto& a, Like<Ceiling> auto& v) {
  a("device", v.device, kDevice);
  a("resource", v.resource, kResource);
  a("basis", v.basis);
  a("value", v.value, {.range = Range::kPositive});
  a("unit", v.unit, {.one_of = kRateUnits});
  a("ci_low", v.ci_low,
    {.what = "Lower end of the 95 % interval for the next run's value on this machine; without "
             "spread, for the median within the run"});
  a("ci_high", v.ci_high,
    {.what = "Upper end of the 95 % interval for the next run's value on this machine; without "
             "spread, for the median within the run"});
  a("spread", v.spread,
    {.what = "Parts of the interval: standard deviations of one run's value as shares of it, which "
             "add in quadrature"});
  a.maybe("conditions", v.conditions,
          {.what = "The device's state during the measurement behind the ceiling"});
  a.maybe("measurement", v.measurement, kPointName);
  a.maybe("note", v.note, {.what = "Way the ceiling was computed, or its uncertainty"});
  a.maybe("factors", v.factors,
          {.what = "Causes of the distance to the theoretical value; their product is value / "
                   "theoretical"});
  a.rule(Ascending{{"ci_low", "value", "ci_high"}});
}

void fields(auto& a, Like<MissingCeiling> auto& v) {
  a("device", v.device, kDevice);
  a("resource", v.resource, kResource);
  a("basis", v.basis);
  a.maybe("why", v.why,
          {.what = "Kind of reason why the ceiling is missing; left out by older versions"},
          Absence::kUnknown);
  a("reason", v.reason, {.what = "Reason why the ceiling is missing, in words", .min_length = 1});
}

void fields(auto& a, Like<RidgePoint> auto& v) {
  a("compute", v.compute, kResource);
  a("memory", v.memory, kResource);
  a("compute_basis", v.compute_basis);
  a("memory_basis", v.memory_basis);
  a("intensity", v.intensity,
    {.what = "Arithmetic intensity in FLOP/byte at which memory and compute limit alike"});
}

void fields(auto& a, Like<RooflinePoint> auto& v) {
  a("measurement", v.measurement, kPointName);
  a("precision", v.precision);
  a("intensity", v.intensity, {.what = "Arithmetic intensity in FLOP/byte"});
  a("flops_per_s", v.flops_per_s);
}

void fields(auto& a, Like<Roofline> auto& v) {
  a("device", v.device, kDevice);
  a("memory", v.memory, {.what = "Resources whose ceilings are slopes"});
  a("compute", v.compute, {.what = "Resources whose ceilings are roofs"});
  a("ridge_points", v.ridge_points);
  a("points", v.points, {.what = "Measured points of the intensity sweep"});
}

void fields(auto& a, Like<Headline> auto& v) {
  a("device", v.device, kDevice);
  a("label", v.label);
  a("resource", v.resource, kResource);
  a("basis", v.basis, {.what = "Basis of the ceiling that is shown"});
  a("reference_basis", v.reference,
    {.what = "Basis of the ceiling that the shown one is compared with"});
  a.maybe("missing", v.missing, {.what = "Reason why there is no ceiling to show"});
}

void fields(auto& a, Like<Figure> auto& v) {
  a("id", v.id, {.what = "Benchmark behind the figure", .min_length = 1});
  a("name", v.name, {.min_length = 1});
  a.maybe("by", v.by, {.what = "Parameters for which the figure holds"});
  a("value", v.value, {.range = Range::kSigned});
  a("unit", v.unit, {.what = "Unit of value; 1 for pure numbers", .one_of = kFigureUnits});
  a.maybe("role", v.role, {.what = "Word by which programs find the figure"});
  a("number", v.number, {.what = "Kind of a pure number; left out by older versions"});
}

void fields(auto& a, Like<Curve> auto& v) {
  a("device", v.device, kDevice);
  a("topic", v.topic, {.min_length = 1});
  a.maybe("title", v.title, {.what = "Main message of the measurements of the topic"});
  a.maybe("figures", v.figures);
  a("picture", v.picture, {.what = "Description of the picture of the topic"});
}

void fields(auto& a, Like<MemoryLevel> auto& v) {
  a("device", v.device, kDevice);
  a("level", v.level, {.what = "Level of memory: shared, l1, l2, hbm or host", .min_length = 1});
  a("label", v.label, {.what = "Name of the level for people"});
  a.maybe("per_sm", v.per_sm, {.what = "Whether the sizes are those of each SM"});
  a("size_bytes", v.size_bytes, {.what = "Size that the device states"});
  a("held_bytes", v.held_bytes, {.what = "Largest footprint that the level was seen to hold"});
  a("near_bytes", v.near_bytes,
    {.what = "Largest footprint that the partition near to an SM was seen to hold"});
  a("line_bytes", v.line_bytes, {.what = "Size of a cache line"});
  a("sector_bytes", v.sector_bytes,
    {.what = "Size of the part of a line that is filled at a time"});
  a("latency_s", v.latency_s, {.what = "Load latency (near partition)"});
  a("far_latency_s", v.far_latency_s, {.what = "Load latency of the far partition"});
  a("bytes_per_s", v.bytes_per_s,
    {.what = "Rate at which all SMs together read; of host memory, over the host link"});
}

void fields(auto& a, Like<Finding> auto& v) {
  a("code", v.code, {.what = "Stable name of the kind of finding", .min_length = 1});
  a("severity", v.severity);
  a("device", v.device, {.what = "UUID of a GPU, host or node; empty for the whole machine"});
  a("message", v.message);
  a("evidence", v.evidence);
}

void fields(auto& a, Like<Asked> auto& v) {
  a.maybe("filter", v.filter,
          {.what = "Regular expression that selected points; left out if all were selected"});
  a.maybe("devices", v.devices,
          {.what = "GPUs that were asked for, or that CUDA_VISIBLE_DEVICES or "
                   "NVIDIA_VISIBLE_DEVICES left: indices, UUIDs or none; left out for all GPUs"});
  a("verify", v.verify, {.what = "Whether results were compared with a reference"});
}

void fields(auto& a, Like<Profile> auto& v) {
  a("created", v.created, described(kUtcTime, "Start of the run, UTC"));
  a("tool", v.tool, {.what = "Name and version of the program"});
  a("command", v.command, {.what = "Command line of the run"});
  a.maybe("asked", v.asked,
          {.what = "Limits on what was measured and verified; left out if there were none, and by "
                   "older versions, whose command line has them"});
  a("mode", v.mode, {.one_of = kModes});
  a("complete", v.complete,
    {.what = "Whether every measurement was made; false if one failed or the run ended early"});
  a("duration_s", v.duration_s);
  a("host", v.host);
  a("software", v.software);
  a("devices", v.devices);
  a("measurements", v.measurements, {.what = "Measurements, each a row that can be read alone"});
  a.maybe("resources", v.resources,
          {.what = "Resources that occur, in the order in which they are shown"});
  a("ceilings", v.ceilings);
  a.maybe("missing_ceilings", v.missing_ceilings,
          {.what = "Ceilings that were tried for and are missing"});
  a("rooflines", v.rooflines);
  a.maybe("headlines", v.headlines, {.what = "Most important ceilings, which are shown first"});
  a.maybe("curves", v.curves);
  a.maybe("memory_map", v.memory_map, {.what = "Levels of each GPU's memory, nearest first"});
  a("findings", v.findings, {.what = "Causes of gaps between measured and possible figures"});
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
