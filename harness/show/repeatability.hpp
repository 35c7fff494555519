#pragma once

#include <span>
#include <string>

#include "harness/judge/repeatability.hpp"
#include "harness/show/terminal_text.hpp"

namespace peakline {

// A table per study, and the number of unused profiles. profiles: for names.
std::string repeatability_text(std::span<const Study> studies, std::span<const Profile> profiles,
                               const ShowOptions& options);

// JSON (schema "peakline-repeatability", version 1).
std::string repeatability_json(std::span<const Study> studies, std::span<const Profile> profiles);

}  // namespace peakline
