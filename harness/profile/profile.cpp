#include "harness/profile/profile.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "harness/core/statistics.hpp"

namespace peakline {
namespace {

// Keeps keys in the order in which they were declared, which params and launch depend on.
using json = nlohmann::ordered_json;

// A file beyond these is not a profile: they bound memory and time on hostile input. A full profile
// has 400 KiB a device, five levels and some forty keys an object.
constexpr std::uintmax_t kMaxFileBytes = 32u << 20;
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxKeys = 4096;
constexpr std::size_t kMaxDefaultsBytes = 1024;  // repeated in memory for each measurement

// Clocks and counters that time a sample are good to five digits or so: seven lose nothing and
// keep a profile small.
constexpr int kSignificantDigits = 7;
// Of one of many short intervals, and of what was sampled in it.
constexpr int kSeriesDigits = 5;

template <class T, class U>
concept Like = std::same_as<std::remove_const_t<T>, U>;

void round_digits(double& value, int digits = kSignificantDigits) {
  if (!std::isfinite(value)) return;
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::scientific, digits - 1)
                       .ptr;
  std::from_chars(text.data(), end, value);
}
void round_digits(std::optional<double>& value) {
  if (value) round_digits(*value);
}
void round_digits(std::vector<double>& values, int digits = kSignificantDigits) {
  for (double& value : values) round_digits(value, digits);
}

// What the samples of a record say without its summary.
std::optional<Summary> summary_of(const std::vector<double>& samples_s) {
  if (samples_s.empty()) return std::nullopt;
  Summary summary = summarize(samples_s);
  round_digits(summary.median);  // of an even number: a mean of two
  return summary;
}

// The fields of each structure, once for both directions: `a(key, field)` writes or reads one,
// `a.maybe(key, field, otherwise)` leaves it out where it is `otherwise`, and takes it as that
// where it is left out or null. The order is the one in the file.

void fields(auto& a, Like<PcieLink> auto& v) {
  a("generation", v.generation);
  a("width", v.width);
  a("max_generation", v.max_generation);
  a("max_width", v.max_width);
}

void fields(auto& a, Like<EccCounts> auto& v) {
  a("corrected", v.corrected);
  a("uncorrected", v.uncorrected);
}

void fields(auto& a, Like<DeviceProcess> auto& v) {
  a("pid", v.pid);
  a("name", v.name);
  a("memory_bytes", v.memory_bytes);
}

void fields(auto& a, Like<DeviceHealth> auto& v) {
  a("ecc", v.ecc);
  a("remapped_rows_correctable", v.remapped_rows_correctable);
  a("remapped_rows_uncorrectable", v.remapped_rows_uncorrectable);
  a("remap_pending", v.remap_pending);
  a("remap_failed", v.remap_failed);
  a("temperature_c", v.temperature_c);
  a("pcie_replays", v.pcie_replays);
}

void fields(auto& a, Like<DeviceFacts> auto& v) {
  a("uuid", v.uuid);
  a("name", v.name);
  a("index", v.index);
  a("pci_bus_id", v.pci_bus_id);
  a("compute_major", v.compute_major);
  a("compute_minor", v.compute_minor);
  a("sm_count", v.sm_count);
  a("sm_clock_max_hz", v.sm_clock_max_hz);
  a("memory_clock_max_hz", v.memory_clock_max_hz);
  a("memory_bus_bits", v.memory_bus_bits);
  a("memory_bytes", v.memory_bytes);
  a("memory_free_bytes", v.memory_free_bytes);
  a("l2_bytes", v.l2_bytes);
  a("shared_per_sm_bytes", v.shared_per_sm_bytes);
  a("ecc_enabled", v.ecc_enabled);
  a("mig_enabled", v.mig_enabled);
  a("power_limit_w", v.power_limit_w);
  a("power_limit_default_w", v.power_limit_default_w);
  a("power_limit_max_w", v.power_limit_max_w);
  a("pcie", v.pcie);
  a("pcie_read_under_load", v.pcie_read_under_load);
  a("numa_node", v.numa_node);
  a("processes", v.processes);
  a("before", v.before);
  a("after", v.after);
  a("xids", v.xids);
  a("vbios", v.vbios);
  a("unusable", v.unusable);
}

void fields(auto& a, Like<CpuCacheFacts> auto& v) {
  a("level", v.level);
  a("bytes", v.bytes);
  a("shared_by_cores", v.shared_by_cores);
  a("count", v.count);
}

void fields(auto& a, Like<NumaNodeFacts> auto& v) {
  a("index", v.index);
  a("memory_bytes", v.memory_bytes);
  a("cpus", v.cpus);
}

void fields(auto& a, Like<HostFacts> auto& v) {
  a("hostname", v.hostname);
  a("cpu_model", v.cpu_model);
  a("architecture", v.architecture);
  a("sockets", v.sockets);
  a("cores", v.cores);
  a("hardware_threads", v.hardware_threads);
  a("usable_threads", v.usable_threads);
  a("numa_nodes", v.numa_nodes);
  a("caches", v.caches);
  a("memory_bytes", v.memory_bytes);
  a("cpu_clock_max_hz", v.cpu_clock_max_hz);
  a("vector_extension", v.vector_extension);
  a("os", v.os);
  a("kernel", v.kernel);
  a("virtualization", v.virtualization);
  a("cpu_governor", v.cpu_governor);
}

void fields(auto& a, Like<SoftwareFacts> auto& v) {
  a("driver", v.driver);
  a("cuda_driver_api", v.cuda_driver_api);
  a("cuda_runtime", v.cuda_runtime);
  a("cuda_compiler", v.cuda_compiler);
  a("cublaslt", v.cublaslt);
  a("cxx_compiler", v.cxx_compiler);
  a("build_type", v.build_type);
  a("git_revision", v.git_revision);
  a("environment", v.environment);
}

void fields(auto& a, Like<Work> auto& v) {
  a.maybe("bytes_read", v.bytes_read);
  a.maybe("bytes_written", v.bytes_written);
  a.maybe("flops", v.flops);
}

void fields(auto& a, Like<Summary> auto& v) {
  a("median_s", v.median);
  a("ci_low_s", v.ci_low);
  a("ci_high_s", v.ci_high);
  a("min_s", v.min);
  a("max_s", v.max);
  a("n", v.n);
}

void fields(auto& a, Like<Conditions> auto& v) {
  a.maybe("sm_clock_hz", v.sm_clock_hz);
  a.maybe("sm_clock_source", v.sm_clock_source);
  a.maybe("memory_clock_hz", v.memory_clock_hz);
  a.maybe("power_w", v.power_w);
  a.maybe("temperature_c", v.temperature_c);
  a.maybe("utilization", v.utilization);
  a.maybe("pcie_generation", v.pcie_generation);
  a.maybe("pcie_width", v.pcie_width);
  a.maybe("throttle_reasons", v.throttle_reasons);
}

void fields(auto& a, Like<Measurement> auto& v) {
  a("id", v.id);
  a.maybe("params", v.params);
  a("device", v.device);
  a("status", v.status);
  a.maybe("reason", v.reason);
  a.maybe("work", v.work);
  a.maybe("launch", v.launch);
  a.maybe("samples_s", v.samples_s);
  a("launches_per_sample", v.launches_per_sample);
  a.maybe("summary", v.summary, summary_of(v.samples_s));
  a.maybe("value", v.value);
  a("unit", v.unit);
  a.maybe("verified", v.verified);
  a.maybe("flags", v.flags);
  a.maybe("conditions", v.conditions);
  a.maybe("series", v.series);
  a.maybe("duration_s", v.duration_s);
  a("method_version", v.method_version);
}

void fields(auto& a, Like<Ceiling> auto& v) {
  a("device", v.device);
  a("resource", v.resource);
  a("basis", v.basis);
  a("value", v.value);
  a("unit", v.unit);
  a.maybe("ci_low", v.ci_low);
  a.maybe("ci_high", v.ci_high);
  a.maybe("conditions", v.conditions);
  a.maybe("measurement", v.measurement);
  a.maybe("note", v.note);
}

void fields(auto& a, Like<RidgePoint> auto& v) {
  a("compute", v.compute);
  a("memory", v.memory);
  a("compute_basis", v.compute_basis);
  a("memory_basis", v.memory_basis);
  a("intensity", v.intensity);
}

void fields(auto& a, Like<RooflinePoint> auto& v) {
  a("measurement", v.measurement);
  a("precision", v.precision);
  a("intensity", v.intensity);
  a("flops_per_s", v.flops_per_s);
}

void fields(auto& a, Like<Roofline> auto& v) {
  a("device", v.device);
  a("memory", v.memory);
  a("compute", v.compute);
  a("ridge_points", v.ridge_points);
  a("points", v.points);
}

void fields(auto& a, Like<Finding> auto& v) {
  a("code", v.code);
  a("severity", v.severity);
  a("device", v.device);
  a("message", v.message);
  a("evidence", v.evidence);
}

void fields(auto& a, Like<Profile> auto& v) {
  a("created", v.created);
  a("tool", v.tool);
  a("command", v.command);
  a("mode", v.mode);
  a("complete", v.complete);
  a("duration_s", v.duration_s);
  a("host", v.host);
  a("software", v.software);
  a("devices", v.devices);
  a.records("measurements", v.measurements);
  a("ceilings", v.ceilings);
  a("rooflines", v.rooflines);
  a("findings", v.findings);
}

void fields(auto& a, Like<CatalogPoint> auto& v) {
  a("params", v.params);
  a("quick", v.quick);
  a("seconds", v.seconds);
}

void fields(auto& a, Like<CatalogEntry> auto& v) {
  a("id", v.id);
  a("what", v.what);
  a("work", v.work);
  a("unit", v.unit);
  a("device", v.device);
  a("method_version", v.method_version);
  a("points", v.points);
}

// The columns of a time series, of which all but the first may have gaps.
void columns(auto& series, auto&& visit) {
  visit("time_s", series.time_s);
  visit("rate", series.rate);
  visit("sm_clock_hz", series.sm_clock_hz);
  visit("power_w", series.power_w);
  visit("temperature_c", series.temperature_c);
}

void flag_names(auto& flags, auto&& visit) {
  visit("implausible", flags.implausible);
  visit("unstable", flags.unstable);
  visit("throttled", flags.throttled);
}

template <class Enum>
constexpr std::array<Enum, 0> kValues{};
template <>
constexpr std::array kValues<Status>{Status::kOk, Status::kSkipped, Status::kError};
template <>
constexpr std::array kValues<ClockSource>{ClockSource::kKernel, ClockSource::kProbe,
                                          ClockSource::kNvml};
template <>
constexpr std::array kValues<Basis>{Basis::kTheoretical, Basis::kDatasheet, Basis::kInstruction,
                                    Basis::kMeasured,    Basis::kBurst,     Basis::kSustained,
                                    Basis::kModelShaped};
template <>
constexpr std::array kValues<Severity>{Severity::kInfo, Severity::kWarning, Severity::kError};

template <class T>
concept Enumeration = std::is_enum_v<T>;
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Structure = std::is_class_v<T>;

// --- writing ---

json number(double value) {
  // Whole numbers (bytes, Hz) without the ".0" that says nothing: a fifth of a profile.
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && std::abs(value) < kExactIntegers) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

json encode(double value) {
  if (!std::isfinite(value)) throw ProfileError("a number is infinite or undefined");
  return number(value);
}
json encode(bool value) { return value; }
json encode(Integer auto value) { return value; }
json encode(const std::string& value) { return value; }
json encode(Enumeration auto value) { return std::string(to_string(value)); }
json encode(const ParamValue& value) {
  return std::visit([](const auto& v) { return json(v); }, value);
}
json encode(const Flags& flags) {
  json names = json::array();
  flag_names(flags, [&](const char* name, bool set) {
    if (set) names.push_back(name);
  });
  return names;
}
json encode(const Series& series) {
  json object = json::object();
  columns(series, [&](const char* key, const std::vector<double>& column) {
    json& out = object[key] = json::array();
    for (const double v : column) out.push_back(std::isfinite(v) ? number(v) : json(nullptr));
  });
  return object;
}
template <class T>
json encode(const std::optional<T>& value);
template <class T>
json encode(const std::vector<T>& values);
template <class T>
json encode(const std::vector<std::pair<std::string, T>>& named);
template <Structure T>
json encode(const T& structure);

struct Writer {
  json& object;
  template <class T>
  void operator()(const char* key, const T& value) {
    try {
      object[key] = encode(value);
    } catch (const ProfileError& error) {
      throw ProfileError(fmt::format("{}: {}", key, error.what()));
    }
  }
  template <class T>
  void maybe(const char* key, const T& value, const std::type_identity_t<T>& otherwise = {}) {
    if (value != otherwise) (*this)(key, value);
  }
  void records(const char* key, const std::vector<Measurement>& measurements);
};

// Members that most measurements have in common stand once, in front of them: a fifth of a profile.
constexpr const char* kDefaults = "measurement_defaults";
constexpr std::array kShared = {"device", "launches_per_sample", "unit", "verified",
                                "method_version"};
constexpr std::array kSharedConditions = {"sm_clock_source", "memory_clock_hz"};

// Moves what more than half of the objects have as `key` into `shared`. Those that have none get a
// null, so that they are not taken to have the shared value.
void share(const std::vector<json*>& objects, const char* key, json& shared) {
  std::map<json, std::size_t> counts;
  for (const json* object : objects)
    if (const auto found = object->find(key); found != object->end()) ++counts[*found];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; });
  if (most == counts.end() || 2 * most->second <= objects.size()) return;
  shared[key] = most->first;
  for (json* object : objects) {
    const auto found = object->find(key);
    if (found == object->end()) {
      (*object)[key] = nullptr;
    } else if (*found == most->first) {
      object->erase(found);
    }
  }
}

