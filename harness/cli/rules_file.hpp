#pragma once

// A site's own rules for `check`, in TOML:
//
//   [[rule]]
//   name = "tensor.bf16/burst"  # as in `check --all`, for all GPUs, or "gpu0/..." for one
//   loss_percent = 10           # lies at most this far below the median of healthy cards, or
//   limit = 750e12              # reaches this, in B/s or FLOP/s, or
//   outcome = "warn"            # "warn": never fails; "ignore": excused
//   mode = "quick"              # only in such runs
//   reason = "why"

#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/rules.hpp"

namespace peakline::bench {

// Throws UsageError with file, line and key for invalid rules.
std::vector<RuleChange> rules_from_toml(std::string_view text, const std::string& file);

// Likewise; throws ProfileError for an unreadable file.
std::vector<RuleChange> read_rules(const std::string& file);

}  // namespace peakline::bench
