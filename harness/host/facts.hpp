#pragma once

// Facts about CPUs, memory and operating system. Sources may be missing in containers and small
// virtual machines; unreadable facts stay unknown.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "harness/values/facts.hpp"

namespace peakline::host {

// Vector extensions with kernels, narrowest first per architecture. kPortable is the compiler's
// choice on other architectures than x86-64 and AArch64.
enum class VectorExtension { kPortable, kNeon, kSse2, kAvx2Fma, kAvx512f };
std::string_view to_string(
    VectorExtension extension);  // "avx512f", "avx2+fma", "sse2", "neon", ...

// Whether the CPU has the extension and the operating system saves its registers.
bool supports(VectorExtension extension);
VectorExtension widest_vector_extension();

// The whole machine, including parts that this process may not use.
HostFacts read_host_facts();

// How many threads may run at once: CPUs of the affinity mask, capped at whole CPUs of the cgroup's
// quota, since one thread more would be throttled within a sample. At least 1. Fast.
int usable_threads();

// CPUs in the cgroup's cpuset, however this process is bound. nullopt if unknown.
std::optional<int> cpuset_threads();

// Bytes available without swapping or an OOM kill: the kernel's estimate or the rest of the
// cgroup's limit, whichever is less. nullopt if neither can be read.
std::optional<double> available_memory_bytes();

// Testable parts, which take their sources as arguments.

// allowed: CPUs of the affinity mask.
int usable_threads(int allowed, std::optional<double> cpu_quota);

// PRETTY_NAME of an os-release file, or "".
std::string parse_os_release(std::string_view text);
// The first CPU's model in /proc/cpuinfo; on ARM its implementer and part numbers; else "".
std::string parse_cpu_model(std::string_view cpuinfo);
// A field of /proc/meminfo, such as "MemAvailable", in bytes.
std::optional<double> parse_meminfo(std::string_view meminfo, std::string_view field);

struct CgroupLimits {
  std::optional<double> cpus;                    // quota / period
  std::optional<double> memory_available_bytes;  // limit minus usage, of the tightest ancestor
  bool operator==(const CgroupLimits&) const = default;
};
// self_cgroup: text of /proc/self/cgroup. mount: normally /sys/fs/cgroup. Reads cgroup versions 1,
// 2 and hybrid; limits of all ancestors apply.
CgroupLimits read_cgroup_limits(std::string_view self_cgroup, const std::filesystem::path& mount);

struct VirtualizationClues {
  bool hypervisor_flag = false;        // by CPUID
  std::string hypervisor_signature{};  // CPUID leaf 0x40000000: "KVMKVMKVM", "Microsoft Hv", ...
  std::string dmi{};                   // "vendor product"
  bool docker_file = false, podman_file = false;  // /.dockerenv, /run/.containerenv
  std::string self_cgroup{};                      // /proc/self/cgroup
  std::string container_variable{};               // $container, as set by systemd or the runtime
};
// "kvm", "docker", "kvm, docker"; "vm" for an unknown hypervisor; "" for bare metal.
std::string virtualization_name(const VirtualizationClues& clues);

}  // namespace peakline::host
