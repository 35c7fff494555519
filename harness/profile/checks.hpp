#pragma once

// Checks what holds between the fields of a structure, each of which has been read. Throws
// ProfileError where it does not.

#include "harness/profile/document.hpp"
#include "harness/profile/rule.hpp"

namespace peakline::profile_format {

void check(const Node& node, const Ascending& rule);
void check(const Node& node, const OneLength& rule);
void check(const Node& node, const Counts& rule);
void check(const Node& node, const Needs& rule);
void check(const Node& node, const Names& rule);
void check(const Node& node, const Unique& rule);

}  // namespace peakline::profile_format
