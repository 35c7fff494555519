#include "harness/profile/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "harness/profile/profile.hpp"
#include "tests/unit/golden_profile.hpp"
#include "tests/unit/texts.hpp"

namespace peakline {
namespace {

using golden::example;
using golden::read_text;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ProfileFile : public ::testing::Test {
 protected:
  ProfileFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "peakline-test-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ProfileFile() override { std::filesystem::remove_all(folder_); }
  std::size_t count() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }
  std::filesystem::path folder_;
};

std::string message(auto&& action) { return message_of<ProfileError>(action); }

TEST_F(ProfileFile, IsReplacedAsAWhole) {
  const auto file = folder_ / "a.json";
  write_profile(example(), file);
  Profile changed = example();
  changed.complete = true;
  write_profile(changed, file);
  EXPECT_EQ(read_profile(file), changed);
  EXPECT_EQ(count(), 1);  // no temporary file is left
}

TEST_F(ProfileFile, IsCreatedOnce) {
  const auto file = folder_ / "a.json.gz", link = folder_ / "link.json";
  EXPECT_TRUE(create_profile(example(), file));
  EXPECT_EQ(read_profile(file), example());
  Profile changed = example();
  changed.complete = true;
  EXPECT_FALSE(create_profile(changed, file));
  EXPECT_EQ(read_profile(file), example());
  std::filesystem::create_symlink(folder_ / "nowhere", link);
  EXPECT_FALSE(create_profile(changed, link));
  EXPECT_EQ(count(), 2);
}

TEST_F(ProfileFile, IsGzippedWhereItsNameSaysSo) {
  const auto plain = folder_ / "a.json", zipped = folder_ / "a.json.gz",
             again = folder_ / "b.json.gz";
  for (const auto& file : {plain, zipped, again}) write_profile(example(), file);
  EXPECT_EQ(read_profile(zipped), example());
  EXPECT_THAT(read_text(zipped), StartsWith("\x1f\x8b"));
  EXPECT_EQ(read_text(zipped), read_text(again));
  EXPECT_LT(std::filesystem::file_size(zipped), std::filesystem::file_size(plain) / 2);
  std::filesystem::rename(zipped, plain);  // the content decides
  EXPECT_EQ(read_profile(plain), example());
}

TEST_F(ProfileFile, FollowsNoLinkThatLiesWhereItWrites) {
  const auto file = folder_ / "a.json";
  const auto victim = folder_ / "victim";
  std::ofstream(victim) << "precious";
  const auto temporary = folder_ / fmt::format(".peakline-{}-0.tmp", ::getpid());
  std::filesystem::create_symlink(victim, temporary);
  write_profile(example(), file);
  EXPECT_EQ(read_text(victim), "precious");
  EXPECT_EQ(read_profile(file), example());
  EXPECT_EQ(count(), 3);
}

TEST_F(ProfileFile, ReportsReplaceNothingButEarlierReports) {
  const std::filesystem::path file = folder_ / "a.report", link = folder_ / "link";
  const auto write = [&](const std::filesystem::path& to, const std::string& text) {
    return message([&] { profile_format::write_report(text, to, "report"); });
  };
  EXPECT_EQ(write(file, "report 1"), "no error");
  EXPECT_EQ(write(file, "report 2, longer"), "no error");
  std::filesystem::create_symlink(file, link);
  EXPECT_EQ(write(link, "report 3"), "no error");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_text(file), "report 3");
  EXPECT_EQ(profile_format::earlier_report(link, "report"), "report 3");
  EXPECT_EQ(profile_format::earlier_report(folder_ / "new", "report"), "");
  std::ofstream(file, std::ios::trunc).flush();
  EXPECT_EQ(write(file, "report 4"), "no error");
  for (const std::string other : {"{}", "repor", "a report", "\n"}) {
    std::ofstream(file, std::ios::trunc) << other;
    EXPECT_THAT(write(file, "report 5"), HasSubstr("not overwritten"));
    EXPECT_EQ(read_text(file), other);
  }
  std::filesystem::create_symlink(folder_ / "nowhere", folder_ / "lost");
  EXPECT_THAT(write(folder_ / "lost", "report"), HasSubstr("leads nowhere"));
  EXPECT_THAT(write(folder_, "report"), HasSubstr("expected a file, a pipe"));
  EXPECT_THAT(write("", "report"), HasSubstr("without a name"));
  EXPECT_THAT(write(file / "x", "report"), HasSubstr("Not a directory"));
  EXPECT_EQ(count(), 3);
}

TEST_F(ProfileFile, ReportsLeavePipesAndDevicesAsTheyAre) {
  const std::filesystem::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  profile_format::require_report_file(pipe, "report");
  EXPECT_EQ(profile_format::earlier_report(pipe, "report"), "");
  profile_format::write_report("report", pipe, "report");
  std::string found(9, '\0');
  found.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(reader, found.data(), 9))));
  ::close(reader);
  EXPECT_EQ(found, "report");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  profile_format::write_report("report", "/dev/null", "report");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(ProfileFile, SaysWhyItCannotBeWrittenOrRead) {
  EXPECT_THAT(message([&] { write_profile(example(), folder_ / "no/a.json"); }),
              AllOf(HasSubstr("no/a.json: there is no directory "), EndsWith("/no")));
  EXPECT_THAT(message([&] { read_profile(folder_ / "a.json"); }), EndsWith("a.json: no such file"));
  EXPECT_THAT(message([&] { read_profile(folder_); }), EndsWith("a directory, not a profile"));
  EXPECT_EQ(message([&] { read_profile(""); }), "a file without a name cannot be read");
  EXPECT_THAT(message([&] { read_profile("/proc/self/mem"); }),
              EndsWith("mem: cannot be read: Input/output error"));
  std::filesystem::create_directory(folder_ / "b.json");
  EXPECT_THAT(message([&] { write_profile(example(), folder_ / "b.json"); }),
              HasSubstr("b.json: cannot be written"));
  EXPECT_EQ(count(), 1);
}

}  // namespace
}  // namespace peakline