// What was taken out of the records.
json take_shared(json& records) {
  json shared = json::object();
  std::vector<json*> objects, conditions;
  for (json& record : records) {
    objects.push_back(&record);
    conditions.push_back(&record.emplace("conditions", json::object()).first.value());
  }
  json shared_conditions = json::object();
  for (const char* key : kSharedConditions) share(conditions, key, shared_conditions);
  for (json& record : records)
    if (record["conditions"].empty()) record.erase("conditions");
  for (const char* key : kShared) share(objects, key, shared);
  if (!shared_conditions.empty()) shared["conditions"] = std::move(shared_conditions);
  return shared;
}

template <class T>
json encode(const std::optional<T>& value) {
  if (!value) return nullptr;
  if constexpr (std::same_as<T, double>) {
    if (!std::isfinite(*value)) return nullptr;
  }
  return encode(*value);
}
template <class T>
json encode(const std::vector<T>& values) {
  json array = json::array();
  for (const T& value : values) array.push_back(encode(value));
  return array;
}
template <class T>
json encode(const std::vector<std::pair<std::string, T>>& named) {
  json object = json::object();
  for (const auto& [name, value] : named) object[name] = encode(value);
  return object;
}
template <Structure T>
json encode(const T& structure) {
  json object = json::object();
  Writer writer{object};
  fields(writer, structure);
  return object;
}

