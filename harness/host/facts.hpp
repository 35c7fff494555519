#pragma once

// What is known of the CPUs, memory and operating system. Every source may be missing, as it is in
// containers and small virtual machines; what cannot be read stays unknown.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/facts.hpp"

namespace peakline::host {

// The vector units that there are kernels for, narrowest first on each architecture. kPortable is
// the compiler's own choice for an architecture that is neither x86-64 nor AArch64.
enum class VectorExtension { kPortable, kNeon, kSse2, kAvx2Fma, kAvx512f };
std::string_view to_string(
    VectorExtension extension);  // "avx512f", "avx2+fma", "sse2", "neon", ...

// Whether this CPU has it and the operating system saves its registers.
bool supports(VectorExtension extension);
VectorExtension widest_vector_extension();

// Everything about the machine, also the parts that this process may not use.
HostFacts read_host_facts();

// How many threads may run at once: the affinity mask, and the cgroup's CPU quota in whole CPUs,
// since a thread too many is throttled in the middle of a sample. At least 1. Fast: reads a mask
// and a few small files.
int usable_threads();

// What can be allocated without swapping or being killed, bytes: the kernel's estimate, and what
// the cgroup leaves. nullopt where neither can be read.
std::optional<double> available_memory_bytes();

// The rest takes its sources as arguments.

// allowed: CPUs of the affinity mask.
int usable_threads(int allowed, std::optional<double> cpu_quota);

// PRETTY_NAME of an os-release file; "" where it has none.
std::string parse_os_release(std::string_view text);
// The model of the first CPU of /proc/cpuinfo; on ARM, which names none, its implementer and part
// numbers; "" without either.
std::string parse_cpu_model(std::string_view cpuinfo);
// A field of /proc/meminfo in bytes, such as "MemAvailable".
std::optional<double> parse_meminfo(std::string_view meminfo, std::string_view field);

struct CgroupLimits {
  std::optional<double> cpus;                    // quota over period
  std::optional<double> memory_available_bytes;  // limit less usage, of the tightest ancestor
  bool operator==(const CgroupLimits&) const = default;
};
// self_cgroup: text of /proc/self/cgroup. mount: where the hierarchies are mounted, normally
// /sys/fs/cgroup. Understands version 2, version 1 and both at once; a limit of any ancestor holds.
CgroupLimits read_cgroup_limits(std::string_view self_cgroup, const std::filesystem::path& mount);

struct VirtualizationClues {
  bool hypervisor_flag = false;        // CPUID says so
  std::string hypervisor_signature{};  // CPUID leaf 0x40000000: "KVMKVMKVM", "Microsoft Hv", ...
  std::string dmi{};                   // system vendor and product, space between
  bool docker_file = false, podman_file = false;  // /.dockerenv, /run/.containerenv
  std::string self_cgroup{};                      // /proc/self/cgroup
  std::string container_variable{};               // what systemd or the runtime put into $container
};
// "kvm", "docker", "kvm, docker", "vm" for a hypervisor that does not say who it is; "" for a bare
// machine.
std::string virtualization_name(const VirtualizationClues& clues);

}  // namespace peakline::host
