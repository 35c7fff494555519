#include <span>
#include <vector>

#include "bench/catalog.hpp"

namespace peakline::bench {

std::span<const TopicWord> topic_words() {
  // Each question's topic and each part of a summary has at least one word.
  static const std::vector<TopicWord> kWords = {
      {"findings", {"findings"}},
      {"compute", {"compute", "factors"}},
      {"mfu", {"mfu", "model layer"}},
      {"ridge", {"ridge points"}},
      {"roofline", {"ridge points", "roofline sweep"}},
      {"gemm",
       {"GEMM sizes", "product variants", "product sides", "skinny products", "vocabulary", "waves",
        "model layer", "operand data"}},
      {"power", {"sustained load", "operand data", "soak"}},
      {"instructions", {"instructions"}},
      {"atomics", {"atomics"}},
      {"divergence", {"divergence"}},
      {"occupancy", {"occupancy"}},
      {"sms", {"some of the SMs", "some of the SMs on links"}},
      {"bandwidth", {"bandwidth"}},
      {"memory", {"memory map", "bandwidth"}},
      {"hbm",
       {"device memory by size", "device memory by width", "random access", "updates in place"}},
      {"random", {"random access"}},
      {"caches", {"memory map", "caches", "memory latency"}},
      {"l2", {"memory map", "caches", "memory latency"}},
      {"latency", {"memory map", "memory latency"}},
      {"shared", {"bank conflicts", "distributed shared memory", "copies to shared memory"}},
      {"layout", {"changing layouts"}},
      {"alignment", {"alignment"}},
      {"fusion", {"fusion"}},
      {"launch", {"kernel launch"}},
      {"synchronization", {"synchronization"}},
      {"pcie", {"PCIe copies", "host memory", "host links at once", "overlap"}},
      {"overlap", {"overlap"}},
      {"allocation", {"allocation"}},
      {"nvlink", {"links", "GPU to GPU", "GPUs at once"}},
      {"nccl", {"links", "collectives"}},
      {"host", {"host", "threads"}},
      {"storage", {"storage", "input"}}};
  return kWords;
}

}  // namespace peakline::bench
