#pragma once

// Facts about the CPUs, memory and operating system. Any source may be missing, as in containers
// and small virtual machines; what cannot be read stays unknown.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "harness/values/facts.hpp"

namespace peakline::host {

// The vector extensions that have kernels, narrowest first on each architecture. kPortable is the
// compiler's own choice for an architecture that is neither x86-64 nor AArch64.
enum class VectorExtension { kPortable, kNeon, kSse2, kAvx2Fma, kAvx512f };
std::string_view to_string(
    VectorExtension extension);  // "avx512f", "avx2+fma", "sse2", "neon", ...

// Whether this CPU has the extension and the operating system saves its registers.
bool supports(VectorExtension extension);
VectorExtension widest_vector_extension();

// The whole machine, including the parts that this process may not use.
HostFacts read_host_facts();

// How many threads may run at once: the CPUs of the affinity mask, capped at the cgroup's CPU quota
// in whole CPUs, since one thread too many would be throttled in the middle of a sample. At least
// 1. Fast: reads a mask and a few small files.
int usable_threads();

// The CPUs that the cgroup's cpuset leaves, which a thread of this process may have however it is
// bound now. nullopt if that cannot be found out.
std::optional<int> cpuset_threads();

// Bytes that can be allocated without swapping or being killed: the kernel's estimate or what the
// cgroup leaves, whichever is less. nullopt if neither can be read.
std::optional<double> available_memory_bytes();

// --- The functions below take their sources as arguments.

// allowed: CPUs of the affinity mask.
int usable_threads(int allowed, std::optional<double> cpu_quota);

// PRETTY_NAME of an os-release file; "" if it has none.
std::string parse_os_release(std::string_view text);
// The model of the first CPU of /proc/cpuinfo; on ARM, which names none, its implementer and part
// numbers; "" without either.
std::string parse_cpu_model(std::string_view cpuinfo);
// A field of /proc/meminfo in bytes, such as "MemAvailable".
std::optional<double> parse_meminfo(std::string_view meminfo, std::string_view field);

struct CgroupLimits {
  std::optional<double> cpus;                    // quota over period
  std::optional<double> memory_available_bytes;  // limit minus usage, of the tightest ancestor
  bool operator==(const CgroupLimits&) const = default;
};
// self_cgroup: text of /proc/self/cgroup. mount: where the hierarchies are mounted, normally
// /sys/fs/cgroup. Understands version 2, version 1 and both at once; the limits of all ancestors
// apply.
CgroupLimits read_cgroup_limits(std::string_view self_cgroup, const std::filesystem::path& mount);

struct VirtualizationClues {
  bool hypervisor_flag = false;        // CPUID says so
  std::string hypervisor_signature{};  // CPUID leaf 0x40000000: "KVMKVMKVM", "Microsoft Hv", ...
  std::string dmi{};                   // system vendor and product, space between
  bool docker_file = false, podman_file = false;  // /.dockerenv, /run/.containerenv
  std::string self_cgroup{};                      // /proc/self/cgroup
  std::string container_variable{};               // $container, as set by systemd or the runtime
};
// "kvm", "docker", "kvm, docker", "vm" for an unidentified hypervisor; "" for bare metal.
std::string virtualization_name(const VirtualizationClues& clues);

}  // namespace peakline::host
