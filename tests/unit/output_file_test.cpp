#include "harness/cli/output_file.hpp"

#include <gtest/gtest.h>

namespace peakline::bench {
namespace {

TEST(FileNamePart, HoldsNothingThatAFileNameCannot) {
  EXPECT_EQ(file_name_part("node7"), "node7");
  EXPECT_EQ(file_name_part("Node_7.example-site.org"), "Node_7.example-site.org");
  EXPECT_EQ(file_name_part("../../x"), "x");
  EXPECT_EQ(file_name_part("a/b"), "a-b");
  EXPECT_EQ(file_name_part(".hidden"), "hidden");
  EXPECT_EQ(file_name_part("-rf"), "rf");
  EXPECT_EQ(file_name_part("caf\xc3\xa9 \033"), "caf----");
  EXPECT_EQ(file_name_part(std::string("a\0b", 3)), "a-b");
  EXPECT_EQ(file_name_part(""), "host");
  EXPECT_EQ(file_name_part("../"), "host");
  EXPECT_EQ(file_name_part(std::string(300, 'x')), std::string(64, 'x'));
}

}  // namespace
}  // namespace peakline::bench
