#include <span>
#include <vector>

#include "bench/catalog.hpp"

namespace peakline::bench {

std::span<const TopicWord> topic_words() {
  // Each question's topic and each part of a summary has at least one word.
  static const std::vector<TopicWord> kWords = {
      {"findings", {"findings"}, {"notes", "warnings", "problems"}},
      {"compute",
       {"compute", "factors"},
       {"flops", "tflops", "bf16", "fp16", "fp32", "fp64", "tf32", "fp8", "fp4", "int8", "nvfp4",
        "mxfp8", "tensor", "cuda", "peak", "peaks"}},
      {"mfu", {"mfu", "model layer"}, {"utilization", "achievable", "published"}},
      {"ridge", {"ridge points"}, {"intensity", "balance"}},
      {"roofline", {"ridge points", "roofline sweep"}, {"roof"}},
      {"gemm",
       {"GEMM sizes", "product variants", "product sides", "skinny products", "vocabulary", "waves",
        "model layer", "grouped products", "operand data"},
       {"matmul", "cublas", "cublaslt", "linear", "mma", "skinny", "wave", "quantization",
        "grouped", "experts", "moe"}},
      {"power",
       {"compute", "sustained load", "operand data", "soak"},
       {"throttle", "throttling", "clock", "clocks", "thermal", "temperature", "heat", "burst",
        "sustained", "watt"}},
      {"instructions", {"instructions"}, {"instruction", "sass", "ptx", "sfu", "shuffle", "int32"}},
      {"atomics", {"atomics"}, {"atomic", "atomicadd", "histogram"}},
      {"divergence", {"divergence"}, {"warp", "branch", "branches", "lanes"}},
      {"occupancy", {"occupancy"}, {"warps", "registers", "blocks", "ilp"}},
      {"sms", {"some of the SMs", "some of the SMs on links"}, {"sm", "subset", "partial"}},
      {"bandwidth", {"bandwidth"}, {"memset", "copy", "stream", "triad"}},
      {"memory", {"memory map", "bandwidth"}, {"map", "hierarchy", "levels"}},
      {"hbm",
       {"device memory by size", "device memory by width", "random access", "updates in place"},
       {"dram", "vram", "gddr", "global"}},
      {"random", {"random access"}, {"tlb", "gather", "scatter", "hash", "embedding"}},
      {"caches", {"memory map", "caches", "memory latency"}, {"cache", "l1"}},
      {"l2", {"memory map", "caches", "memory latency"}},
      {"latency", {"memory map", "memory latency"}, {"chase", "cycles"}},
      {"shared",
       {"bank conflicts", "distributed shared memory", "copies to shared memory"},
       {"smem", "bank", "banks", "tma", "cp.async", "dsmem", "cluster"}},
      {"layout", {"changing layouts"}, {"transpose", "permute"}},
      {"alignment",
       {"alignment"},
       {"stride", "strided", "coalescing", "coalesced", "unaligned", "misaligned", "sector",
        "offset"}},
      {"fusion", {"fusion"}, {"fuse", "fused", "elementwise", "inplace"}},
      {"launch", {"kernel launch"}, {"graph", "graphs", "overhead", "kernel"}},
      {"synchronization", {"synchronization"}, {"sync", "barrier", "event", "grid"}},
      {"pcie",
       {"PCIe copies", "host memory", "scattered blocks", "host links at once", "overlap"},
       {"blocks", "kv cache", "offload", "copies", "memcpy", "pinned", "pageable", "h2d", "d2h",
        "zerocopy", "mapped", "write combined"}},
      {"overlap", {"overlap"}, {"streams", "concurrent", "async", "hide"}},
      {"allocation", {"allocation"}, {"malloc", "cudamalloc", "alloc", "pool"}},
      {"nvlink",
       {"links", "GPU to GPU", "GPUs at once"},
       {"p2p", "peer", "peers", "nvswitch", "c2c", "links", "node"},
       "they need two GPUs or more"},
      {"nccl",
       {"links", "collectives", "small collectives", "beside collectives"},
       {"allreduce", "allgather", "alltoall", "reducescatter", "collective", "collectives"},
       "they need two GPUs or more"},
      {"decode",
       {},
       {"decoding", "llm", "tokens", "inference", "prefill"},
       "peakline-llm --profile FILE answers for a model"},
      {"host", {"host", "threads"}, {"cpu", "numa", "ddr", "ram", "threads", "socket"}},
      {"storage",
       {"storage", "input"},
       {"disk", "ssd", "nvme", "io", "dataloader", "dataset", "files"},
       "peakline run --storage DIR"}};
  return kWords;
}

}  // namespace peakline::bench
