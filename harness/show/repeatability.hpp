#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "harness/judge/repeatability.hpp"
#include "harness/show/terminal_text.hpp"

namespace peakline {

// Profiles of no study.
std::size_t left_out(std::span<const Study> studies, std::span<const Profile> profiles);

// A table per study, and the number of unused profiles. profiles: for names.
std::string repeatability_text(std::span<const Study> studies, std::span<const Profile> profiles,
                               const ShowOptions& options);

}  // namespace peakline
