#pragma once

// The path to a value of a document, for messages.

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/profile/profile.hpp"
#include "harness/values/text.hpp"

namespace peakline::profile_format {

inline constexpr std::size_t kShown = 40;  // characters of a key or a value in a message

// Refers to its parent.
struct Place {
  const Place* parent = nullptr;  // nullptr: root
  std::string_view key = {};      // at the root, the document's name
  std::size_t index = 0;          // in a list, where key is empty

  std::string path() const {
    if (!parent) return {};
    const std::string above = parent->path();
    if (key.empty()) return fmt::format("{}[{}]", above, index);
    const std::string shown = printable(key, kShown);
    return above.empty() ? shown : fmt::format("{}.{}", above, shown);
  }

  [[noreturn]] void fail(std::string_view message) const {
    const Place* root = this;
    while (root->parent) root = root->parent;
    const std::string where = path();
    throw ProfileError(
        fmt::format("{}: {}{}{}", root->key, where, where.empty() ? "" : ": ", message));
  }

  // found: as written in the file.
  [[noreturn]] void expected(std::string_view what, std::string_view found) const {
    fail(fmt::format("expected {}, found {}", what, printable(found, kShown)));
  }
};

}  // namespace peakline::profile_format
