#include "tests/unit/golden_profile.hpp"

#include <fstream>
#include <sstream>

namespace peakline::golden {

namespace {

// The interval is from the least to the most.
Summary summary(double median, double least, double most, std::int64_t n) {
  return {.median = median, .ci_low = least, .ci_high = most, .min = least, .max = most, .n = n};
}

}  // namespace

Profile example() {
  const Conditions loaded = {.sm_clock_hz = 1.98e9,
                             .sm_clock_source = ClockSource::kKernel,
                             .memory_clock_hz = 3.201e9,
                             .temperature_c = 41,
                             .utilization = 0.985};
  const Conditions capped = {.sm_clock_hz = 1.7412e9,
                             .sm_clock_source = ClockSource::kProbe,
                             .memory_clock_hz = 3.201e9,
                             .power_w = 698.25,
                             .temperature_c = 63.5,
                             .utilization = 1,
                             .power_cap_share = 0.75,
                             .throttle_reasons = {"sw_power_cap"}};
  const Conditions link = {.sm_clock_hz = 1.98e9,
                           .sm_clock_source = ClockSource::kNvml,
                           .memory_clock_hz = 3.201e9,
                           .temperature_c = 36,
                           .utilization = 0.02,
                           .pcie_generation = 5,
                           .pcie_width = 16};
  Profile profile;
  profile.created = "2026-11-20T20:17:00Z";
  profile.tool = "peakline 0.1.0";
  profile.command = {"/opt/peakline/peakline", "run", "--filter", "hbm/width:16|gemm"};
  profile.mode = "full";
  profile.complete = false;
  profile.duration_s = 117.25;
  profile.host = {.hostname = "node7",
                  .cpu_model = "Intel(R) Xeon(R) Platinum 8480C",
                  .architecture = "x86_64",
                  .sockets = 2,
                  .cores = 112,
                  .hardware_threads = 224,
                  .usable_threads = 16,
                  .numa_nodes = {{.index = 0, .memory_bytes = 1.08e12, .cpus = "0-55,112-167"},
                                 {.index = 1, .memory_bytes = std::nullopt, .cpus = "56-111"}},
                  .caches = {{.level = 1, .bytes = 49152, .shared_by_cores = 1, .count = 112},
                             {.level = 3, .bytes = 110100480, .shared_by_cores = 56, .count = 2}},
                  .memory_bytes = 2.16e12,
                  .cpu_clock_max_hz = 3.8e9,
                  .vector_extension = "avx512f",
                  .os = "Debian GNU/Linux 12 (bookworm)",
                  .kernel = "6.1.0-28-amd64",
                  .virtualization = "kvm",
                  .cpu_governor = "performance",
                  .cpu_quota = 16.5,
                  .cpuset_threads = 32};
  profile.software = {.driver = "580.159.03",
                      .cuda_driver_api = "13.0",
                      .cuda_runtime = "13.0",
                      .cuda_compiler = "13.0.88",
                      .cublaslt = "13.1.0",
                      .cxx_compiler = "gcc 12.2.0",
                      .build_type = "Release",
                      .git_revision = "0123456789ab-dirty",
                      .environment = {{"NVIDIA_TF32_OVERRIDE", "0"}, {"CUBLAS_LOGDEST_DBG", ""}}};
  DeviceFacts device;
  device.uuid = kUuid;
  device.name = "NVIDIA H200";
  device.index = 3;
  device.pci_bus_id = "00000000:5D:00.0";
  device.pci_device_id = "10de:2335";
  device.pci_subsystem_id = "10de:18be";
  device.compute_major = 9;
  device.compute_minor = 0;
  device.sm_count = 132;
  device.sm_clock_max_hz = 1.98e9;
  device.sm_clock_step_hz = 15e6;
  device.sm_clock_seen_max_hz = 1.995e9;
  device.memory_clock_max_hz = 3.201e9;
  device.memory_bus_bits = 6016;
  device.memory_bytes = 150754820096;
  device.memory_free_bytes = 150204317696;
  device.l2_bytes = 62914560;
  device.shared_per_sm_bytes = 233472;
  device.ecc_enabled = true;
  device.mig_enabled = false;
  device.confidential_computing = "off";
  device.fabric = "completed";
  device.power_limit_w = 700;
  device.power_limit_default_w = 700;
  device.power_limit_max_w = 700;
  device.pcie = {.generation = 5, .width = 16, .max_generation = 5, .max_width = 16};
  device.pcie_read_under_load = true;
  device.numa_node = 0;
  device.processes = {{.pid = 4711, .name = "python3", .memory_bytes = 524288000},
                      {.pid = 4712, .name = "", .memory_bytes = std::nullopt}};
  device.before = {.ecc = {.corrected = 0, .uncorrected = 0},
                   .remapped_rows_correctable = 0,
                   .remapped_rows_uncorrectable = 0,
                   .remap_pending = false,
                   .remap_failed = false,
                   .temperature_c = 29,
                   .pcie_replays = 0};
  device.after = device.before;
  device.after.ecc.corrected = 2;
  device.after.temperature_c = 58;
  device.xids = {63};
  device.vbios = "96.00.BC.00.01";
  DeviceFacts locked;
  locked.uuid = "GPU-fedcba98-7654-3210-fedc-ba9876543210";
  locked.name = "NVIDIA H200";
  locked.index = 4;
  locked.pci_bus_id = "00000000:9A:00.0";
  locked.compute_major = 9;
  locked.unusable = "no permission to open /dev/nvidia4";
  profile.devices = {device, locked};

  const Measurement read = {.id = "hbm.read",
                            .params = {{"width", 16}, {"footprint", std::int64_t{1} << 31}},
                            .device = kUuid,
                            .work = {.bytes_read = 2147483648},
                            .launch = {{"grid", 1056}, {"unroll", 8}, {"stop", "precise"}},
                            .samples_s = {4.686312e-4, 4.685107e-4, 4.684998e-4, 4.685533e-4,
                                          4.685302e-4, 4.685641e-4, 4.684876e-4},
                            .launches_per_sample = 1,
                            .summary = summary(4.685302e-4, 4.684876e-4, 4.686312e-4, 7),
                            .value = 4.583448e12,
                            .unit = "B/s",
                            .verified = true,
                            .conditions = loaded,
                            .duration_s = 0.812,
                            .method_version = 2};
  const Measurement copy = {
      .id = "pcie.h2d.pinned",
      .params = {{"bytes", 268435456}},
      .device = kUuid,
      .reason = "the host memory is on another NUMA node than the device",
      .work = {.bytes_read = 268435456},
      .samples_s = {0.0048365, 0.00483725, 0.00483675},
      .launches_per_sample = 1,
      .summary = summary(0.00483675, 0.0048365, 0.00483725, 4),  // of one sample more
      .value = 5.549914e10,
      .unit = "B/s",
      .verified = true,
      .flags = {.implausible = true, .unstable = true, .throttled = false},
      .conditions = link,
      .duration_s = 0.1};
  const Measurement gemm = {
      .id = "gemm.bf16",
      .params = {{"load", "sustained"}},
      .device = kUuid,
      .work = {.bytes_read = 268435456, .bytes_written = 134217728, .flops = 1.099511627776e12},
      .launch = {{"shape", "8192x8192x8192"}, {"layout", "TN"}, {"algorithm", 66}},
      .samples_s = {0.001588, 0.001589, 0.001590},
      .sittings = {{2}, {1}},
      .launches_per_sample = 1,
      .summary = summary(0.001589, 0.001588, 0.00159, 3),
      .value = 6.919519e14,
      .unit = "FLOP/s",
      .verified = true,
      .flags = {.throttled = true},
      .conditions = capped,
      .series = {.time_s = {0.5, 1, 1.5},
                 .rate = {7.6e14, 7.1e14, 6.9e14},
                 .sm_clock_hz = {1.98e9, 1.8e9, 1.74e9},
                 .power_w = {512.5, 690, 698},
                 .temperature_c = {41, 55.5, 63}},
      .duration_s = 5.25};
  const Measurement skipped = {.id = "gemm.fp8",
                               .device = kUuid,
                               .status = Status::kSkipped,
                               .reason = "needs compute capability 8.9 or newer",
                               .unit = "FLOP/s"};
  const Measurement failed = {.id = "host.memory.read",
                              .params = {{"threads", 16}},
                              .device = std::string(kHostDevice),
                              .status = Status::kError,
                              .reason = "the worker was killed by SIGKILL",
                              .unit = "B/s",
                              .verified = false};
  const Measurement one = {.id = "shared.conflicts",
                           .params = {{"ways", 1}},
                           .device = kUuid,
                           .work = {.bytes_read = 33792000},
                           .launch = {{"blocks_per_sm", 4}, {"threads", 256}},
                           .samples_s = {1.024e-6, 1.026e-6, 1.025e-6},
                           .launches_per_sample = 512,
                           .summary = summary(1.025e-6, 1.024e-6, 1.026e-6, 3),
                           .value = 3.29678e13,
                           .unit = "B/s",
                           .verified = true,
                           .conditions = {.sm_clock_hz = 1.98e9,
                                          .sm_clock_source = ClockSource::kProbe,
                                          .memory_clock_hz = 3.201e9,
                                          .temperature_c = 38}};
  Measurement two = one, four = one;  // as one, but for what a person would want to know
  two.params = {{"ways", 2}};
  two.conditions.sm_clock_source.reset();
  four.params = {{"ways", 4}};
  four.launch = {};
  four.verified.reset();
  four.value = 3e13;  // not what follows from its samples
  profile.measurements = {read, copy, gemm, skipped, failed, one, two, four};

  profile.ceilings = {
      {.device = kUuid,
       .resource = "hbm.read",
       .basis = Basis::kTheoretical,
       .value = 4.814304e12,
       .unit = "B/s",
       .note = "2 x 3201 MHz x 6016 bit / 8"},
      {.device = kUuid,
       .resource = "hbm.read",
       .basis = Basis::kMeasured,
       .value = 4.583447e12,
       .unit = "B/s",
       .ci_low = 4.58246e12,
       .ci_high = 4.583864e12,
       .spread = RunSpread{.within = 1.25e-4, .runs = 0.001},
       .conditions = loaded,
       .measurement = read.name()},
      {.device = kUuid,
       .resource = "tensor.bf16",
       .basis = Basis::kSustained,
       .value = 6.919519e14,
       .unit = "FLOP/s",
       .ci_low = 6.915167e14,
       .ci_high = 6.923876e14,
       .spread = RunSpread{.within = 2e-4, .sittings = 5e-4, .runs = 0.0025, .runs_measured = 3},
       .conditions = capped,
       .measurement = gemm.name()}};
  profile.resources = {
      {"hbm.read", "HBM read", "B/s", Resource::Kind::kMemory, ""},
      {"tensor.bf16", "BF16 Tensor Cores", "FLOP/s", Resource::Kind::kCompute, "bf16"}};
  profile.missing_ceilings = {{.device = kUuid,
                               .resource = "tensor.fp8",
                               .basis = Basis::kBurst,
                               .reason = "skipped: needs compute capability 8.9 or newer"}};
  profile.headlines = {
      {kUuid, "HBM", "hbm.read", Basis::kMeasured, Basis::kTheoretical, ""},
      {kUuid, "PCIe to device", "pcie.h2d", Basis::kMeasured, std::nullopt, "implausible"}};
  profile.curves =
      {{.device = kUuid,
        .topic = "power",
        .sentence = "gemm.bf16 falls by 9 % at 63.5 °C",
        .title = "Heat costs BF16 products 9 %",
        .figures =
            {{"gemm.bf16", "drop", {}, -0.092, "1"},
             {"gemm.model.bf16", "time", {{"tokens", 16384}, {"part", "layer"}}, 1.75e-3, "s"},
             {"launch.empty_kernel", "time", {{"threads", 32}}, 0, "s", role::kEmptyKernel}},
        .picture =
            Picture{
                .key = "power",
                .subject = "Power: what heat costs",
                .how = "Each line is a part.",
                .panels =
                    {{.over = "tokens",
                      .x = {.label = "tokens", .written = Written::kInteger, .scale = Scale::kLog2},
                      .y = {.label = "µs", .per = 1e-6, .low = 0, .high = 2000},
                      .series = {{"{}",
                                  {.id = "gemm.model.bf16",
                                   .figure = "time",
                                   .where = {{"part", "layer"}}},
                                  "part"}},
                      .marks = {{.label = "launch",
                                 .figure = Numbers{.id = "launch.empty_kernel", .figure = "time"}},
                                {.label = "peak", .resource = "tensor.bf16", .basis = "burst"},
                                {.label = "here", .upright = true, .value = 1024}},
                      .names = {{"layer", "whole layer"}},
                      .naming = Naming::kLegend},
                     {.kind = PanelKind::kBars,
                      .by = "threads",
                      .x = {.label = "time", .written = Written::kTime},
                      .series = {{.label = "launch",
                                  .numbers = {.id = "launch.empty_kernel"},
                                  .group = 1}},
                      .marks = {{.label = "even", .diagonal = true}},
                      .heading = "one launch"}}}},
       {.device = std::string(kHostDevice), .topic = "threads", .title = "One thread is enough"}};
  profile.memory_map = {{.device = kUuid,
                         .level = "l1",
                         .label = "L1",
                         .per_sm = true,
                         .held_bytes = 212992,
                         .line_bytes = 128,
                         .sector_bytes = 32,
                         .latency_s = 1.62e-8,
                         .bytes_per_s = 3.332e13},
                        {.device = kUuid,
                         .level = "l2",
                         .label = "L2",
                         .size_bytes = 62914560,
                         .held_bytes = 58720256,
                         .near_bytes = 29360128,
                         .latency_s = 1.42e-7,
                         .far_latency_s = 2.59e-7}};
  profile.rooflines = {{.device = kUuid,
                        .memory = {"hbm.read"},
                        .compute = {"tensor.bf16"},
                        .ridge_points = {{.compute = "tensor.bf16",
                                          .memory = "hbm.read",
                                          .compute_basis = Basis::kSustained,
                                          .memory_basis = Basis::kMeasured,
                                          .intensity = 150.967}},
                        .points = {{.measurement = "roofline.sweep.fp32/fma:64",
                                    .precision = "fp32",
                                    .intensity = 32,
                                    .flops_per_s = 6.1e13}}}};
  profile.findings = {{.code = "power_cap",
                       .severity = Severity::kWarning,
                       .device = kUuid,
                       .message = "gemm.bf16 ran at 1741 MHz of 1980 MHz, held by the power cap",
                       .evidence = {{"power_w", "698.25"}, {"limit_w", "700"}}},
                      {.code = "virtualized",
                       .severity = Severity::kInfo,
                       .device = "",
                       .message = "node7 is a virtual machine (kvm)",
                       .evidence = {}}};
  return profile;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace peakline::golden
