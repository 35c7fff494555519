#include "harness/profile/population.hpp"

#include <fmt/format.h>

#include "harness/profile/document.hpp"
#include "harness/profile/file.hpp"
#include "harness/profile/json.hpp"
#include "harness/profile/population_fields.hpp"
#include "harness/profile/profile.hpp"
#include "harness/profile/row.hpp"

namespace peakline {

using namespace profile_format;

namespace {

// A figure a line, so that populations can be diffed.
std::string text_of(const Population& population) {
  json object = encoded(population);
  std::string figures;
  for (const json& figure : object["figures"])
    figures += fmt::format("{}\n{}", figures.empty() ? "" : ",", dump(figure));
  object.erase("figures");
  std::string text = dump(object);
  text.pop_back();
  return fmt::format("{}, \"figures\": [{}\n]}}", text, figures);
}

}  // namespace

std::string to_json(std::span<const Population> populations) {
  std::string all;
  for (const Population& population : populations)
    all += fmt::format("{}\n{}", all.empty() ? "" : ",", text_of(population));
  return fmt::format(
      "{{\n\"schema\": \"{}\",\n\"schema_version\": {},\n\"populations\": [{}\n]\n}}\n",
      kPopulationSchema, kPopulationSchemaVersion, all);
}

std::vector<Population> populations_from_json(std::string_view text, std::string_view name) {
  Document document;
  parse(text, name, document);
  const Node root{.value = document.root, .key = name};
  const Node schema = member(root, "schema");
  if (!is_text(schema.value, kPopulationSchema))
    schema.expected(fmt::format("\"{}\"", kPopulationSchema));
  const Node version = member(root, "schema_version");
  if (!version.value.is_number() || number(version.value) != kPopulationSchemaVersion)
    version.expected(std::to_string(kPopulationSchemaVersion));
  return decoded<PopulationFile>(document.root, name).populations;
}

bool is_population(std::string_view text) {
  // It is among the first keys of either.
  constexpr std::size_t kHead = 200;
  return text.substr(0, kHead).find(kPopulationSchema) != std::string_view::npos;
}

std::vector<Population> read_populations(const std::filesystem::path& file) {
  return populations_from_json(read_text(file), file.string());
}

}  // namespace peakline