void Writer::records(const char* key, const std::vector<Measurement>& measurements) {
  (*this)(key, measurements);
  json records = std::move(object[key]);
  object.erase(key);
  object[kDefaults] = take_shared(records);
  object[key] = std::move(records);
}

// Text from outside (host names, process names) need not be UTF-8: what is not becomes U+FFFD.
std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// --- reading ---

// A value and the way to it, for messages.
struct Node {
  const json& value;
  const Node* parent = nullptr;
  std::string_view key = {};       // the document's name at the root
  std::size_t index = 0;           // where key is empty
  const json* defaults = nullptr;  // has what `value`, or an element of it, leaves out

  std::string path() const {
    if (!parent) return {};
    const std::string above = parent->path();
    if (key.empty()) return fmt::format("{}[{}]", above, index);
    return above.empty() ? std::string(key) : fmt::format("{}.{}", above, key);
  }

  [[noreturn]] void fail(std::string_view message) const {
    const Node* root = this;
    while (root->parent) root = root->parent;
    const std::string where = path();
    throw ProfileError(
        fmt::format("{}: {}{}{}", root->key, where, where.empty() ? "" : ": ", message));
  }

  [[noreturn]] void expected(std::string_view what) const {
    constexpr std::size_t kShown = 40;
    std::string found = dump(value);
    if (found.size() > kShown)
      found =
          value.is_object() || value.is_array() ? value.type_name() : found.substr(0, 1) + "...";
    fail(fmt::format("expected {}, found {}", what, found));
  }
};

