#pragma once

// Checks what holds between the fields of a structure, beyond what a schema can say. Throws
// ProfileError where it does not.

#include "harness/profile/node.hpp"
#include "harness/values/profile.hpp"

namespace peakline::profile_format {

void check(const Node&, const auto&) {}
void check(const Node& node, const Summary& s);
void check(const Node& node, const Series& series);
void check(const Node& node, const Measurement& m);
void check(const Node& node, const Ceiling& c);
void check(const Node& node, const Profile& profile);

}  // namespace peakline::profile_format
