// A site's rules for check.

#include "harness/cli/rules_file.hpp"
#include "harness/run/plan.hpp"
#include "tests/fuzz/round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace peakline;
  try {
    for (const RuleChange& rule : bench::rules_from_toml(fuzz::text_of(data, size), "rules.toml"))
      if (rule.reason.empty()) std::abort();
  } catch (const bench::UsageError&) {  // any other exception ends the process
  }
  return 0;
}
