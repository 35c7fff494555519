#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/conclude/conclusions.hpp"
#include "harness/profile/profile.hpp"
#include "tests/unit/golden_profile.hpp"
#include "tests/unit/sample_catalog.hpp"

namespace peakline {
namespace {

using golden::example;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(Anonymized, TellsNeitherMachineNorOwner) {
  Profile profile = example();
  profile.command = {"/home/ann/bin/peakline",
                     "run",
                     "--output=/home/ann/node7.json",
                     "--filter",
                     "hbm.read/width:16",
                     "--device",
                     golden::kUuid};
  profile.software.environment.push_back({"CUDA_VISIBLE_DEVICES", golden::kUuid});
  const Profile hidden = with_conclusions(anonymized(profile), sample::benchmarks());
  const std::string text = to_json(hidden);
  for (const char* secret :
       {"node7", "89ab-cdef", "7654-3210", "python3", "4711", "/home", "ann/"}) {
    EXPECT_THAT(text, Not(HasSubstr(secret)));
  }
  EXPECT_EQ(hidden.devices[0].uuid, "GPU-01234567");
  EXPECT_EQ(hidden.measurements[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.ceilings[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.rooflines[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.memory_map[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.findings[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.measurements[4].device, "host");
  EXPECT_EQ(hidden.devices[0].vbios, "96.00.BC.00.01");
  EXPECT_EQ(hidden.command[0], "peakline");
  EXPECT_EQ(hidden.command[2], "--output=(left out)");
  EXPECT_EQ(hidden.command[4], "(left out)");
  EXPECT_EQ(hidden.command[6], "GPU-01234567");
  EXPECT_EQ(hidden.devices[0].processes.size(), 2);
  EXPECT_THAT(text,
              HasSubstr("during the run: process 1 (name left out), process 2 (name left out)."));
  EXPECT_EQ(profile_from_json(text, "p"), hidden);
}

TEST(Anonymized, KeepsOfACommandWhatIsKnownToBeHarmless) {
  Profile profile = example();
  const std::string shortened = std::string(golden::kUuid).substr(0, 9);
  profile.command = {"./alice/peakline", "run",      "--quick",         "-o",       "alice",
                     "--device=0,1",     "--device", shortened,         "--runs",   "3",
                     "-onode7-alice",    "alice",    "--max-noise=1.5", "--device", "GPU-cafe,all",
                     "--output=10.0.0.1"};
  EXPECT_THAT(anonymized(profile).command,
              ElementsAre("peakline", "run", "--quick", "-o", "(left out)", "--device=0,1",
                          "--device", "GPU-01234567", "--runs", "3", "(left out)", "(left out)",
                          "--max-noise=1.5", "--device", "(left out),all", "--output=(left out)"));
}

TEST(Anonymized, KeepsOfTheEnvironmentWhatIsKnownToBeHarmless) {
  Profile profile = example();
  profile.software.environment = {{"CUBLAS_WORKSPACE_CONFIG", ":4096:8"},
                                  {"CUDA_MODULE_LOADING", "EAGER"},
                                  {"CUDA_VISIBLE_DEVICES", golden::kUuid},
                                  {"LD_PRELOAD", "/home/alice/lib.so"},
                                  {"NCCL_ALGO", "^Ring,Tree"},
                                  {"NCCL_HOSTID", "node7"},
                                  {"NCCL_NTHREADS", "alice"},
                                  {"NCCL_TOPO_FILE", "alice@node7:topology.xml"}};
  EXPECT_THAT(
      anonymized(profile).software.environment,
      ElementsAre(Pair("CUBLAS_WORKSPACE_CONFIG", ":4096:8"), Pair("CUDA_MODULE_LOADING", "EAGER"),
                  Pair("LD_PRELOAD", "(left out)"), Pair("NCCL_ALGO", "^Ring,Tree"),
                  Pair("NCCL_NTHREADS", "(left out)"), Pair("NCCL_TOPO_FILE", "(left out)")));
}

TEST(Anonymized, LeavesPlacesOutOfWhatOthersSay) {
  Profile profile = example();
  profile.host.hostname = "node7.lab.example.org";
  const auto said = [&](const std::string& reason) {
    profile.measurements[0].reason = reason;
    return anonymized(profile).measurements[0].reason;
  };
  EXPECT_EQ(said("left out: 3 GFLOP/s, 1.5 times host.read/threads:2"),
            "left out: 3 GFLOP/s, 1.5 times host.read/threads:2");
  EXPECT_EQ(said("node7:12 and node7.lab.example.org. ib-node7-a, x.example.org, nodes7 node77"),
            "localhost:12 and localhost. localhost, x.example.org, nodes7 node77");
  EXPECT_EQ(said("www.lab.example.org"), "localhost");
  EXPECT_EQ(said("no /home/alice/x, (~/y) or alice@there at 10.0.0.1:80"),
            "no (left out) (left out) or (left out) at (left out)");
  EXPECT_EQ(said(std::string("GPU ") + golden::kUuid), "GPU GPU-01234567");
  EXPECT_EQ(said("the worker exited with code 3: alice"), "the worker exited with code 3");
}

TEST(Anonymized, KeepsOfDevicesWhatIsKnown) {
  Profile profile = example();
  profile.devices[0].processes = {
      {.pid = 7, .name = "/home/ann/nvidia-cuda-mps-server", .memory_bytes = {}}};
  profile.devices[0].peers = {{.index = 1, .refused = std::string(kSystemRefuses)},
                              {.index = 2, .refused = "ask alice of node7"},
                              {.index = 3}};
  profile.devices[1].uuid = "GPU-01234567-0000-0000-0000-000000000000";  // begins like the first
  const auto devices = anonymized(profile).devices;
  EXPECT_EQ(devices[0].processes.at(0).name, "nvidia-cuda-mps-server");
  EXPECT_EQ(devices[0].processes.at(0).pid, 0);
  EXPECT_EQ(devices[0].peers[0].refused, kSystemRefuses);
  EXPECT_EQ(devices[0].peers[1].refused, "(left out)");
  EXPECT_EQ(devices[0].peers[2].refused, "");
  EXPECT_NE(devices[0].uuid, devices[1].uuid);
}

}  // namespace
}  // namespace peakline
