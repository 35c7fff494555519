// Errors without GPUDirect Storage, and that no detour is accepted. The library is a fake.

#include "harness/cuda/cufile.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace peakline::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class CuFileTest : public ::testing::Test {
 protected:
  CuFileTest() { forget(); }
  ~CuFileTest() override {
    forget();
    std::fclose(file_);
  }

  static void forget() {
    unsetenv("FAKE_CUFILE");
    unsetenv("CUFILE_LOGFILE_PATH");
  }
  static void behave(const char* how) { setenv("FAKE_CUFILE", how, 1); }
  // Unclosed drivers, files and buffers.
  static int left() {
    void* const library = dlopen(FAKE_CUFILE, RTLD_NOW | RTLD_NOLOAD);
    const auto count = reinterpret_cast<int (*)()>(dlsym(library, "fakeCuFileLeft"));
    dlclose(library);
    return count();
  }
  int descriptor() const { return fileno(file_); }

  std::FILE* file_ = std::tmpfile();
};

template <class Message>
auto refuses(const Message& message) {
  return ThrowsMessage<CuFileUnavailable>(AllOf(HasSubstr("no GPUDirect Storage: "), message));
}

TEST_F(CuFileTest, AnAbsentLibrarySaysHowToInstallIt) {
  EXPECT_THAT([] { CuFile("/nowhere/libcufile.so.0"); },
              refuses(AllOf(HasSubstr("/nowhere/libcufile.so.0"), HasSubstr("nvidia-cufile"))));
  // An old one is refused by the symbol that it lacks.
  EXPECT_THAT([] { CuFile{FAKE_CUFILE_OLD}; },
              refuses(AllOf(HasSubstr("cuFileSetParameterBool"), HasSubstr("CUDA 12.9"))));
}

TEST_F(CuFileTest, CompatibilityModeIsSwitchedOff) {
  EXPECT_EQ(CuFile(FAKE_CUFILE).version(), "1.15");
  behave("insist:1");
  EXPECT_THAT([] { CuFile{FAKE_CUFILE}; }, refuses(HasSubstr("compatibility mode")));
  EXPECT_EQ(left(), 0);
}

TEST_F(CuFileTest, WhatIsRefusedHasAReasonAndAName) {
  behave("open:5001");
  EXPECT_THAT([] { CuFile{FAKE_CUFILE}; },
              refuses(AllOf(HasSubstr("nvidia-fs is not loaded"),
                            HasSubstr("CU_FILE_DRIVER_NOT_INITIALIZED"))));
  behave("file:5008");
  EXPECT_THAT(
      [&] {
        const CuFile cufile(FAKE_CUFILE);
        const CuFileHandle file(cufile, descriptor());
      },
      refuses(AllOf(HasSubstr("file system"), HasSubstr("CU_FILE_IO_NOT_SUPPORTED"))));
  behave("memory:5036");
  std::byte memory{};
  EXPECT_THAT(
      [&] {
        const CuFile cufile(FAKE_CUFILE);
        const CuFileBuffer buffer(cufile, &memory, 1);
      },
      refuses(HasSubstr("BAR1")));
  behave("open:5999");
  EXPECT_THAT([] { CuFile{FAKE_CUFILE}; }, refuses(HasSubstr("error 5999")));
  EXPECT_EQ(left(), 0);
}

TEST_F(CuFileTest, ReadsWhereItIsTold) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += static_cast<char>('a' + i % 26);
  std::fwrite(text.data(), 1, text.size(), file_);
  std::fflush(file_);
  std::vector<std::byte> memory(4000);
  {
    const CuFile cufile(FAKE_CUFILE);
    const CuFileHandle file(cufile, descriptor());
    const CuFileBuffer buffer(cufile, memory.data(), memory.size());
    // In parts, since the fake reads less than asked for.
    EXPECT_EQ(file.read(buffer.data(), 1000, 2500, 500), "");
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(memory.data()) + 1000, 2500),
              text.substr(500));
    EXPECT_EQ(file.read(buffer.data(), 0, 1, text.size()), "the file ends");
    behave("read:121");  // EREMOTEIO: the kernel's error if devices cannot reach each other
    EXPECT_EQ(file.read(buffer.data(), 0, 1, 0), "Remote I/O error");
    behave("read:5010");
    EXPECT_THAT(file.read(buffer.data(), 0, 1, 0), HasSubstr("CU_FILE_NVFS_DRIVER_ERROR"));
  }
  EXPECT_EQ(left(), 0);
}

TEST_F(CuFileTest, NoLogAppearsUnlessTheUserWantsIt) {
  { const CuFile cufile(FAKE_CUFILE); }
  EXPECT_STREQ(std::getenv("CUFILE_LOGFILE_PATH"), "/dev/null");
  setenv("CUFILE_LOGFILE_PATH", "/tmp/cufile.log", 1);
  const CuFile cufile(FAKE_CUFILE);
  EXPECT_STREQ(std::getenv("CUFILE_LOGFILE_PATH"), "/tmp/cufile.log");
}

}  // namespace
}  // namespace peakline::cuda
