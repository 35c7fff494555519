#include "tests/unit/golden_profile.hpp"

#include <fstream>
#include <sstream>

namespace peakline::golden {

Profile example() {
  const Conditions loaded = {.sm_clock_hz = 1.98e9,
                             .sm_clock_source = ClockSource::kKernel,
                             .memory_clock_hz = 3.201e9,
                             .power_w = std::nullopt,
                             .temperature_c = 41,
                             .utilization = 0.985,
                             .pcie_generation = std::nullopt,
                             .pcie_width = std::nullopt,
                             .power_cap_share = std::nullopt,
                             .throttle_reasons = {}};
  const Conditions capped = {.sm_clock_hz = 1.7412e9,
                             .sm_clock_source = ClockSource::kProbe,
                             .memory_clock_hz = 3.201e9,
                             .power_w = 698.25,
                             .temperature_c = 63.5,
                             .utilization = 1,
                             .pcie_generation = std::nullopt,
                             .pcie_width = std::nullopt,
                             .power_cap_share = 0.75,
                             .throttle_reasons = {"sw_power_cap"}};
  const Conditions link = {.sm_clock_hz = 1.98e9,
                           .sm_clock_source = ClockSource::kNvml,
                           .memory_clock_hz = 3.201e9,
                           .power_w = std::nullopt,
                           .temperature_c = 36,
                           .utilization = 0.02,
                           .pcie_generation = 5,
                           .pcie_width = 16,
                           .power_cap_share = std::nullopt,
                           .throttle_reasons = {}};
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
  device.compute_major = 9;
  device.compute_minor = 0;
  device.sm_count = 132;
  device.sm_clock_max_hz = 1.98e9;
  device.memory_clock_max_hz = 3.201e9;
  device.memory_bus_bits = 6016;
  device.memory_bytes = 150754820096;
  device.memory_free_bytes = 150204317696;
  device.l2_bytes = 62914560;
  device.shared_per_sm_bytes = 233472;
  device.ecc_enabled = true;
  device.mig_enabled = false;
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

  Measurement read;
  read.id = "hbm.read";
  read.params = {{"width", std::int64_t{16}}, {"footprint", std::int64_t{1} << 31}};
  read.device = kUuid;
  read.work = {.bytes_read = 2147483648, .bytes_written = 0, .flops = 0};
  read.launch = {{"grid", std::int64_t{1056}}, {"unroll", std::int64_t{8}}, {"stop", "precise"}};
  read.samples_s = {4.686312e-4, 4.685107e-4, 4.684998e-4, 4.685533e-4,
                    4.685302e-4, 4.685641e-4, 4.684876e-4};
  read.launches_per_sample = 1;
  read.summary = {.median = 4.685302e-4,
                  .ci_low = 4.684876e-4,
                  .ci_high = 4.686312e-4,
                  .min = 4.684876e-4,
                  .max = 4.686312e-4,
                  .n = 7};
  read.value = 4.583448e12;
  read.unit = "B/s";
  read.verified = true;
  read.conditions = loaded;
  read.duration_s = 0.812;
  read.method_version = 2;

  Measurement copy;
  copy.id = "pcie.h2d.pinned";
  copy.params = {{"bytes", std::int64_t{268435456}}};
  copy.device = kUuid;
  copy.reason = "the host memory is on another NUMA node than the device";
  copy.work = {.bytes_read = 268435456, .bytes_written = 0, .flops = 0};
  copy.samples_s = {0.0048365, 0.00483725, 0.00483675};
  copy.launches_per_sample = 1;
  copy.summary = {.median = 0.00483675,
                  .ci_low = 0.0048365,
                  .ci_high = 0.00483725,
                  .min = 0.0048365,
                  .max = 0.00483725,
                  .n = 4};  // of one sample more than there are
  copy.verified = true;
  copy.value = 5.549914e10;
  copy.unit = "B/s";
  copy.flags = {.implausible = true, .unstable = true, .throttled = false};
  copy.conditions = link;
  copy.duration_s = 0.1;

  Measurement gemm;
  gemm.id = "gemm.bf16";
  gemm.params = {{"load", "sustained"}};
  gemm.device = kUuid;
  gemm.work = {.bytes_read = 268435456, .bytes_written = 134217728, .flops = 1.099511627776e12};
  gemm.launch = {{"shape", "8192x8192x8192"}, {"layout", "TN"}, {"algorithm", std::int64_t{66}}};
  gemm.samples_s = {0.001588, 0.001589, 0.001590};
  gemm.sittings = {{2}, {1}};
  gemm.launches_per_sample = 1;
  gemm.summary = {.median = 0.001589,
                  .ci_low = 0.001588,
                  .ci_high = 0.00159,
                  .min = 0.001588,
                  .max = 0.00159,
                  .n = 3};
  gemm.value = 6.919519e14;
  gemm.unit = "FLOP/s";
  gemm.verified = true;
  gemm.flags.throttled = true;
  gemm.conditions = capped;
  gemm.series = {.time_s = {0.5, 1, 1.5},
                 .rate = {7.6e14, 7.1e14, 6.9e14},
                 .sm_clock_hz = {1.98e9, 1.8e9, 1.74e9},
                 .power_w = {512.5, 690, 698},
                 .temperature_c = {41, 55.5, 63}};
  gemm.duration_s = 5.25;

  Measurement skipped;
  skipped.id = "gemm.fp8";
  skipped.device = kUuid;
  skipped.status = Status::kSkipped;
  skipped.reason = "needs compute capability 8.9 or newer";
  skipped.unit = "FLOP/s";

  Measurement failed;
  failed.id = "host.memory.read";
  failed.params = {{"threads", std::int64_t{16}}};
  failed.device = std::string(kHostDevice);
  failed.status = Status::kError;
  failed.reason = "the worker was killed by SIGKILL";
  failed.unit = "B/s";
  failed.verified = false;

  Measurement one;
  one.id = "shared.conflicts";
  one.params = {{"ways", std::int64_t{1}}};
  one.device = kUuid;
  one.work = {.bytes_read = 33792000, .bytes_written = 0, .flops = 0};
  one.launch = {{"blocks_per_sm", std::int64_t{4}}, {"threads", std::int64_t{256}}};
  one.samples_s = {1.024e-6, 1.026e-6, 1.025e-6};
  one.launches_per_sample = 512;
  one.summary = {.median = 1.025e-6,
                 .ci_low = 1.024e-6,
                 .ci_high = 1.026e-6,
                 .min = 1.024e-6,
                 .max = 1.026e-6,
                 .n = 3};
  one.value = 3.29678e13;
  one.unit = "B/s";
  one.verified = true;
  one.conditions = {.sm_clock_hz = 1.98e9,
                    .sm_clock_source = ClockSource::kProbe,
                    .memory_clock_hz = 3.201e9,
                    .power_w = std::nullopt,
                    .temperature_c = 38,
                    .utilization = std::nullopt,
                    .pcie_generation = std::nullopt,
                    .pcie_width = std::nullopt,
                    .power_cap_share = std::nullopt,
                    .throttle_reasons = {}};
  Measurement two = one, four = one;  // as one, but for what a person would want to know
  two.params = {{"ways", std::int64_t{2}}};
  two.conditions.sm_clock_source.reset();
  four.params = {{"ways", std::int64_t{4}}};
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
       .ci_low = std::nullopt,
       .ci_high = std::nullopt,
       .conditions = {},
       .measurement = "",
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
       .measurement = read.name(),
       .note = ""},
      {.device = kUuid,
       .resource = "tensor.bf16",
       .basis = Basis::kSustained,
       .value = 6.919519e14,
       .unit = "FLOP/s",
       .ci_low = 6.915167e14,
       .ci_high = 6.923876e14,
       .spread = RunSpread{.within = 2e-4, .sittings = 5e-4, .runs = 0.0025, .runs_measured = 3},
       .conditions = capped,
       .measurement = gemm.name(),
       .note = ""}};
  profile.resources = {{.name = "hbm.read",
                        .label = "HBM read",
                        .unit = "B/s",
                        .kind = Resource::Kind::kMemory,
                        .precision = ""},
                       {.name = "tensor.bf16",
                        .label = "BF16 Tensor Cores",
                        .unit = "FLOP/s",
                        .kind = Resource::Kind::kCompute,
                        .precision = "bf16"}};
  profile.missing_ceilings = {{.device = kUuid,
                               .resource = "tensor.fp8",
                               .basis = Basis::kBurst,
                               .reason = "skipped: needs compute capability 8.9 or newer"}};
  profile.headlines = {{.device = kUuid,
                        .label = "HBM",
                        .resource = "hbm.read",
                        .basis = Basis::kMeasured,
                        .reference = Basis::kTheoretical,
                        .missing = ""},
                       {.device = kUuid,
                        .label = "PCIe to device",
                        .resource = "pcie.h2d",
                        .basis = Basis::kMeasured,
                        .reference = std::nullopt,
                        .missing = "implausible"}};
  profile.curves = {
      {.device = kUuid,
       .topic = "power",
       .sentence = "gemm.bf16 falls by 9 % at 63.5 °C",
       .title = "Heat costs BF16 products 9 %",
       .figures =
           {{.id = "gemm.bf16", .name = "drop", .by = {}, .value = -0.092, .unit = "1", .role = ""},
            {.id = "gemm.model.bf16",
             .name = "time",
             .by = {{"tokens", std::int64_t{16384}}, {"part", "layer"}},
             .value = 1.75e-3,
             .unit = "s",
             .role = ""},
            {.id = "launch.empty_kernel",
             .name = "time",
             .by = {{"threads", std::int64_t{32}}},
             .value = 0,
             .unit = "s",
             .role = role::kEmptyKernel}},
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
      {.device = std::string(kHostDevice),
       .topic = "threads",
       .sentence = "",
       .title = "One thread is enough",
       .figures = {}}};
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