void decode(const Node& node, double& value) {
  if (!node.value.is_number()) node.expected("a number");
  value = node.value.get<double>();
}
void decode(const Node& node, bool& value) {
  if (!node.value.is_boolean()) node.expected("true or false");
  value = node.value.get<bool>();
}
template <Integer T>
void decode(const Node& node, T& value) {
  if (!node.value.is_number_integer()) node.expected("a whole number");
  const bool too_large =
      node.value.is_number_unsigned() && !std::in_range<T>(node.value.get<std::uint64_t>());
  if (too_large || !std::in_range<T>(node.value.get<std::int64_t>())) {
    node.expected(fmt::format("a whole number from {} to {}", std::numeric_limits<T>::min(),
                              std::numeric_limits<T>::max()));
  }
  value = node.value.get<T>();
}
void decode(const Node& node, std::string& value) {
  if (!node.value.is_string()) node.expected("text");
  value = node.value.get<std::string>();
}
template <Enumeration T>
void decode(const Node& node, T& value) {
  std::string names;
  for (const T candidate : kValues<T>) {
    if (node.value.is_string() &&
        node.value.get_ref<const std::string&>() == to_string(candidate)) {
      value = candidate;
      return;
    }
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", to_string(candidate));
  }
  node.expected("one of " + names);
}
void decode(const Node& node, ParamValue& value) {
  if (node.value.is_string()) {
    value = node.value.get<std::string>();
  } else {
    if (!node.value.is_number_integer()) node.expected("a whole number or text");
    std::int64_t integer = 0;
    decode(node, integer);
    value = integer;
  }
}
template <class T>
void decode(const Node& node, std::optional<T>& value);
template <class T>
void decode(const Node& node, std::vector<T>& values);
template <class T>
void decode(const Node& node, std::vector<std::pair<std::string, T>>& named);
void decode(const Node& node, Flags& flags);
void decode(const Node& node, Series& series);
template <Structure T>
void decode(const Node& node, T& structure);

