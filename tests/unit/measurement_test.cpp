#include "harness/values/measurement.hpp"

#include <gtest/gtest.h>

#include "harness/values/picture.hpp"
#include "harness/values/resources.hpp"

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

TEST(Names, AreThoseOfTheProfile) {
  EXPECT_EQ(to_string(Status::kOk), "ok");
  EXPECT_EQ(to_string(Status::kSkipped), "skipped");
  EXPECT_EQ(to_string(Status::kError), "error");
  EXPECT_EQ(to_string(Basis::kTheoretical), "theoretical");
  EXPECT_EQ(to_string(Basis::kMeasured), "measured");
  EXPECT_EQ(to_string(Basis::kBurst), "burst");
  EXPECT_EQ(to_string(Basis::kSustained), "sustained");
  EXPECT_EQ(to_string(Basis::kModelBurst), "model_burst");
  EXPECT_EQ(to_string(Basis::kModelShaped), "model_shaped");
  EXPECT_EQ(to_string(Severity::kInfo), "info");
  EXPECT_EQ(to_string(Severity::kWarning), "warning");
  EXPECT_EQ(to_string(ClockSource::kKernel), "kernel");
  EXPECT_EQ(to_string(ClockSource::kProbe), "probe");
  EXPECT_EQ(to_string(ClockSource::kNvml), "nvml");
  EXPECT_EQ(to_string(Resource::Kind::kMemory), "memory");
  EXPECT_EQ(to_string(Resource::Kind::kCompute), "compute");
  EXPECT_EQ(to_string(Written::kTime), "time");
  EXPECT_EQ(to_string(Written::kInteger), "integer");
  EXPECT_EQ(to_string(Scale::kLog2), "log2");
  EXPECT_EQ(to_string(PanelKind::kBars), "bars");
  EXPECT_EQ(to_string(Naming::kLegend), "legend");
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
