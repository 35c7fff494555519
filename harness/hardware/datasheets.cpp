#include "harness/hardware/datasheets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "harness/hardware/spec.hpp"
#include "harness/values/resources.hpp"

namespace peakline {
namespace {

bool partitioned(const DeviceFacts& device) { return device.mig_enabled.value_or(false); }

bool could_be(const Datasheet& sheet, const DeviceFacts& device) {
  const bool other_chip =
      device.compute_major != 0 &&
      (sheet.compute_major != device.compute_major || sheet.compute_minor != device.compute_minor);
  const bool other_cut = !partitioned(device) && sheet.sm_count != 0 && device.sm_count &&
                         *device.sm_count != sheet.sm_count;
  return !other_chip && !other_cut;
}

const PciId* id_of(const Datasheet& sheet, const DeviceFacts& device) {
  const auto id = std::ranges::find(sheet.ids, device.pci_device_id, &PciId::device);
  return id == sheet.ids.end() ? nullptr : &*id;
}

// A virtual GPU has its GPU's device id, but a subsystem of its own.
bool has_ids_of(const Datasheet& sheet, const DeviceFacts& device) {
  const PciId* id = id_of(sheet, device);
  return id != nullptr &&
         (id->subsystems.empty()
              ? device.name == sheet.name
              : std::ranges::find(id->subsystems, device.pci_subsystem_id) != id->subsystems.end());
}

// Products may share a name, and one product may have several ids, some unlisted by NVIDIA.
const Datasheet* only_one_named(const DeviceFacts& device) {
  const Datasheet* found = nullptr;
  for (const Datasheet& sheet : datasheets()) {
    if (device.name != sheet.name) continue;
    if (found != nullptr) return nullptr;
    found = &sheet;
  }
  return found;
}

const Datasheet* product_by_identity(const DeviceFacts& device) {
  for (const Datasheet& sheet : datasheets())
    if (has_ids_of(sheet, device)) return &sheet;
  return only_one_named(device);
}

// Other GeForce products with Tensor Cores, by the rest of the name. Their architectures'
// whitepapers halve the rate with FP32 sums for all GeForce. Omits the D variants, which are slower
// still.
constexpr std::string_view kGeforce = "NVIDIA GeForce RTX ";
constexpr auto kGeforceModels = std::to_array<std::string_view>({"2050",
                                                                 "2060",
                                                                 "2060 SUPER",
                                                                 "2060 with Max-Q Design",
                                                                 "2070",
                                                                 "2070 SUPER",
                                                                 "2070 Super",
                                                                 "2070 Super with Max-Q Design",
                                                                 "2070 with Max-Q Design",
                                                                 "2080",
                                                                 "2080 SUPER",
                                                                 "2080 Super",
                                                                 "2080 Super with Max-Q Design",
                                                                 "2080 with Max-Q Design",
                                                                 "2080 Ti",
                                                                 "3050",
                                                                 "3050 OEM",
                                                                 "3050 A Laptop GPU",
                                                                 "3050 Laptop GPU",
                                                                 "3050 Ti Laptop GPU",
                                                                 "3050Ti Laptop GPU",
                                                                 "3050 4GB Laptop GPU",
                                                                 "3050 6GB Laptop GPU",
                                                                 "3060",
                                                                 "3060 Laptop GPU",
                                                                 "3060 Ti",
                                                                 "3070",
                                                                 "3070 Laptop GPU",
                                                                 "3070 Ti",
                                                                 "3070 Ti Laptop GPU",
                                                                 "3080",
                                                                 "3080 Laptop GPU",
                                                                 "3080 Ti",
                                                                 "3080 Ti Laptop GPU",
                                                                 "3090 Ti",
                                                                 "4050 Laptop GPU",
                                                                 "4060",
                                                                 "4060 Laptop GPU",
                                                                 "4060 Ti",
                                                                 "4070",
                                                                 "4070 Laptop GPU",
                                                                 "4070 SUPER",
                                                                 "4070 Ti",
                                                                 "4070 Ti SUPER",
                                                                 "4080",
                                                                 "4080 Laptop GPU",
                                                                 "4080 SUPER",
                                                                 "4090 Laptop GPU",
                                                                 "5050",
                                                                 "5050 Laptop GPU",
                                                                 "5060",
                                                                 "5060 Laptop GPU",
                                                                 "5060 Ti",
                                                                 "5070",
                                                                 "5070 Laptop GPU",
                                                                 "5070 Ti",
                                                                 "5070 Ti Laptop GPU",
                                                                 "5080",
                                                                 "5080 Laptop GPU",
                                                                 "5090 Laptop GPU"});

bool other_geforce(std::string_view name) {
  return name.starts_with(kGeforce) &&
         std::ranges::find(kGeforceModels, name.substr(kGeforce.size())) != kGeforceModels.end();
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// Words are runs of letters and digits: "A100-SXM4-80GB" has three.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words = {""};
  for (const char c : lower_case(text)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

std::vector<const Datasheet*> products_called(std::string_view name) {
  const std::vector<std::string> wanted = words_of(name);
  std::vector<const Datasheet*> found;
  for (const Datasheet& sheet : datasheets()) {
    std::vector<std::string> words = words_of(sheet.product);
    std::ranges::copy(words_of(sheet.name), std::back_inserter(words));
    if (std::ranges::all_of(wanted, [&](const std::string& word) {
          return std::ranges::find(words, word) != words.end();
        }))
      found.push_back(&sheet);
  }
  return found;
}

const Datasheet* find_product(const DeviceFacts& device) {
  const Datasheet* sheet = product_by_identity(device);
  return sheet != nullptr && could_be(*sheet, device) ? sheet : nullptr;
}

const Datasheet* find_datasheet(const DeviceFacts& device) {
  const Datasheet* sheet = partitioned(device) ? nullptr : find_product(device);
  return sheet == nullptr || sheet->figures.empty() ? nullptr : sheet;
}

std::string why_no_datasheet(const DeviceFacts& device) {
  if (find_datasheet(device) != nullptr) return {};
  if (partitioned(device)) return "MIG is on, and a slice of a GPU has none";
  const Datasheet* sheet = product_by_identity(device);
  if (sheet == nullptr) {
    const auto same_chip = std::ranges::find_if(
        datasheets(), [&](const Datasheet& s) { return id_of(s, device) != nullptr; });
    if (same_chip != datasheets().end())
      return fmt::format(
          "its PCI device id is that of the {}, but not its board id, as on a virtual GPU",
          same_chip->product);
    const auto named = std::ranges::count(datasheets(), device.name, &Datasheet::name);
    return named > 1 ? fmt::format("several products are called {}", device.name)
                     : "the product is not in the table (peakline peaks)";
  }
  if (!could_be(*sheet, device))
    return fmt::format("it has the {} of the {}, but not its SMs: a slice or another cut of it",
                       has_ids_of(*sheet, device) ? "PCI ids" : "name", sheet->product);
  return fmt::format("no document of NVIDIA's is known that states any for the {}", sheet->product);
}

const DatasheetFigure* datasheet_figure(const DeviceFacts& device, std::string_view resource) {
  const Datasheet* sheet = find_datasheet(device);
  if (sheet == nullptr) return nullptr;
  const auto stated = [&](std::string_view name) -> const DatasheetFigure* {
    const auto figure = std::ranges::find(sheet->figures, name, &DatasheetFigure::resource);
    return figure == sheet->figures.end() ? nullptr : &*figure;
  };
  if (const DatasheetFigure* own = stated(resource)) return own;
  // A figure for FP32 sums does not bound FP16 sums where FP32 sums take longer.
  const std::string_view peak = peak_resource(resource);
  const auto share = share_of_architecture(device, resource);
  const bool comparable = share.has_value() || !resource.starts_with("tensor.");
  return comparable && share == share_of_architecture(device, peak) ? stated(peak) : nullptr;
}

bool disputed(const DeviceFacts& device, std::string_view resource) {
  const Datasheet* sheet = find_product(device);
  return sheet != nullptr &&
         std::ranges::find(sheet->disputed, resource, &Dispute::resource) != sheet->disputed.end();
}

std::optional<double> share_of_architecture(const DeviceFacts& device, std::string_view resource) {
  const Datasheet* sheet = find_product(device);
  if (sheet != nullptr &&
      std::ranges::find(sheet->cut, peak_resource(resource)) != sheet->cut.end()) {
    return std::nullopt;
  }
  if (!resource.starts_with("tensor.")) return 1;
  const bool fp32_sums = std::ranges::find(kSumsInFp32, resource) != kSumsInFp32.end();
  if (sheet != nullptr) {
    switch (sheet->tensor_rate) {
      case TensorRate::kFull:
        return 1;
      case TensorRate::kHalfWithFp32Sums:
        return fp32_sums ? 0.5 : 1;
      case TensorRate::kHalf:  // no document states the rate of FP16 sums
        return fp32_sums || resource == "tensor.int8" ? std::optional(0.5) : std::nullopt;
      case TensorRate::kUnknown:
        return std::nullopt;
    }
  }
  if (fp32_sums && other_geforce(device.name)) return 0.5;
  const auto ops = ops_per_clock_per_sm(device.compute_major, device.compute_minor, resource);
  return ops && ops->uncertain ? std::nullopt : std::optional(1.0);
}

}  // namespace peakline