// nullptr where there is none.
const json* find(const json* object, std::string_view key) {
  if (object == nullptr) return nullptr;
  const auto found = object->find(key);
  return found == object->end() ? nullptr : &*found;
}

// The member of an object, or the one that stands for it; nullopt where there is neither.
std::optional<Node> find_member(const Node& node, std::string_view key) {
  if (!node.value.is_object()) node.expected("an object");
  const json* const own = find(&node.value, key);
  const json* const otherwise = find(node.defaults, key);
  if (own == nullptr && otherwise == nullptr) return std::nullopt;
  return Node{own != nullptr ? *own : *otherwise, &node, key, 0, otherwise};
}

Node member(const Node& node, std::string_view key) {
  const auto found = find_member(node, key);
  if (!found) node.fail(fmt::format("\"{}\" is missing", key));
  return *found;
}

struct Reader {
  const Node& node;
  template <class T>
  void operator()(const char* key, T& value) {
    decode(member(node, key), value);
  }
  template <class T>
  void maybe(const char* key, T& value, const std::type_identity_t<T>& otherwise = {}) {
    const auto found = find_member(node, key);
    if (found && !found->value.is_null()) {
      decode(*found, value);
    } else {
      value = otherwise;
    }
  }
  void records(const char* key, std::vector<Measurement>& measurements) {
    Node node_of_records = member(node, key);
    if (const auto defaults = find_member(node, kDefaults)) {
      if (!defaults->value.is_object()) defaults->expected("an object");
      if (dump(defaults->value).size() > kMaxDefaultsBytes) {
        defaults->fail(fmt::format("longer than {} bytes: not a profile", kMaxDefaultsBytes));
      }
      for (const auto& [name, value] : defaults->value.items()) {
        const bool conditions = name == "conditions";
        if (!conditions && std::ranges::find(kShared, name) == kShared.end()) {
          defaults->fail(fmt::format("\"{}\" is no member that measurements share", name));
        }
        if (conditions && !value.is_object()) {
          Node{value, &*defaults, name}.expected("an object");
        }
      }
      node_of_records.defaults = &defaults->value;
    }
    decode(node_of_records, measurements);
  }
};

