#include <array>
#include <cstddef>
#include <vector>

#include "harness/hardware/datasheets.hpp"
#include "harness/hardware/spec.hpp"

namespace peakline {
namespace {

constexpr Document kTuring = {"NVIDIA Turing GPU architecture (whitepaper)",
                              "https://images.nvidia.com/aem-dam/en-zz/Solutions/"
                              "design-visualization/technologies/turing-architecture/"
                              "NVIDIA-Turing-Architecture-Whitepaper.pdf",
                              "2018-09"};
constexpr Document kT4 = {"NVIDIA T4 datasheet",
                          "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/tesla-t4/"
                          "t4-tensor-core-datasheet-951643.pdf",
                          "2019-03"};
constexpr Document kT4Brief = {"NVIDIA T4 product brief",
                               "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/"
                               "tesla-t4/t4-tensor-core-product-brief.pdf",
                               "2020"};
constexpr Document kA10 = {"NVIDIA A10 datasheet",
                           "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a10/pdf/"
                           "datasheet-new/nvidia-a10-datasheet.pdf",
                           "2021"};
constexpr Document kA10g = {"NVIDIA A10G datasheet (AWS)",
                            "https://d1.awsstatic.com/product-marketing/ec2/"
                            "NVIDIA_AWS_A10G_DataSheet_FINAL_02_17_2022.pdf",
                            "2022-02"};
constexpr Document kA30 = {
    "NVIDIA A30 datasheet",
    "https://www.nvidia.com/content/dam/en-zz/Solutions/data-center/products/"
    "a30-gpu/pdf/a30-datasheet.pdf",
    "2021"};
constexpr Document kA40 = {"NVIDIA A40 datasheet",
                           "https://images.nvidia.com/content/Solutions/data-center/a40/"
                           "nvidia-a40-datasheet.pdf",
                           "2021"};
constexpr Document kA100 = {"NVIDIA A100 datasheet",
                            "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/"
                            "pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf",
                            "2021-06"};
constexpr Document kA100Whitepaper = {"NVIDIA A100 architecture (whitepaper)",
                                      "https://images.nvidia.com/aem-dam/en-zz/Solutions/"
                                      "data-center/nvidia-ampere-architecture-whitepaper.pdf",
                                      "2020"};
constexpr Document kGa102 = {"NVIDIA Ampere GA102 GPU architecture (whitepaper v2.1)",
                             "https://www.nvidia.com/content/PDF/"
                             "nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.1.pdf",
                             "2021"};
constexpr Document kAda = {"NVIDIA Ada GPU architecture (whitepaper v2.1)",
                           "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/"
                           "nvidia-ada-gpu-architecture.pdf",
                           "2023"};
constexpr Document kAdaPro = {"NVIDIA Ada GPU architecture for professionals (whitepaper v1.1)",
                              "https://images.nvidia.com/aem-dam/en-zz/Solutions/technologies/"
                              "NVIDIA-ADA-GPU-PROVIZ-Architecture-Whitepaper_1.1.pdf",
                              "2023"};
constexpr Document kL4 = {"NVIDIA L4 datasheet",
                          "https://resources.nvidia.com/en-us-l4/l4-datasheet", "2023"};
constexpr Document kL40 = {"NVIDIA L40 datasheet", "https://www.nvidia.com/en-us/data-center/l40/",
                           "2023"};
constexpr Document kL40s = {"NVIDIA L40S datasheet",
                            "https://resources.nvidia.com/en-us-l40s/l40s-datasheet-28413", "2023"};
constexpr Document kHopper = {"NVIDIA H100 architecture (whitepaper v1.04)",
                              "https://resources.nvidia.com/en-us-tensor-core/"
                              "gtc22-whitepaper-hopper",
                              "2023"};
constexpr Document kH100 = {"NVIDIA H100 datasheet",
                            "https://resources.nvidia.com/en-us-tensor-core/"
                            "nvidia-tensor-core-gpu-datasheet",
                            "2024"};
constexpr Document kH200 = {"NVIDIA H200 datasheet",
                            "https://www.nvidia.com/en-us/data-center/h200/", "2024"};
constexpr Document kGh200 = {"NVIDIA GH200 Grace Hopper Superchip datasheet",
                             "https://resources.nvidia.com/en-us-grace-cpu/"
                             "grace-hopper-superchip",
                             "2024"};
constexpr Document kHgx = {"NVIDIA HGX platform, specifications of one board of 8 GPUs",
                           "https://www.nvidia.com/en-us/data-center/hgx/", "2026-08"};
constexpr Document kBlackwell = {"NVIDIA Blackwell datasheet",
                                 "https://nvdam.widen.net/s/wwnsxrhm2w/blackwell-datasheet-3384703",
                                 "2024"};
constexpr Document kGb200 = {"NVIDIA GB200 NVL72, specifications of 72 GPUs",
                             "https://www.nvidia.com/en-us/data-center/gb200-nvl72/", "2025"};
constexpr Document kGb300 = {"NVIDIA GB300 NVL72, specifications of 72 GPUs",
                             "https://www.nvidia.com/en-us/data-center/gb300-nvl72/", "2026"};
constexpr Document kBlackwellUltra = {
    "Inside NVIDIA Blackwell Ultra (NVIDIA technical blog)",
    "https://developer.nvidia.com/blog/"
    "inside-nvidia-blackwell-ultra-the-chip-powering-the-ai-factory-era",
    "2025-08"};
constexpr Document kB300Copy = {"Verda on the GB300 NVL72 architecture, copying NVIDIA's datasheet",
                                "https://verda.com/blog/gb300-nvl72-architecture", "2025"};
constexpr Document kB300Notes = {"Glenn Lockwood's notes on B300, from NVIDIA's announcement",
                                 "https://glennklockwood.com/garden/processors/B300", "2025"};
constexpr Document kB200Notes = {"Glenn Lockwood's notes on B200, from NVIDIA's technical brief",
                                 "https://glennklockwood.com/garden/processors/B200", "2024"};
constexpr Document kB200FirstDrivers = {"what first drivers say of a B200 (pytorch/ao)",
                                        "https://github.com/pytorch/ao/pull/4002", "2026-03"};
constexpr Document kB200Drivers = {"what drivers say of a B200 (OpenXLA)",
                                   "https://github.com/openxla/xla/blob/"
                                   "300ec95ab85fa9f40af388054f7d43707407cb52/xla/backends/gpu/"
                                   "target_config/specs/b200.txtpb",
                                   "2026"};
constexpr Document kRtxBlackwell = {"NVIDIA RTX Blackwell GPU architecture (whitepaper v1.1)",
                                    "https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/"
                                    "nvidia-rtx-blackwell-gpu-architecture.pdf",
                                    "2025"};
constexpr Document kRtxBlackwellPro = {
    "NVIDIA RTX Blackwell PRO GPU architecture (whitepaper v1.0)",
    "https://www.nvidia.com/content/dam/en-zz/Solutions/design-visualization/"
    "quadro-product-literature/NVIDIA-RTX-Blackwell-PRO-GPU-Architecture-v1.0.pdf",
    "2025"};
constexpr Document kRtxPro6000Server = {
    "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "https://www.nvidia.com/en-us/data-center/rtx-pro-6000-blackwell-server-edition/", "2025"};
constexpr Document kSpark = {"NVIDIA DGX Spark hardware overview",
                             "https://docs.nvidia.com/dgx/dgx-spark/hardware.html", "2025"};
constexpr Document kThor = {"NVIDIA Jetson modules",
                            "https://developer.nvidia.com/embedded/jetson-modules", "2025"};

// The SM clocks behind a product's figures, MHz; 0: not stated.
struct Clocks {
  double vector;  // of CUDA cores and of FP64 on Tensor Cores
  double tensor;
  double half = tensor;  // of FP16 and BF16 on Tensor Cores
};
// One for each column of kSmUnits.
constexpr std::array<double Clocks::*, kSmUnits.size()> kClockOf = {
    &Clocks::vector, &Clocks::vector, &Clocks::vector, &Clocks::vector, &Clocks::tensor,
    &Clocks::half,   &Clocks::half,   &Clocks::tensor, &Clocks::tensor, &Clocks::tensor};

// TFLOP/s or TOP/s, by column of kSmUnits; 0: not stated, or with too few digits.
using Rates = std::array<double, kSmUnits.size()>;

// memory: GB/s; 0: not stated. fp16_sums: FP16 on Tensor Cores with sums in FP16, where it differs.
std::vector<DatasheetFigure> figures(double memory, const Clocks& mhz, const Rates& rates,
                                     double fp16_sums = 0) {
  std::vector<DatasheetFigure> stated;
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (rates[i] > 0) stated.push_back({kSmUnits[i], rates[i] * 1e12, mhz.*kClockOf[i] * 1e6});
  if (fp16_sums > 0) stated.push_back({"tensor.fp16_acc16", fp16_sums * 1e12, mhz.half * 1e6});
  if (memory > 0) stated.push_back({"hbm", memory * 1e9, 0});
  return stated;
}

constexpr Rates kNone = {};
constexpr Rates kOfA40 = {0, 37.4, 0, 0, 74.8, 149.7, 149.7, 0, 299.3, 0};
constexpr Rates kOfA100 = {9.7, 19.5, 0, 19.5, 156, 312, 312, 0, 624, 0};
constexpr Rates kOfHopperSxm = {33.5, 66.9, 0, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9, 0};
constexpr Rates kOfHopperNvl = {30, 60, 0, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5, 0};
constexpr Rates kOfH100Pcie = {25.6, 51.2, 0, 51.2, 378, 756, 756, 1513, 1513, 0};
constexpr Rates kOfGh200 = {34, 67, 0, 67, 494, 990, 990, 1979, 1979, 0};
constexpr Rates kOfL40s = {0, 91.6, 0, 0, 183, 362.05, 362.05, 733, 733, 0};
// These are for one GPU on the HGX board; TF32 is left out, stated with two digits only.
constexpr Rates kOfB200 = {0, 0, 0, 0, 0, 2250, 2250, 4500, 4500, 9000};
constexpr Rates kOfB300 = {0, 75, 0, 0, 0, 2250, 2250, 4500, 0, 0};
constexpr Rates kOfGb200 = {0, 0, 0, 0, 1250, 2500, 2500, 5000, 5000, 10000};
constexpr Rates kOfGb300 = {0, 0, 0, 0, 1250, 2500, 2500, 5000, 0, 15000};

constexpr Clocks kNotStated = {0, 0};
// Hopper's Tensor Core figures stand at a lower clock than its other figures (H100 whitepaper, "GPU
// Boost Clock for Tensor Core Ops").
constexpr Clocks kHopperClocks = {1980, 1830};
// The dense FP16 figure is not half of the sparse one (733): it stands at a slightly lower clock.
constexpr Clocks kL40sClocks = {2520, 2520, 2490};

// Ids: README of https://github.com/NVIDIA/open-gpu-kernel-modules, "Compatible GPUs" (595, 2026);
// there, this device is listed without subsystems.
PciId any_board(std::string_view device) { return {device, {}}; }

std::vector<Datasheet> table() {
  using enum TensorRate;
  using enum Compared;
  return {
      // clang-format off
      {"T4", "Tesla T4", {{"10de:1eb8", {"10de:12a2"}}},
       7, 5, 40, {&kT4, &kTuring}, 1590e6, kNotAgain,
       figures(0, {1590, 1590}, {0, 8.1, 0, 0, 0, 65, 0, 0, 130, 0}), kFull,
       {{"hbm", {{300e9, &kT4}, {320e9, &kT4Brief}}}}},
      {"A10", "NVIDIA A10", {{"10de:2236", {"10de:1482"}}},
       8, 6, 72, {&kA10}, 1695e6, kNotAgain,
       figures(600, {1695, 1695}, {0, 31.2, 0, 0, 62.5, 125, 125, 0, 250, 0})},
      {"A10G", "NVIDIA A10G", {{"10de:2237", {"10de:152f"}}},
       8, 6, 80, {&kA10g}, 0, kNotAgain,
       figures(600, kNotStated, {0, 35, 0, 0, 0, 70, 70, 0, 0, 0}), kHalf},
      {"A30", "NVIDIA A30", {{"10de:20b7", {"10de:1532", "10de:1804", "10de:1852"}}},
       8, 0, 56, {&kA30}, 1440e6, kNotAgain,
       figures(933, {1440, 1440}, {5.2, 10.3, 0, 10.3, 82, 165, 165, 0, 330, 0})},
      {"A40", "NVIDIA A40", {{"10de:2235", {"10de:145a"}}},
       8, 6, 84, {&kA40}, 1740e6, kThirdPartysCopy,
       figures(696, {1740, 1740}, kOfA40)},
      {"A100 SXM 40 GB", "NVIDIA A100-SXM4-40GB", {any_board("10de:20b0")},
       8, 0, 108, {&kA100Whitepaper}, 1410e6, kNotAgain,
       figures(1555, {1410, 1410}, kOfA100)},
      {"A100 PCIe 40 GB", "NVIDIA A100-PCIE-40GB", {{"10de:20f1", {"10de:145f"}}},
       8, 0, 108, {&kA100Whitepaper}, 1410e6, kNotAgain,
       figures(1555, {1410, 1410}, kOfA100)},
      {"A100 SXM 80 GB", "NVIDIA A100-SXM4-80GB", {{"10de:20b2", {"10de:1463", "10de:147f",
        "10de:1622", "10de:1623"}}},
       8, 0, 108, {&kA100}, 1410e6, kNotAgain,
       figures(2039, {1410, 1410}, kOfA100)},
      {"A100 PCIe 80 GB", "NVIDIA A100 80GB PCIe", {{"10de:20b5", {"10de:1533", "10de:1642"}}},
       8, 0, 108, {&kA100}, 1410e6, kNotAgain,
       figures(1935, {1410, 1410}, kOfA100)},
      {"RTX A6000", "NVIDIA RTX A6000", {{"10de:2230", {"1028:1459", "103c:1459", "10de:1459",
        "17aa:1459"}}},
       8, 6, 84, {&kGa102}, 1800e6, kNotAgain,
       figures(768, {1800, 1800}, {0, 38.7, 38.7, 0, 77.4, 154.8, 154.8, 0, 309.7, 0})},
      {"GeForce RTX 3090", "NVIDIA GeForce RTX 3090", {any_board("10de:2204")},
       8, 6, 82, {&kGa102}, 1695e6, kNotAgain,
       figures(936, {1695, 1695}, {0, 35.6, 35.6, 0, 35.6, 71, 71, 0, 284, 0}, 142),
        kHalfWithFp32Sums},
      {"GeForce RTX 4090", "NVIDIA GeForce RTX 4090", {any_board("10de:2684")},
       8, 9, 128, {&kAda}, 2520e6, kNotAgain,
       figures(1008, {2520, 2520}, {0, 82.6, 82.6, 0, 82.6, 165.2, 165.2, 330.3, 660.6, 0},
        330.3), kHalfWithFp32Sums},
      {"RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation", {{"10de:26b1", {"1028:16a1", "103c:16a1",
        "10de:16a1", "17aa:16a1"}}},
       8, 9, 142, {&kAdaPro}, 2505e6, kNotAgain,
       figures(960, {2505, 2505}, {0, 91.1, 0, 0, 182.1, 364.2, 364.2, 728.5, 728.5, 0})},
      {"L4", "NVIDIA L4", {{"10de:27b8", {"10de:16ca", "10de:16ee"}}},
       8, 9, 58, {&kL4}, 2040e6, kThirdPartysCopy,
       figures(300, {2040, 2040}, {0, 30.3, 0, 0, 0, 121, 121, 242.5, 242.5, 0})},
      {"L20", "NVIDIA L20", {{"10de:26ba", {"10de:1957", "10de:1990"}}},
       8, 9, 92, {}, 0, kNotAgain,
       {}, kUnknown},
      {"L40", "NVIDIA L40", {{"10de:26b5", {"10de:169d", "10de:17da"}}},
       8, 9, 142, {&kL40}, 2490e6, kNotAgain,
       figures(864, {2490, 2490}, {0, 90.5, 0, 0, 90.5, 181.05, 181.05, 362, 362, 0}), kHalf},
      {"L40S", "NVIDIA L40S", {{"10de:26b9", {"10de:1851", "10de:18cf"}}},
       8, 9, 142, {&kL40s}, 2520e6, kThirdPartysCopy,
       figures(864, kL40sClocks, kOfL40s)},
      {"H20", "NVIDIA H20", {{"10de:2329", {"10de:198b", "10de:198c"}}},
       9, 0, 78, {}, 0, kNotAgain,
       {}, kUnknown},
      {"H800", "NVIDIA H800", {{"10de:2324", {"10de:17a6", "10de:17a8"}}},
       9, 0, 132, {}, 0, kNotAgain,
       {}, kUnknown},
      {"H100 SXM", "NVIDIA H100 80GB HBM3", {{"10de:2330", {"10de:16c0", "10de:16c1"}}},
       9, 0, 132, {&kHopper, &kH100}, 1980e6, kNotAgain,
       figures(3350, kHopperClocks, kOfHopperSxm)},
      {"H100 PCIe", "NVIDIA H100 PCIe", {{"10de:2331", {"10de:1626"}}},
       9, 0, 114, {&kHopper, &kH100}, 1755e6, kNotAgain,
       figures(2000, {1755, 1620}, kOfH100Pcie)},
      {"H100 NVL", "NVIDIA H100 NVL", {{"10de:2321", {"10de:1839"}}},
       9, 0, 132, {&kH100}, 0, kNotAgain,
       figures(3900, kNotStated, kOfHopperNvl)},
      {"H200 SXM", "NVIDIA H200", {{"10de:2335", {"10de:18be", "10de:18bf"}}},
       9, 0, 132, {&kHopper, &kH200}, 1980e6, kThirdPartysCopy,
       figures(4800, kHopperClocks, kOfHopperSxm)},
      {"H200 NVL", "NVIDIA H200 NVL", {{"10de:233b", {"10de:1996"}}},
       9, 0, 132, {&kH200}, 0, kNotAgain,
       figures(4800, kNotStated, kOfHopperNvl)},
      // The size in the name is that of the CPU's memory: both have 96 GB on the GPU.
      {"GH200 96 GB (480 GB LPDDR5X)", "NVIDIA GH200 480GB", {{"10de:2342", {"10de:1809"}}},
       9, 0, 132, {&kGh200}, 0, kNotAgain,
       figures(4000, kNotStated, kOfGh200)},
      {"GH200 96 GB (120 GB LPDDR5X)", "NVIDIA GH200 120GB", {{"10de:2342", {"10de:16eb",
        "10de:1805"}}},
       9, 0, 132, {&kGh200}, 0, kNotAgain,
       figures(4000, kNotStated, kOfGh200)},
      {"GH200 144 GB", "NVIDIA GH200 144G HBM3e", {{"10de:2348", {"10de:18d2"}}},
       9, 0, 132, {&kGh200}, 0, kNotAgain,
       figures(4900, kNotStated, kOfGh200)},
      {"B200", "NVIDIA B200", {{"10de:2901", {"10de:1999", "10de:199b", "10de:20da"}},
        {"10de:2909", {"10de:22eb"}}},
       10, 0, 148, {&kHgx, &kBlackwell}, 0, kThirdPartysCopy,
       figures(0, kNotStated, kOfB200), kFull,
       {{"cuda_core.fp64", {{37e12, &kHgx}, {40e12, &kB200Notes}}},
        {"cuda_core.fp32", {{75e12, &kHgx}, {80e12, &kB200Notes}}},
        {"hbm", {{7.7e12, &kHgx}, {8e12, &kB200Notes}}},
        {kMemoryBus, {{8192, &kB200FirstDrivers}, {7680, &kB200Drivers}}}}},
      {"GB200", "NVIDIA GB200", {{"10de:2941", {"10de:2046", "10de:20ca", "10de:20d5",
        "10de:21c9", "10de:21ca"}}},
       10, 0, 0, {&kGb200}, 0, kNotAgain,
       figures(8000, kNotStated, kOfGb200), kFull,
       {{"cuda_core.fp64", {{40e12, &kGb200}, {45e12, &kB200Notes}}}, {"cuda_core.fp32", {{80e12,
        &kGb200}, {90e12, &kB200Notes}}}}},
      {"B300", "NVIDIA B300 SXM6 AC", {{"10de:3182", {"10de:20e6"}}},
       10, 3, 0, {&kHgx}, 0, kThirdPartysCopy,
       figures(0, kNotStated, kOfB300), kFull,
       {{"tensor.fp4", {{13.1e15, &kB300Notes}, {13.5e15, &kHgx}, {14e15, &kB300Copy}}}, {"hbm",
        {{7.7e12, &kB300Copy}, {8e12, &kBlackwellUltra}}}}},
      {"GB300", "NVIDIA GB300", {{"10de:31c2", {"10de:21f1"}}},
       10, 3, 0, {&kGb300, &kBlackwellUltra}, 0, kNotAgain,
       figures(8000, kNotStated, kOfGb300)},
      // Which GB300 it is, no document says: that of the DGX Station has slower memory.
      {"GB300 (31c3)", "NVIDIA GB300", {{"10de:31c3", {"10de:22f8"}}},
       10, 3, 0, {}, 0, kNotAgain,
       {}, kUnknown},
      {"GeForce RTX 5090", "NVIDIA GeForce RTX 5090", {any_board("10de:2b85")},
       12, 0, 170, {&kRtxBlackwell}, 2407e6, kNotAgain,
       figures(1792, {2407, 2407}, {0, 104.8, 104.8, 0, 104.8, 209.5, 209.5, 419, 838, 1676},
        419), kHalfWithFp32Sums},
      {"RTX PRO 6000 Blackwell Workstation", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
        {{"10de:2bb1", {"1028:204b", "103c:204b", "10de:204b", "17aa:204b"}}},
       12, 0, 188, {&kRtxBlackwellPro}, 2617e6, kNotAgain,
       figures(1792, {2617, 2617}, {0, 126, 126, 0, 251.9, 503.8, 503.8, 1007.6, 1007.6, 2015.2})},
      {"RTX PRO 6000 Blackwell Max-Q", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
        {{"10de:2bb4", {"1028:204c", "103c:204c", "10de:204c", "17aa:204c"}}},
       12, 0, 188, {&kRtxBlackwellPro}, 0, kNotAgain,
       figures(1792, kNotStated, kNone)},
      {"RTX PRO 6000 Blackwell Server", "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        {{"10de:2bb5", {"10de:204e", "10de:220b"}}},
       12, 0, 188, {&kRtxPro6000Server}, 0, kNotAgain,
       figures(1597, kNotStated, kNone)},
      {"GB10", "NVIDIA GB10", {{"10de:2e12", {"10de:21ec"}}},
       12, 1, 48, {&kSpark}, 0, kNotAgain,
       figures(273, kNotStated, kNone)},
      {"Jetson Thor", "NVIDIA Thor", {},
       11, 0, 20, {&kThor}, 0, kNotAgain,
       figures(273, kNotStated, {})},
      // clang-format on
  };
}

}  // namespace

std::span<const Datasheet> datasheets() {
  static const std::vector<Datasheet> kDatasheets = table();
  return kDatasheets;
}

}  // namespace peakline
