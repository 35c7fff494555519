#pragma once

#include <span>
#include <string>

#include "harness/judge/repeatability.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {

// A table for each study, and how many profiles are in none. profiles: those studied, for the names
// of resources and devices, and any others.
std::string repeatability_text(std::span<const Study> studies, std::span<const Profile> profiles,
                               const ShowOptions& options);

// The study as a document (schema "peakline-repeatability", version 1).
std::string repeatability_json(std::span<const Study> studies, std::span<const Profile> profiles);

}  // namespace peakline