template <class T>
void decode(const Node& node, std::optional<T>& value) {
  if (node.value.is_null()) {
    value.reset();
  } else {
    decode(node, value.emplace());
  }
}
template <class T>
void decode(const Node& node, std::vector<T>& values) {
  if (!node.value.is_array()) node.expected("an array");
  values.clear();
  values.reserve(node.value.size());
  for (const json& element : node.value) {
    const Node child{element, &node, {}, values.size(), node.defaults};
    decode(child, values.emplace_back());
  }
}
template <class T>
void decode(const Node& node, std::vector<std::pair<std::string, T>>& named) {
  if (!node.value.is_object()) node.expected("an object");
  named.clear();
  for (const auto& [name, element] : node.value.items()) {
    decode(Node{element, &node, name}, named.emplace_back(name, T{}).second);
  }
}
void decode(const Node& node, Flags& flags) {
  std::vector<std::string> names;
  decode(node, names);
  flags = {};
  std::size_t known = 0;
  flag_names(flags, [&](const char* name, bool& set) {
    set = std::find(names.begin(), names.end(), name) != names.end();
    known += set;
  });
  if (known != names.size()) {
    node.expected("\"implausible\", \"unstable\" and \"throttled\", each at most once");
  }
}
void decode(const Node& node, Series& series) {
  series = {};
  columns(series, [&](const char* key, std::vector<double>& column) {
    const Node child = member(node, key);
    std::vector<std::optional<double>> values;
    decode(child, values);
    for (const auto& v : values) {
      column.push_back(v.value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    if (column.size() != series.time_s.size()) {
      child.fail(fmt::format("expected {} values, as in time_s, found {}", series.time_s.size(),
                             column.size()));
    }
  });
}
template <Structure T>
void decode(const Node& node, T& structure) {
  Reader reader{node};
  if (!node.value.is_object()) node.expected("an object");
  fields(reader, structure);
}

// Text to values as the library's own parser builds them, but with limits on nesting and keys, and
// without the repeated keys of which that one would quietly keep the last.
class Builder : public nlohmann::json_sax<json> {
 public:
  explicit Builder(std::string_view name) : name_(name) {}
  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // does not occur in text
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    auto& object = open_.back()->get_ref<json::object_t&>();
    const auto [member, is_new] = object.emplace(key, nullptr);
    if (!is_new) fail(fmt::format("the key \"{}\" occurs twice in one object", key));
    if (object.size() > kMaxKeys) {
      fail(fmt::format("more than {} keys in one object: not a profile", kMaxKeys));
    }
    slot_ = &member->second;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 7: ...": without its prefix.
    const std::string_view message = error.what();
    const auto prefix = message.find("] ");
    fail(fmt::format("not valid JSON: {}",
                     prefix == message.npos ? message : message.substr(prefix + 2)));
  }

 private:
  [[noreturn]] void fail(std::string_view message) const {
    throw ProfileError(fmt::format("{}: {}", name_, message));
  }

  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    *slot_ = std::move(value);
    return slot_;
  }
  bool add(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json value) {
    if (open_.size() == kMaxDepth) {
      fail(fmt::format("nested deeper than {} levels: not a profile", kMaxDepth));
    }
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view name_;
  json root_;
  std::vector<json*> open_;  // the containers around the next value
  json* slot_ = nullptr;     // of the key that was read last
};

json parse(std::string_view text, std::string_view name) {
  Builder builder(name);
  json::sax_parse(text, &builder);
  return builder.take();
}

// One top-level key and one element of the long arrays a line, so that profiles can be diffed.
std::string document(const json& object) {
  std::string text = "{\n";
  for (const auto& [key, value] : object.items()) {
    if (text.size() > 2) text += ",\n";
    text += dump(key) + ": ";
    if (value.is_array() && !value.empty() && value.front().is_object()) {
      text += "[\n";
      for (const json& element : value) {
        if (&element != &value.front()) text += ",\n";
        text += dump(element);
      }
      text += "\n]";
    } else {
      text += dump(value);
    }
  }
  return text + "\n}\n";
}

template <class T>
T from_line(std::string_view line, std::string_view name) {
  const json value = parse(line, name);
  T structure;
  decode(Node{value, nullptr, name}, structure);
  return structure;
}

std::string system_error() { return std::strerror(errno); }

}  // namespace

