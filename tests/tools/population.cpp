// Writes the populations of the program anew, reports/reference/populations/MODEL.json, from the
// runs that the tree has of each model.

#include <iostream>
#include <string>

#include "harness/profile/file.hpp"
#include "harness/profile/population_file.hpp"
#include "tests/unit/contributed.hpp"

int main() {
  using namespace peakline;
  try {
    const std::string source = PEAKLINE_SOURCE_DIR;
    for (const auto& [name, populations] : populations_by_file(contributed_runs(source)))
      profile_format::write_text(to_json(populations),
                                 source + "/reports/reference/populations/" + name);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
