#pragma once

// Formatting: three significant digits (all digits from 1000 up), decimal prefixes for rates,
// binary for sizes; "–" for non-finite numbers.

#include <cstdint>
#include <string>
#include <string_view>

namespace peakline {

inline constexpr double kKiB = 1024.0;
inline constexpr double kMiB = 1024.0 * kKiB;
inline constexpr double kGiB = 1024.0 * kMiB;
inline constexpr double kTiB = 1024.0 * kGiB;

inline constexpr std::string_view kNotKnown = "–";

std::string format_time(double seconds);  // "870 ns", "12.3 us", "1.20 ms", "4.00 s"
std::string format_size(double bytes);    // "128 B", "4 KiB", "1.5 GiB"
// Bandwidths stop at GB/s, as the field quotes them; other units go up to T.
std::string format_rate(double value, std::string_view unit);  // "4583 GB/s", "805 TFLOP/s"
std::string format_clock(double hz);                           // "1980 MHz"
std::string format_percent(double share);                      // "95.3 %"
std::string format_signed_percent(double share);               // "-3.4 %", "+0.2 %"
// Formats by unit: "s", ".../s", "B" and "Hz" with prefixes; others as number and unit.
std::string format_value(double value, std::string_view unit);
// A rate with two digits: "30 GB/s", "1.2 TFLOP/s".
std::string format_rough(double value, std::string_view unit);
// Rounded to two digits.
double rough(double value);
// Without a unit: "4583", "805", "54.4", "0.62".
std::string format_number(double value);
// Likewise, bandwidths in GB/s, operations in TFLOP/s or TOP/s, energies per operation or byte in
// pJ. Other rates keep their unit.
std::string format_bare(double value, std::string_view unit);
double bare_factor(std::string_view unit);
// Two digits beyond 9999: "3.4 × 10¹²".
std::string format_magnitude(double count);
// Whether it is the unit of rates that a clock explains.
inline bool is_compute(std::string_view unit) { return unit == "FLOP/s" || unit == "OP/s"; }
// "1 point", "2 points".
std::string format_count(std::int64_t n, std::string_view what);

}  // namespace peakline
