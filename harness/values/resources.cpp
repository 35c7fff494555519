#include "harness/values/resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "harness/values/text.hpp"

namespace peakline {
namespace {

Resource memory(std::string name, std::string label, int slope_rank, std::string peak_of = {}) {
  return {.name = std::move(name),
          .label = std::move(label),
          .unit = "B/s",
          .kind = Resource::Kind::kMemory,
          .precision = {},
          .peak_of = std::move(peak_of),
          .slope_rank = slope_rank};
}

// The device's memory, or the link to its host, by the names that most devices have.
Resource device_memory(std::string_view name, std::string what, int slope_rank) {
  Resource made = memory(fmt::format("hbm.{}", name), "HBM " + what, slope_rank, "hbm");
  made.of = Resource::Of::kDeviceMemory;
  made.what = std::move(what);
  return made;
}
Resource host_link(std::string_view name, std::string what, int slope_rank) {
  Resource made = memory(fmt::format("pcie.{}", name), "PCIe " + what, slope_rank);
  made.of = Resource::Of::kHostLink;
  made.what = std::move(what);
  return made;
}

// Example: "cuda_core", "fp32", "FP32", "CUDA cores".
Resource compute(std::string_view unit, std::string precision, std::string format,
                 std::string engine, std::string peak_of = {}) {
  return {.name = std::string(unit) + "." + precision,
          .label = format + " " + engine,
          .unit = precision == "int8" ? "OP/s" : "FLOP/s",
          .kind = Resource::Kind::kCompute,
          .precision = precision,
          .peak_of = std::move(peak_of),
          .format = std::move(format),
          .engine = std::move(engine)};
}

}  // namespace

std::string_view to_string(Resource::Kind kind) { return name_of({"memory", "compute"}, kind); }

std::string_view part_of(std::string_view resource) {
  return resource.substr(0, resource.find('.'));
}

std::string_view without_pair(std::string_view resource) {
  const std::size_t dot = resource.rfind('.');
  const std::string_view pair = dot == std::string_view::npos ? "" : resource.substr(dot + 1);
  const bool is_pair = pair.find('-') != std::string_view::npos &&
                       pair.find_first_not_of("0123456789-") == std::string_view::npos;
  return is_pair ? resource.substr(0, dot) : resource;
}

std::span<const Resource> known_resources() {
  // Slope rank 1 is reading: it has the highest rate, and most kernels on a slope mostly read.
  static const std::vector<Resource> kResources = {
      device_memory("read", "read", 1), device_memory("write", "write", 5),
      device_memory("copy", "copy (read + write)", 3),
      device_memory("triad", "triad (2 reads + write)", 2),
      device_memory("memcpy", "memcpy (read + write)", 4), device_memory("memset", "memset", 0),
      memory("l2.read", "L2 read", 1), memory("l2.write", "L2 write", 2),
      memory("l1.read", "L1 read", 1),
      // Shared memory uses the L1's data path, so the L1's slope stands for both.
      memory("shared.read", "shared memory read", 0),
      memory("shared.write", "shared memory write", 0), host_link("h2d", "H2D", 1),
      host_link("d2h", "D2H", 2), host_link("bidirectional", "both ways", 0),
      memory("c2c.h2d", "NVLink-C2C H2D", 1), memory("c2c.d2h", "NVLink-C2C D2H", 2),
      memory("c2c.bidirectional", "NVLink-C2C both ways", 0),
      memory("nvlink.read", "NVLink read", 0), memory("nvlink.write", "NVLink write", 0),
      memory("nvlink.bidirectional", "NVLink both ways", 0),
      memory("nvlink.all_to_all", "NVLink all to all", 0),
      memory("nvlink.bisection", "NVLink bisection, both ways", 0),
      memory("nccl.all_reduce.busbw", "NCCL all-reduce", 0),
      memory("nccl.all_gather.busbw", "NCCL all-gather", 0),
      memory("nccl.reduce_scatter.busbw", "NCCL reduce-scatter", 0),
      memory("nccl.all_to_all.busbw", "NCCL all-to-all", 0),
      memory("nccl.broadcast.busbw", "NCCL broadcast", 0),
      memory("nccl.send_receive.busbw", "NCCL send/receive", 0),
      compute("cuda_core", "fp64", "FP64", "CUDA cores"),
      compute("cuda_core", "fp32", "FP32", "CUDA cores"),
      compute("cuda_core", "fp16", "FP16", "CUDA cores"),
      // GEMMs on CUDA cores.
      compute("gemm", "fp64", "FP64", "GEMM", "cuda_core.fp64"),
      compute("gemm", "fp32", "FP32", "GEMM", "cuda_core.fp32"),
      compute("tensor", "fp64", "FP64", "Tensor Cores"),
      compute("tensor", "tf32", "TF32", "Tensor Cores"),
      compute("tensor", "fp16", "FP16", "Tensor Cores"),
      // FP16 accumulation is another operation, no substitute for FP32 accumulation.
      compute("tensor", "fp16_acc16", "FP16", "Tensor Cores (FP16 sums)", "tensor.fp16"),
      compute("tensor", "bf16", "BF16", "Tensor Cores"),
      compute("tensor", "fp8", "FP8", "Tensor Cores"),
      // Scales of rows or blocks, as models use FP8.
      compute("tensor", "fp8_row", "FP8 row", "Tensor Cores", "tensor.fp8"),
      compute("tensor", "fp8_block", "FP8 block", "Tensor Cores", "tensor.fp8"),
      compute("tensor", "fp8_block_both", "FP8 block both", "Tensor Cores", "tensor.fp8"),
      compute("tensor", "int8", "INT8", "Tensor Cores"),
      // Scaled blocks of elements.
      compute("tensor", "mxfp8", "MXFP8", "Tensor Cores", "tensor.fp8"),
      compute("tensor", "fp4", "FP4", "Tensor Cores"),
      compute("tensor", "nvfp4", "NVFP4", "Tensor Cores", "tensor.fp4"),
      compute("tensor", "mxfp4", "MXFP4", "Tensor Cores", "tensor.fp4"),
      // A roofline divides by the device's first memory, so memory precedes storage.
      memory("memory.read", "memory read", 1),
      memory("memory.copy", "memory copy (read + write)", 3),
      memory("memory.triad", "memory triad (2 reads + write)", 2),
      memory("storage.read", "storage read", 1), memory("input.pipeline", "storage to GPU", 1),
      memory("input.direct", "storage to GPU, GPUDirect", 1), compute("cpu", "fp64", "FP64", "CPU"),
      compute("cpu", "fp32", "FP32", "CPU")};
  return kResources;
}

const Resource* find_resource(std::string_view name) {
  const auto known = known_resources();
  const auto found = std::ranges::find(known, name, &Resource::name);
  return found == known.end() ? nullptr : &*found;
}

std::string_view peak_resource(std::string_view name) {
  const Resource* known = find_resource(name);
  return known != nullptr && !known->peak_of.empty() ? std::string_view(known->peak_of) : name;
}

const Resource& resource(std::string_view name) {
  if (const Resource* found = find_resource(name)) return *found;
  throw std::logic_error("no such resource: " + std::string(name));
}

}  // namespace peakline