std::string to_json(const Profile& profile) {
  json object = {{"schema", kProfileSchema}, {"schema_version", kProfileSchemaVersion}};
  Writer writer{object};
  fields(writer, profile);
  return document(object);
}

std::string to_json(const std::vector<CatalogEntry>& catalog) {
  return document(
      {{"schema", "peakline-catalog"}, {"schema_version", 1}, {"benchmarks", encode(catalog)}});
}

Profile profile_from_json(std::string_view text, std::string_view name) {
  const json value = parse(text, name);
  const Node root{value, nullptr, name};
  std::string schema;
  if (!value.is_object() || !value.contains("schema")) root.fail("not a peakline profile");
  const Node schema_node = member(root, "schema");
  if (schema_node.value != kProfileSchema)
    schema_node.expected(fmt::format("\"{}\"", kProfileSchema));
  const Node version_node = member(root, "schema_version");
  int version = 0;
  decode(version_node, version);
  if (version > kProfileSchemaVersion) {
    version_node.fail(
        fmt::format("{} is newer than the {} that this peakline reads: use a newer one", version,
                    kProfileSchemaVersion));
  }
  if (version < kProfileSchemaVersion) version_node.expected(std::to_string(kProfileSchemaVersion));
  Profile profile;
  decode(root, profile);
  return profile;
}

Profile read_profile(const std::filesystem::path& file) {
  const std::string name = file.string();
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) throw ProfileError(name + ": no such file");
  if (std::filesystem::is_directory(status))
    throw ProfileError(name + ": a directory, not a profile");
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) throw ProfileError(fmt::format("{}: cannot be read: {}", name, system_error()));
  // Read up to the limit instead of asking for the size, which pipes do not have.
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (in.read(chunk.data(), chunk.size()) || in.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMaxFileBytes) {
      throw ProfileError(
          fmt::format("{}: larger than {} MiB: not a profile", name, kMaxFileBytes >> 20));
    }
  }
  if (in.bad()) throw ProfileError(fmt::format("{}: cannot be read: {}", name, system_error()));
  return profile_from_json(text, name);
}

void write_profile(const Profile& profile, const std::filesystem::path& file) {
  const std::string text = to_json(profile);
  const auto temporary =
      file.parent_path() / fmt::format(".{}.{}.tmp", file.filename().string(), getpid());
  const auto fail = [&](int fd) {
    const std::string reason = system_error();
    if (fd >= 0) {
      ::close(fd);
      ::unlink(temporary.c_str());
    }
    throw ProfileError(fmt::format("{}: cannot be written: {}", file.string(), reason));
  };
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) fail(fd);
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t n = ::write(fd, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(fd);
    written += static_cast<std::size_t>(n);
  }
  // On disk before the rename, or a power cut could leave an empty file under the final name.
  if (::fsync(fd) != 0 && errno != EINVAL) fail(fd);
  if (::rename(temporary.c_str(), file.c_str()) != 0) fail(fd);
  ::close(fd);
}

