#pragma once

// The devices of the zoo: what public reports have of them, and what the program makes of it.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/cuda/properties.hpp"
#include "harness/values/facts.hpp"

namespace peakline::zoo {

struct ZooDevice {
  std::string id;       // of its file: "h100-sxm"
  nlohmann::json file;  // {"reports": [{"source" or "constructed", "nvml", "cuda"}, ...]}

  // What all reports have of "nvml" or "cuda"; of two that state the same, the later one.
  nlohmann::json stated(const char* library) const;
  std::filesystem::path path() const;
};

// All of them, in the order of their names.
const std::vector<ZooDevice>& devices();

// Makes NVML's library answer as the file's device, from its next start on.
void answer_as(const std::filesystem::path& device);

// As the program finds it: NVML's library is asked, the runtime's properties are the file's.
DeviceFacts facts_of(const ZooDevice& device);

}  // namespace peakline::zoo
