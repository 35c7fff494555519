#include "harness/host/facts.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "harness/host/topology.hpp"
#include "harness/values/text.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace peakline::host {
namespace fs = std::filesystem;
namespace {

// Empty if unreadable.
std::string read_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

std::string_view trimmed(std::string_view text) {
  // Device-tree strings end in a NUL.
  constexpr std::string_view kBlank(" \t\r\n\0", 5);
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string read_line(const fs::path& file) { return std::string(trimmed(read_text(file))); }

template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// The value after "key<separator>" on the first matching line.
std::string_view value_of(std::string_view text, std::string_view key, char separator) {
  std::string_view value;
  for_each_line(text, [&](std::string_view line) {
    if (!value.empty()) return;
    const auto at = line.find(separator);
    if (at != std::string_view::npos && trimmed(line.substr(0, at)) == key)
      value = trimmed(line.substr(at + 1));
  });
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

void keep_smaller(std::optional<double>& smallest, std::optional<double> value) {
  if (value && (!smallest || *value < *smallest)) smallest = value;
}

// Mount point of a version 1 controller; its directory lists all controllers that share it.
fs::path controller_mount(const fs::path& mount, std::string_view controllers,
                          std::string_view controller) {
  const fs::path joint = mount / controllers;
  return fs::exists(joint) ? joint : mount / controller;
}

// Visits the cgroup and its ancestors; in a container often only the root is visible.
template <class Visit>
void for_each_ancestor(const fs::path& root, std::string_view cgroup, Visit visit) {
  fs::path relative = fs::path(cgroup).relative_path();
  while (true) {
    visit(root / relative);
    if (relative.empty()) return;
    relative = relative.parent_path();
  }
}

// Version 2: "max 100000" or "200000 100000".
std::optional<double> cpu_max(std::string_view text) {
  text = trimmed(text);
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const auto quota = parse_number(text.substr(0, blank));
  const auto period = parse_number(text.substr(blank));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

std::optional<double> difference(std::optional<double> limit, std::optional<double> usage) {
  if (!limit) return std::nullopt;
  return std::max(0.0, *limit - usage.value_or(0));
}

// Version 1 writes "no limit" as the largest multiple of the page size.
constexpr double kNoMemoryLimit = 0x1p62;

bool has_controller(std::string_view controllers, std::string_view wanted) {
  return contains(fmt::format(",{},", controllers), fmt::format(",{},", wanted));
}

CgroupLimits own_cgroup_limits() {
  return read_cgroup_limits(read_text("/proc/self/cgroup"), "/sys/fs/cgroup");
}

// More CPUs than any kernel supports.
constexpr int kMostCpus = 1 << 20;

int affinity_count() {
  // EINVAL: the machine has more CPUs than the mask.
  for (int cpus = CPU_SETSIZE; cpus <= kMostCpus; cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpus));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const bool read = sched_getaffinity(0, bytes, set) == 0;
    const int count = read ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (read) return count;
  }
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

VirtualizationClues read_virtualization_clues() {
  VirtualizationClues clues;
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kHypervisorBit = 1u << 31;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0)
    clues.hypervisor_flag = (ecx & kHypervisorBit) != 0;
  if (clues.hypervisor_flag) {
    __cpuid(0x40000000, eax, ebx, ecx, edx);
    std::array<char, 12> signature{};
    std::memcpy(signature.data(), &ebx, 4);
    std::memcpy(signature.data() + 4, &ecx, 4);
    std::memcpy(signature.data() + 8, &edx, 4);
    clues.hypervisor_signature = trimmed({signature.data(), signature.size()});
  }
#else
  const std::string compatible =
      read_line("/sys/firmware/devicetree/base/hypervisor/compatible");  // "linux,kvm", "xen,xen"
  clues.hypervisor_flag = !compatible.empty();
  clues.hypervisor_signature = compatible;
#endif
  clues.dmi = fmt::format("{} {}", read_line("/sys/class/dmi/id/sys_vendor"),
                          read_line("/sys/class/dmi/id/product_name"));
  std::error_code ignored;
  clues.docker_file = fs::exists("/.dockerenv", ignored);
  clues.podman_file = fs::exists("/run/.containerenv", ignored);
  clues.self_cgroup = read_text("/proc/self/cgroup");
  clues.container_variable = read_line("/run/systemd/container");
  if (clues.container_variable.empty())
    if (const char* variable = std::getenv("container")) clues.container_variable = variable;
  return clues;
}

}  // namespace

std::string_view to_string(VectorExtension extension) {
  return name_of({"portable", "neon", "sse2", "avx2+fma", "avx512f"}, extension);
}

bool supports(VectorExtension extension) {
  if (extension == VectorExtension::kPortable) return true;
#if defined(__x86_64__)
  if (extension == VectorExtension::kSse2) return true;
  if (extension == VectorExtension::kAvx2Fma)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return extension == VectorExtension::kAvx512f && __builtin_cpu_supports("avx512f");
#elif defined(__aarch64__)
  return extension == VectorExtension::kNeon;
#else
  return false;
#endif
}

VectorExtension widest_vector_extension() {
  for (const auto extension : {VectorExtension::kAvx512f, VectorExtension::kAvx2Fma,
                               VectorExtension::kSse2, VectorExtension::kNeon})
    if (supports(extension)) return extension;
  return VectorExtension::kPortable;
}

std::string parse_os_release(std::string_view text) {
  std::string_view name = value_of(text, "PRETTY_NAME", '=');
  if (name.size() >= 2 && (name.front() == '"' || name.front() == '\'') &&
      name.back() == name.front())
    name = name.substr(1, name.size() - 2);
  return std::string(name);
}

std::string parse_cpu_model(std::string_view cpuinfo) {
  for (const std::string_view key : {"model name", "Model", "cpu model", "cpu"})
    if (const auto model = value_of(cpuinfo, key, ':'); !model.empty()) return std::string(model);
  const auto implementer = value_of(cpuinfo, "CPU implementer", ':');
  const auto part = value_of(cpuinfo, "CPU part", ':');
  if (implementer.empty() && part.empty()) return "";
  return fmt::format("ARM implementer {} part {}", implementer, part);
}

std::optional<double> parse_meminfo(std::string_view meminfo, std::string_view field) {
  constexpr std::string_view kUnit = "kB";
  std::string_view value = value_of(meminfo, field, ':');
  if (!value.ends_with(kUnit)) return std::nullopt;
  value.remove_suffix(kUnit.size());
  const auto kibibytes = parse_number(value);
  if (!kibibytes) return std::nullopt;
  return *kibibytes * 1024;
}

CgroupLimits read_cgroup_limits(std::string_view self_cgroup, const fs::path& mount) {
  CgroupLimits limits;
  const auto number = [](const fs::path& file) { return parse_number(read_text(file)); };
  for_each_line(self_cgroup, [&](std::string_view line) {
    // "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers.
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (controllers.empty()) {
      const fs::path unified = mount / "unified";
      for_each_ancestor(fs::exists(unified) ? unified : mount, path, [&](const fs::path& group) {
        keep_smaller(limits.cpus, cpu_max(read_text(group / "cpu.max")));
        keep_smaller(limits.memory_available_bytes,
                     difference(number(group / "memory.max"), number(group / "memory.current")));
      });
    }
    if (has_controller(controllers, "cpu")) {
      for_each_ancestor(controller_mount(mount, controllers, "cpu"), path,
                        [&](const fs::path& group) {
                          const auto quota = number(group / "cpu.cfs_quota_us");
                          const auto period = number(group / "cpu.cfs_period_us");
                          if (quota && period && *quota > 0 && *period > 0)
                            keep_smaller(limits.cpus, *quota / *period);
                        });
    }
    if (has_controller(controllers, "memory")) {
      for_each_ancestor(
          controller_mount(mount, controllers, "memory"), path, [&](const fs::path& group) {
            const auto limit = number(group / "memory.limit_in_bytes");
            if (limit && *limit < kNoMemoryLimit)
              keep_smaller(limits.memory_available_bytes,
                           difference(limit, number(group / "memory.usage_in_bytes")));
          });
    }
  });
  return limits;
}

int usable_threads() { return usable_threads(affinity_count(), own_cgroup_limits().cpus); }

int usable_threads(int allowed, std::optional<double> cpu_quota) {
  if (!cpu_quota || *cpu_quota >= allowed) return allowed;
  return std::max(static_cast<int>(std::floor(*cpu_quota)), 1);
}

std::optional<int> cpuset_threads() {
  // The kernel reduces a full mask to the cpuset, in any cgroup version and namespace. A
  // short-lived thread takes the mask.
  std::optional<int> count;
  try {
    std::thread([&count] {
      const std::vector<unsigned char> every(kMostCpus / 8, 0xff);
      if (sched_setaffinity(0, every.size(), reinterpret_cast<const cpu_set_t*>(every.data())) == 0)
        count = affinity_count();
    }).join();
  } catch (const std::system_error&) {
    // No thread is available.
  }
  return count;
}

std::optional<double> available_memory_bytes() {
  std::optional<double> available = parse_meminfo(read_text("/proc/meminfo"), "MemAvailable");
  keep_smaller(available, own_cgroup_limits().memory_available_bytes);
  return available;
}

std::string virtualization_name(const VirtualizationClues& clues) {
  using Pair = std::pair<std::string_view, std::string_view>;
  constexpr Pair kSignatures[] = {
      {"KVM", "kvm"},       {"kvm", "kvm"},     {"Microsoft Hv", "hyper-v"},
      {"VMware", "vmware"}, {"Xen", "xen"},     {"xen", "xen"},
      {"TCG", "qemu"},      {"bhyve", "bhyve"}, {"VBox", "virtualbox"},
      {"ACRN", "acrn"}};
  constexpr Pair kProducts[] = {
      {"KVM", "kvm"},       {"QEMU", "qemu"},
      {"VMware", "vmware"}, {"VirtualBox", "virtualbox"},
      {"HVM domU", "xen"},  {"Microsoft Corporation Virtual Machine", "hyper-v"}};
  std::string machine;
  for (const auto& [part, name] : kSignatures)
    if (machine.empty() && contains(clues.hypervisor_signature, part)) machine = name;
  // Only hypervisors' names count: the DMI of bare-metal cloud machines names the cloud as well.
  for (const auto& [part, name] : kProducts)
    if (machine.empty() && contains(clues.dmi, part)) machine = name;
  if (machine.empty() && clues.hypervisor_flag) machine = "vm";

  std::string container;
  if (clues.docker_file || contains(clues.self_cgroup, "/docker")) container = "docker";
  if (clues.podman_file) container = "podman";
  if (contains(clues.self_cgroup, "/kubepods")) container = "kubernetes";
  if (container.empty() && contains(clues.self_cgroup, "/lxc")) container = "lxc";
  if (container.empty()) container = clues.container_variable;

  if (!machine.empty() && !container.empty()) return machine + ", " + container;
  return machine + container;
}

HostFacts read_host_facts() {
  HostFacts facts;
  const Topology topology = Topology::whole_machine();

  std::array<char, 256> hostname{};
  if (gethostname(hostname.data(), hostname.size() - 1) == 0) facts.hostname = hostname.data();
  utsname system{};
  if (uname(&system) == 0) {
    facts.architecture = system.machine;
    facts.kernel = fmt::format("{} {}", system.sysname, system.release);
  }
  facts.cpu_model = topology.cpu_model();
  if (facts.cpu_model.empty()) facts.cpu_model = parse_cpu_model(read_text("/proc/cpuinfo"));
  facts.sockets = topology.sockets();
  facts.cores = topology.cores();
  facts.hardware_threads = topology.hardware_threads();
  facts.usable_threads = usable_threads();
  facts.numa_nodes = topology.numa_nodes();
  facts.caches = topology.caches();
  facts.memory_bytes = parse_meminfo(read_text("/proc/meminfo"), "MemTotal");
  // MemTotal includes the memory of GPUs behind NVLink-C2C.
  if (facts.memory_bytes) *facts.memory_bytes -= topology.memory_of_gpus_bytes();

  const fs::path frequency =
      fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq", std::max(0, sched_getcpu()));
  if (const auto kilohertz = parse_number(read_text(frequency / "cpuinfo_max_freq")))
    facts.cpu_clock_max_hz = *kilohertz * 1e3;
  facts.cpu_governor = read_line(frequency / "scaling_governor");

  facts.vector_extension = to_string(widest_vector_extension());
  facts.os = parse_os_release(read_text("/etc/os-release"));
  if (facts.os.empty()) facts.os = parse_os_release(read_text("/usr/lib/os-release"));
  facts.virtualization = virtualization_name(read_virtualization_clues());
  facts.cpu_quota = own_cgroup_limits().cpus;
  facts.cpuset_threads = cpuset_threads();
  return facts;
}

}  // namespace peakline::host