std::string to_json_line(const Measurement& measurement) {
  Measurement rounded = measurement;
  round_digits(rounded.samples_s);
  if (!rounded.samples_s.empty() && rounded.summary == summarize(measurement.samples_s)) {
    rounded.summary = summary_of(rounded.samples_s);
  } else if (rounded.summary) {
    for (double* v : {&rounded.summary->median, &rounded.summary->ci_low, &rounded.summary->ci_high,
                      &rounded.summary->min, &rounded.summary->max}) {
      round_digits(*v);
    }
  }
  round_digits(rounded.value);
  rounded.duration_s = std::round(rounded.duration_s * 1e3) / 1e3;
  Conditions& conditions = rounded.conditions;
  for (auto* v : {&conditions.sm_clock_hz, &conditions.memory_clock_hz, &conditions.power_w,
                  &conditions.temperature_c, &conditions.utilization}) {
    round_digits(*v);
  }
  columns(rounded.series,
          [](const char*, std::vector<double>& column) { round_digits(column, kSeriesDigits); });
  return dump(encode(rounded));
}

std::string to_json_line(const DeviceFacts& facts) { return dump(encode(facts)); }

Measurement measurement_from_json_line(std::string_view line) {
  return from_line<Measurement>(line, "measurement record");
}

DeviceFacts device_facts_from_json_line(std::string_view line) {
  return from_line<DeviceFacts>(line, "device record");
}

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Every whole-word occurrence of `from` in the text.
void replace_word(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return;
  for (auto at = text.find(from); at != text.npos;) {
    const auto end = at + from.size();
    const bool whole =
        (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
    if (whole) text.replace(at, from.size(), to);
    at = text.find(from, whole ? at + to.size() : end);
  }
}

// "GPU-01234567-89ab-..." -> "GPU-01234567"
std::string short_uuid(const std::string& uuid) {
  const auto first = uuid.find('-');
  if (first == uuid.npos) return uuid;
  return uuid.substr(0, uuid.find('-', first + 1));
}

// What follows the last slash of a path, or of the path behind "--option=".
std::string without_folders(const std::string& text) {
  const auto slash = text.rfind('/');
  if (slash == text.npos) return text;
  const auto equals = text.find('=');
  const bool option = text.starts_with('-') && equals != text.npos && equals < slash;
  return (option ? text.substr(0, equals + 1) : std::string()) + text.substr(slash + 1);
}

}  // namespace

Profile anonymized(Profile profile) {
  std::map<std::string, std::string> words;  // what is told from whom -> what may be
  if (!profile.host.hostname.empty()) words[profile.host.hostname] = "localhost";
  profile.host.hostname.clear();

  std::map<std::string, std::string> uuids;
  std::unordered_set<std::string> taken;
  for (DeviceFacts& device : profile.devices) {
    std::string name = short_uuid(device.uuid);
    if (!taken.insert(name).second) name += fmt::format("-{}", device.index);
    words[device.uuid] = uuids[device.uuid] = name;
    device.uuid = name;
    for (DeviceProcess& process : device.processes) {
      words[process.name] = "(another process)";
      process.name.clear();
      process.pid = 0;
    }
  }
  const auto rename = [&](std::string& device) {
    if (const auto found = uuids.find(device); found != uuids.end()) device = found->second;
  };
  const auto scrub = [&](std::string& text) {
    for (const auto& [from, to] : words) replace_word(text, from, to);
  };

  for (std::size_t i = 0; i < profile.command.size(); ++i) {
    std::string& argument = profile.command[i];
    // A filter is matched with "id/name:value": its slashes are no folders.
    const bool filter =
        argument.starts_with("--filter") || (i > 0 && profile.command[i - 1] == "--filter");
    if (!filter) argument = without_folders(argument);
    scrub(argument);
  }
  for (auto& [name, value] : profile.software.environment) {
    value = without_folders(value);
    scrub(value);
  }
  for (DeviceFacts& device : profile.devices) scrub(device.unusable);
  for (Measurement& measurement : profile.measurements) {
    rename(measurement.device);
    scrub(measurement.reason);
  }
  for (Ceiling& ceiling : profile.ceilings) rename(ceiling.device);
  for (Roofline& roofline : profile.rooflines) rename(roofline.device);
  for (Finding& finding : profile.findings) {
    rename(finding.device);
    scrub(finding.message);
    for (auto& [name, value] : finding.evidence) scrub(value);
    // Its evidence are the processes.
    if (finding.code == "other_process") finding.evidence.clear();
  }
  return profile;
}

}  // namespace peakline
