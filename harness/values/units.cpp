#include "harness/values/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

namespace peakline {
namespace {

struct Prefix {
  double factor;
  std::string_view symbol;
};

// Enough to show half a per cent, about the precision of a measurement.
constexpr int kSignificantDigits = 3;
// 999.96 rounds to 1000, which needs the next prefix.
constexpr double kCarry = 0.9995;

// prefixes: descending; the last takes everything below.
const Prefix& prefix_of(double value, std::span<const Prefix> prefixes) {
  for (const Prefix& prefix : prefixes)
    if (std::abs(value) >= prefix.factor * kCarry) return prefix;
  return prefixes.back();
}

std::string with_prefix(double value, std::span<const Prefix> prefixes, std::string_view unit) {
  const Prefix& chosen = prefix_of(value, prefixes);
  return fmt::format("{} {}{}", format_number(value / chosen.factor), chosen.symbol, unit);
}

std::span<const Prefix> rate_prefixes(std::string_view unit) {
  static constexpr std::array kPrefixes = {Prefix{1e12, "T"}, Prefix{1e9, "G"}, Prefix{1e6, "M"},
                                           Prefix{1e3, "k"}, Prefix{1, ""}};
  const std::span<const Prefix> prefixes = kPrefixes;
  return unit == "B/s" ? prefixes.subspan(1) : prefixes;
}

}  // namespace

std::string format_number(double value) {
  if (!std::isfinite(value)) return std::string(kNotKnown);
  if (value == 0) return "0";
  // Exponent after rounding, so that 9.996 prints as 10.0.
  const std::string rounded = fmt::format("{:.{}e}", std::abs(value), kSignificantDigits - 1);
  const int exponent = std::stoi(rounded.substr(rounded.find('e') + 1));
  const int decimals = kSignificantDigits - 1 - exponent;
  return fmt::format("{:.{}f}", value, decimals > 0 ? decimals : 0);
}

std::string format_time(double seconds) {
  if (!std::isfinite(seconds)) return std::string(kNotKnown);
  if (seconds == 0) return "0 s";
  static constexpr std::array kPrefixes = {Prefix{1, ""}, Prefix{1e-3, "m"}, Prefix{1e-6, "u"},
                                           Prefix{1e-9, "n"}};
  return with_prefix(seconds, kPrefixes, "s");
}

std::string format_size(double bytes) {
  if (!std::isfinite(bytes)) return std::string(kNotKnown);
  static constexpr std::array kPrefixes = {Prefix{kTiB, "Ti"}, Prefix{kGiB, "Gi"},
                                           Prefix{kMiB, "Mi"}, Prefix{kKiB, "Ki"}, Prefix{1, ""}};
  for (const Prefix& prefix : kPrefixes) {
    const double scaled = bytes / prefix.factor;
    if (std::abs(scaled) < 1 && prefix.factor != 1) continue;
    // Most sizes are whole: drop trailing zeros.
    std::string number = format_number(scaled);
    if (number.find('.') != std::string::npos) {
      number.erase(number.find_last_not_of('0') + 1);
      if (number.ends_with('.')) number.pop_back();
    }
    return fmt::format("{} {}B", number, prefix.symbol);
  }
  return std::string(kNotKnown);
}

std::string format_rate(double value, std::string_view unit) {
  if (!std::isfinite(value)) return std::string(kNotKnown);
  if (value == 0) return fmt::format("0 {}", unit);
  return with_prefix(value, rate_prefixes(unit), unit);
}

std::string format_clock(double hz) {
  if (!std::isfinite(hz)) return std::string(kNotKnown);
  return fmt::format("{:.0f} MHz", hz / 1e6);
}

std::string format_percent(double share) {
  if (!std::isfinite(share)) return std::string(kNotKnown);
  return fmt::format("{:.1f} %", share * 100);
}

std::string format_signed_percent(double share) {
  if (!std::isfinite(share)) return std::string(kNotKnown);
  const double rounded = std::round(share * 1000) / 10;
  return rounded == 0 ? "0.0 %" : fmt::format("{:+.1f} %", rounded);
}

std::string format_value(double value, std::string_view unit) {
  if (unit == "s") return format_time(value);
  if (unit == "B") return format_size(value);
  if (unit == "Hz") return format_clock(value);
  if (unit.ends_with("/s")) return format_rate(value, unit);
  if (!std::isfinite(value)) return std::string(kNotKnown);
  if (unit.starts_with("J/"))
    return fmt::format("{} p{}", format_number(value / bare_factor(unit)), unit);
  return unit.empty() ? format_number(value) : fmt::format("{} {}", format_number(value), unit);
}

double rough(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  const double step = std::pow(10, std::floor(std::log10(std::abs(value))) - 1);
  return std::round(value / step) * step;
}

std::string format_rough(double value, std::string_view unit) {
  if (!std::isfinite(value)) return std::string(kNotKnown);
  const double rounded = rough(value);
  if (unit.starts_with("J/")) return fmt::format("{:g} p{}", rounded / bare_factor(unit), unit);
  const Prefix& prefix = prefix_of(rounded, rate_prefixes(unit));
  return fmt::format("{:g} {}{}", rounded / prefix.factor, prefix.symbol, unit);
}

double bare_factor(std::string_view unit) {
  return unit == "B/s" ? 1e9 : is_compute(unit) ? 1e12 : unit.starts_with("J/") ? 1e-12 : 1;
}

std::string format_bare(double value, std::string_view unit) {
  const double factor = bare_factor(unit);
  return factor == 1 && unit.ends_with("/s") ? format_rate(value, unit)
                                             : format_number(value / factor);
}

std::string format_magnitude(double count) {
  constexpr double kInFull = 9999;
  if (!std::isfinite(count)) return std::string(kNotKnown);
  if (std::abs(count) <= kInFull) return fmt::format("{:.0f}", count);
  static constexpr std::array<std::string_view, 10> kRaised = {"⁰", "¹", "²", "³", "⁴",
                                                               "⁵", "⁶", "⁷", "⁸", "⁹"};
  const std::string text = fmt::format("{:.1e}", count);  // "3.4e+12"
  const auto e = text.find('e');
  std::string power;
  for (const char digit : std::to_string(std::stoi(text.substr(e + 1))))
    power += kRaised[static_cast<std::size_t>(digit - '0')];
  return fmt::format("{} × 10{}", text.substr(0, e), power);
}

std::string format_count(std::int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace peakline
