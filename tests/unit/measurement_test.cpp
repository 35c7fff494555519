#include "harness/core/measurement.hpp"

#include <gtest/gtest.h>

namespace peakline {
namespace {

TEST(PointName, JoinsIdAndParameters) {
  const Params params{{"width", std::int64_t{16}}, {"load", std::string("burst")}};
  EXPECT_EQ(point_name("hbm.read", params), "hbm.read/width:16/load:burst");
  EXPECT_EQ(point_name("launch.submit", {}), "launch.submit");
}

TEST(Params, AreFoundByNameAndType) {
  const Params params{{"width", std::int64_t{16}}, {"load", std::string("burst")}};
  EXPECT_EQ(int_param(params, "width"), 16);
  EXPECT_EQ(int_param(params, "load"), std::nullopt);
  EXPECT_EQ(text_param(params, "load"), "burst");
  EXPECT_EQ(text_param(params, "missing"), std::nullopt);
}

TEST(Names, RoundTrip) {
  for (const Status s : {Status::kOk, Status::kSkipped, Status::kError})
    EXPECT_EQ(status_from_string(to_string(s)), s);
  for (const Basis b : {Basis::kTheoretical, Basis::kDatasheet, Basis::kInstruction,
                        Basis::kMeasured, Basis::kBurst, Basis::kSustained, Basis::kModelShaped})
    EXPECT_EQ(basis_from_string(to_string(b)), b);
  for (const Severity s : {Severity::kInfo, Severity::kWarning, Severity::kError})
    EXPECT_EQ(severity_from_string(to_string(s)), s);
  for (const ClockSource c : {ClockSource::kKernel, ClockSource::kProbe, ClockSource::kNvml})
    EXPECT_EQ(clock_source_from_string(to_string(c)), c);
  EXPECT_EQ(status_from_string("fine"), std::nullopt);
}

TEST(Quantity, NamesItsUnit) {
  EXPECT_EQ(unit_of(Quantity::kTime), "s");
  EXPECT_EQ(unit_of(Quantity::kByteRate), "B/s");
  EXPECT_EQ(unit_of(Quantity::kFlopRate), "FLOP/s");
  EXPECT_EQ(unit_of(Quantity::kOpRate), "OP/s");
}

TEST(Work, AddsWhatIsReadAndWritten) {
  EXPECT_DOUBLE_EQ((Work{.bytes_read = 3, .bytes_written = 4, .flops = 5}.bytes()), 7);
}

}  // namespace
}  // namespace peakline
