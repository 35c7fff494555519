#pragma once

// Files of populations. Schema: reports/peakline/population.schema.json.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values/population.hpp"

namespace peakline {

inline constexpr std::string_view kPopulationSchema = "peakline-population";
inline constexpr int kPopulationSchemaVersion = 1;

// JSON Schema (draft 7) of such files.
std::string population_schema();

std::string to_json(std::span<const Population> populations);
// Throws ProfileError, beginning with `name`.
std::vector<Population> populations_from_json(std::string_view text, std::string_view name);

// Whether a file's text holds populations rather than a profile.
bool is_population(std::string_view text);

// Throws ProfileError.
std::vector<Population> read_populations(const std::filesystem::path& file);

// Part of the program: reports/reference/populations.
const std::vector<Population>& bundled_populations();

}  // namespace peakline
