#include "harness/cli/screen.hpp"

#include <vector>

#include "harness/cli/terminal.hpp"
#include "harness/judge/check.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/show/show.hpp"

namespace peakline::bench {

Checks checks_of(const Profile& profile) {
  // Must outlive the result.
  static const std::vector<Population> known = bundled_populations();
  Checks checks;
  checks.files.push_back(
      {.file = {}, .result = check(profile, {.populations = known, .donors = known})});
  return checks;
}

std::string screen_of(const Profile& profile) {
  return first_screen(profile, checks_of(profile), terminal_options());
}

}  // namespace peakline::bench
