#pragma once

// Rules of a site's own (--rules): limits, and what only warns or is left out.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/rules.hpp"
#include "harness/judge/yardsticks.hpp"
#include "harness/values/device_view.hpp"

namespace peakline {

// A GPU, or the links between GPUs, with its rules.
struct CheckedDevice {
  std::string name, model;  // "gpu0", "NVIDIA H200"; "node", "2 x NVIDIA H200"
  std::string uuid = {};
  Known known = {};  // of the populations given
  std::vector<Judged> rules;
};

class SiteRules {
 public:
  // Those for one device or mode follow those for all, since the last one counts.
  SiteRules(std::span<const RuleChange> changes, std::string_view mode);
  // A limit asks for its figure and vouches for it. view: the device's.
  void set_limits(const DeviceView& view, CheckedDevice& device);
  // Other changes only soften what does not pass.
  void soften(CheckedDevice& device);
  // Limits on devices that the machine lacks become rules that cannot be judged. Returns the names
  // of changes that concerned nothing.
  std::vector<std::string> finish(std::vector<CheckedDevice>& devices);

 private:
  struct Change {
    RuleChange change;
    bool applied = false;  // or of another mode
    bool other_mode = false;
  };
  std::vector<Change> changes_;
};

}  // namespace peakline
