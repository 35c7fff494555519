#include "harness/cuda/nccl.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "tests/unit/texts.hpp"

namespace peakline::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NcclTest : public ::testing::Test {
 protected:
  NcclTest() {
    for (const char* name : kVariables) unsetenv(name);
  }
  ~NcclTest() override {
    for (const char* name : kVariables) unsetenv(name);
  }

  static constexpr std::array kVariables = {"FAKE_NCCL", "NCCL_DEBUG", "NCCL_DEBUG_FILE",
                                            "NCCL_DEBUG_SUBSYS", "NCCL_NVLS_ENABLE"};
  static constexpr std::array kDevices = {0, 1};
};

TEST_F(NcclTest, AnAbsentLibrarySaysHowToInstallIt) {
  EXPECT_THAT(message_of<NcclUnavailable>([] { Nccl("/nowhere/libnccl.so.2"); }),
              AllOf(HasSubstr("/nowhere/libnccl.so.2"), HasSubstr("nvidia-nccl-cu13")));
}

TEST_F(NcclTest, AnOldLibraryIsRefusedByTheSymbolItLacks) {
  EXPECT_THAT(message_of<NcclUnavailable>([] { Nccl(FAKE_NCCL_OLD); }),
              AllOf(HasSubstr(std::string(FAKE_NCCL_OLD) + " has no ncclRecv"), HasSubstr("2.10")));
}

TEST_F(NcclTest, SaysWhichItIs) { EXPECT_EQ(Nccl(FAKE_NCCL).version(), "2.28.9"); }

TEST_F(NcclTest, MulticastStaysOffUnlessTheUserWantsIt) {
  { const Nccl nccl(FAKE_NCCL); }
  EXPECT_EQ(Nccl::nvls(), "0");
  setenv("NCCL_NVLS_ENABLE", "1", 1);
  const Nccl nccl(FAKE_NCCL);
  EXPECT_EQ(Nccl::nvls(), "1");
}

TEST_F(NcclTest, CommunicatorsAreDestroyed) {
  const Nccl nccl(FAKE_NCCL);
  void* const library = dlopen(FAKE_NCCL, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const auto alive = reinterpret_cast<int (*)()>(dlsym(library, "fakeNcclAlive"));
  {
    const NcclRanks ranks(nccl, kDevices);
    EXPECT_EQ(ranks.size(), 2);
    EXPECT_EQ(alive(), 2);
  }
  EXPECT_EQ(alive(), 0);
  dlclose(library);
}

TEST_F(NcclTest, TheChoiceOfTheLatestCollectiveIsRead) {
  Nccl nccl(FAKE_NCCL);
  const NcclRanks ranks(nccl, kDevices);
  const auto all_reduce = [&](std::size_t count) {
    ranks.enqueue([&](int, nccl::Communicator* communicator) {
      return nccl.all_reduce(nullptr, nullptr, count, nccl::DataType::kFloat32,
                             nccl::Reduction::kSum, communicator, nullptr);
    });
  };
  EXPECT_EQ(nccl.take_choice(), std::nullopt);
  all_reduce(2);
  all_reduce(1 << 20);
  EXPECT_EQ(nccl.take_choice(), (NcclChoice{"RING", "SIMPLE", 2}));
  EXPECT_EQ(nccl.take_choice(), std::nullopt);
  all_reduce(2);
  EXPECT_EQ(nccl.take_choice(), (NcclChoice{"RING", "LL", 2}));
}

TEST_F(NcclTest, TheUsersLogStaysHis) {
  setenv("NCCL_DEBUG", "WARN", 1);
  const Nccl nccl(FAKE_NCCL);
  EXPECT_STREQ(std::getenv("NCCL_DEBUG"), "WARN");
  EXPECT_EQ(std::getenv("NCCL_DEBUG_FILE"), nullptr);
}

TEST_F(NcclTest, AFailedOperationIsAnErrorInNcclsWords) {
  setenv("FAKE_NCCL", "fail", 1);
  const Nccl nccl(FAKE_NCCL);
  const NcclRanks ranks(nccl, kDevices);
  EXPECT_THAT(message_of<NcclError>([&] {
                ranks.enqueue([&](int, nccl::Communicator* communicator) {
                  return nccl.broadcast(nullptr, nullptr, 1, nccl::DataType::kFloat32, 0,
                                        communicator, nullptr);
                });
              }),
              HasSubstr("invalid usage"));
}

TEST(NcclLog, OnlyNamesAreAChoice) {
  EXPECT_EQ(last_choice("AllReduce: 8 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}\n"),
            (NcclChoice{"TREE", "LL", 1}));
  EXPECT_EQ(last_choice("AllReduce [Symmetric]: 8 Bytes -> Kernel AllReduce_AGxLL_R nchannels 1 "
                        "nthreads 512 nWorks 1\n"),
            (NcclChoice{"", "", 1, "AllReduce_AGxLL_R"}));
  EXPECT_EQ(last_choice("AllReduce: 8 Bytes -> Algo 1 proto 0 time 7.4\n"), std::nullopt);
  EXPECT_EQ(last_choice("AllReduce: 8 Bytes -> Algo TREE"), std::nullopt);
  EXPECT_EQ(last_choice(""), std::nullopt);
}

}  // namespace
}  // namespace peakline::cuda
