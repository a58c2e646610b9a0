// Machines are data: the files are complete, each figure has a source, and a file that is none is explained.
#include "simulator/clock/machine_model.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "simulator/clock/hardware.h"

namespace lockstep::clock {
namespace {

const char* const kMachines[] = {"cpu", "t4", "4xt4", "a100x8", "h100x8", "2xh100-pcie", "v100x8", "a100-80gb-x8", "rtx2070"};

TEST(Machines, AllAreCompleteAndEveryFigureHasASource) {
  for (const char* name : kMachines) {
    std::string problem;
    ASSERT_TRUE(find_machine(name, &problem)) << name << ": " << problem;
    for (const auto& [path, figure] : figures_of(name)) {
      if (path == "gpus" || path == "nodes") continue;  // what the name says
      EXPECT_FALSE(figure.source.empty()) << name << ": " << path;
    }
  }
}

TEST(Machines, TheListNamesThem) {
  for (const char* name : kMachines) EXPECT_NE(machine_names().find(name), std::string::npos) << name;
  EXPECT_EQ(machine_names().find("gpu-"), std::string::npos);
}

TEST(Machines, WhatIsNoneIsExplained) {
  std::string problem;
  EXPECT_FALSE(find_machine("h200", &problem));
  EXPECT_NE(problem.find("h100x8"), std::string::npos);
  EXPECT_FALSE(find_machine("/nowhere/machine.json", &problem));
  EXPECT_NE(problem.find("can't be read"), std::string::npos);
}

// A machine file of one's own, in a folder that no test of another process writes to.
class OwnFile : public ::testing::Test {
 protected:
  OwnFile() {
    std::string pattern = ::testing::TempDir() + "lockstep-machine-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
  }
  ~OwnFile() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) const {
    const std::string path = folder_ / "machine.json";
    std::ofstream(path) << text;
    return path;
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(OwnFile, MayUseAKnownGpuAndPlainNumbers) {
  const std::string path = write(R"({"describe": "mine", "gpus": 2, "gpu": "t4", "nccl": "pcie",
    "host": {"launch_us": 4, "call_us": 1, "copy_gb_s": 5},
    "links": {"host": {"alpha_us": 8, "gb_s": 12}, "peer": {"alpha_us": 9, "gb_s": 10}}})");
  std::string problem;
  const auto machine = find_machine(path, &problem);
  ASSERT_TRUE(machine) << problem;
  EXPECT_EQ(machine->gpus, 2);
  EXPECT_EQ(machine->gpu_name, "Virtual T4");
  EXPECT_EQ(machine->ring_gb_s, 10);
}

TEST_F(OwnFile, AMissingFigureIsNamed) {
  std::string problem;
  EXPECT_FALSE(
      find_machine(write(R"({"gpus": 1, "gpu": "t4", "nccl": "pcie", "links": {"host": {"alpha_us": 8, "gb_s": 12}}})"), &problem));
  EXPECT_NE(problem.find("host.launch_us"), std::string::npos) << problem;
  EXPECT_FALSE(find_machine(write("{ not json"), &problem));
  EXPECT_NE(problem.find("not a machine"), std::string::npos) << problem;
  EXPECT_FALSE(find_machine(write(R"({"gpus": 1, "gpu": "t5"})"), &problem));
  EXPECT_NE(problem.find("t5"), std::string::npos) << problem;
}

TEST_F(OwnFile, AFigureThatCannotBeIsNamed) {
  const auto refusal = [&](const std::string& peer, const std::string& more = "") {
    std::string problem;
    EXPECT_FALSE(find_machine(
        write(
            R"({"gpus": 2, "gpu": "t4", "nccl": "pcie", "host": {"launch_us": 4, "call_us": 1, "copy_gb_s": 5}, "links": {"host": {"alpha_us": 8, "gb_s": 12}, "peer": )" +
            peer + "}" + more + "}"),
        &problem));
    return problem;
  };
  EXPECT_EQ(refusal(R"({"alpha_us": 9, "gb_s": -10})"), "not a machine: \"links.peer.gb_s\" is negative");
  EXPECT_EQ(refusal(R"({"alpha_us": 9, "gb_s": 0})"), "not a machine: \"links.peer.gb_s\" is 0");
  EXPECT_EQ(refusal(R"({"alpha_us": 9, "gb_s": "fast"})"), "not a machine: \"links.peer.gb_s\" is not a number");
  EXPECT_EQ(refusal(R"({"alpha_us": 9})"), "not a machine: \"links.peer.gb_s\" is missing");
  EXPECT_EQ(refusal(R"({"alpha_us": 9, "gb_s": 10, "nccl_ramp_us": -1})"), "not a machine: \"links.peer.nccl_ramp_us\" is negative");
  EXPECT_EQ(refusal(R"({"alpha_us": 9, "gb_s": 10})", R"(, "bus": {"pass_gb_s": -1})"),
            "not a machine: \"nccl.bus.pass_gb_s\" is negative");
  EXPECT_EQ(refusal(R"({"alpha_us": 9, "gb_s": 10})", R"(, "gpus": 2.5)"), "not a machine: \"gpus\" is not a whole number up to 1000000");
  EXPECT_EQ(refusal(R"({"alpha_us": 9, "gb_s": 10})", R"(, "nodes": 1e12)"), "not a machine: \"nodes\" is from 1 to 65536");
  for (const char* links : {"3", "[[0, 1]]", "[[0, 1], [2, 0]]", "[[1, 1], [1, 0]]", R"([[0, "x"], [1, 0]])", "[[0, -1], [-1, 0]]"})
    EXPECT_EQ(refusal(R"({"alpha_us": 9, "gb_s": 10, "nvlinks": )" + std::string(links) + "}"),
              "not a machine: \"links.peer.nvlinks\" is not a symmetric table of 2 x 2 numbers of links")
        << links;
}

TEST_F(OwnFile, FiguresOfWarpsAreCompleteOrNotThere) {
  const auto problem_of = [&](const std::string& warps) {
    std::string problem;
    EXPECT_FALSE(find_machine(write(R"({"like": "t4", "gpu": {"like": "gpu-t4", "warps": )" + warps + "}}"), &problem)) << warps;
    return problem;
  };
  EXPECT_NE(problem_of(R"({"registers": null})").find("gpu.warps.registers"), std::string::npos);
  EXPECT_NE(problem_of(R"({"l1_bytes_a_cycle": -64})").find("\"gpu.warps.l1_bytes_a_cycle\" is negative"), std::string::npos);
  EXPECT_NE(problem_of(R"({"lanes": {"fp64": 0}})").find("\"gpu.warps.lanes.fp64\" is 0"), std::string::npos);
  EXPECT_NE(problem_of(R"({"latency_cycles": {"l2": "short"}})").find("gpu.warps.latency_cycles.l2"), std::string::npos);
}

TEST_F(OwnFile, MayBeLikeAKnownMachine) {
  std::string problem;
  const auto machine = find_machine(write(R"({"like": "a100x8", "gpus": 4, "gpu": "a100-80gb", "host": {"launch_us": 2}})"), &problem);
  ASSERT_TRUE(machine) << problem;
  const Machine known = *find_machine("a100x8");
  EXPECT_EQ(machine->gpus, 4);
  EXPECT_EQ(machine->launch_us, 2);
  EXPECT_EQ(machine->call_us, known.call_us);
  EXPECT_EQ(machine->nccl_base_us, known.nccl_base_us);
  EXPECT_GT(machine->memory_gb_s, known.memory_gb_s);
  EXPECT_EQ(machine->multiprocessors, known.multiprocessors);
  EXPECT_FALSE(find_machine(write(R"({"like": "a100x9"})"), &problem));
  EXPECT_EQ(problem, "not a machine: there is no machine \"a100x9\" that it could be like");
}

TEST_F(OwnFile, OneGpuMayBeSlow) {
  std::string problem;
  const auto machine = find_machine(write(R"({"like": "4xt4", "slow": {"gpu": 2, "kernels": 2.5, "link": 4}})"), &problem);
  ASSERT_TRUE(machine) << problem;
  Timeline timeline;
  const Hardware hardware(*machine, timeline, 4);
  const auto kernel = [&](int device) { return hardware.kernel(device, Kind::streaming, Arithmetic::fp32, 0, 1e9).body; };
  const auto copy = [&](int from, int to) { return hardware.copy(to == kHost ? from : to, from, to, 1e9).body; };
  EXPECT_EQ(kernel(2), 2.5 * kernel(1));
  EXPECT_EQ(copy(1, 2), 4 * copy(1, 3));
  EXPECT_EQ(copy(2, 0), 4 * copy(1, 0));
  EXPECT_EQ(copy(kHost, 2), 4 * copy(kHost, 0));
  EXPECT_FALSE(find_machine(write(R"({"like": "4xt4", "slow": {"gpu": 4, "kernels": 2}})"), &problem));
  EXPECT_EQ(problem, "not a machine: \"slow.gpu\" is not one of 4 GPUs");
  EXPECT_FALSE(find_machine(write(R"({"like": "4xt4", "slow": {"gpu": 1, "link": 0.5}})"), &problem));
  EXPECT_EQ(problem, "not a machine: \"slow\" says how many times as long: at least 1");
}

TEST(Roofline, AKernelIsBoundByWhatTakesLonger) {
  const Machine machine = *find_machine("t4");
  Timeline timeline;
  const Hardware hardware(machine, timeline, 1);
  const Efficiency& streaming = machine.efficiency[static_cast<std::size_t>(Kind::streaming)];
  const Task copy = hardware.kernel(0, Kind::streaming, Arithmetic::fp32, 0, 1e9);
  EXPECT_NEAR(copy.body, 1e9 / (machine.memory_gb_s * 1e9 * streaming.memory) * kPicoseconds, 1);
  const Efficiency& product = machine.efficiency[static_cast<std::size_t>(Kind::matmul)];
  const Task matmul = hardware.kernel(0, Kind::matmul, Arithmetic::fp32, 1e12, 1e6);
  EXPECT_NEAR(matmul.body, 1e12 / (machine.peak_tflops[0] * 1e12 * product.compute[0]) * kPicoseconds, 1);
  EXPECT_EQ(matmul.demands[0].share, 1);
  EXPECT_LT(matmul.demands[1].share, 0.1);
  EXPECT_LT(hardware.kernel(0, Kind::matmul, Arithmetic::fp16, 1e12, 1e6).body, matmul.body);
}

TEST(Roofline, KernelsAreOfTheKindTheirNamesSay) {
  EXPECT_EQ(kind_of_kernel("depthwise_forward"), Kind::depthwise);
  EXPECT_EQ(kind_of_kernel("embedding_forward"), Kind::gather);
  EXPECT_EQ(kind_of_kernel("adam"), Kind::streaming);
}

TEST(Links, TwoCopiesToOneGpuShareItsLink) {
  const Machine machine = *find_machine("4xt4");
  const auto copies = [&](int to_second) {
    Timeline timeline;
    const Hardware hardware(machine, timeline, 4);
    timeline.append_at(timeline.add_lane(), hardware.copy(0, 0, 1, 1e9), 0);
    timeline.append_at(timeline.add_lane(), hardware.copy(2, 2, to_second, 1e9), 0);
    timeline.run();
    return static_cast<double>(timeline.now());
  };
  EXPECT_GT(copies(1), 1.5 * copies(3));
}

TEST(Links, OneEngineDoesOneCopyAtATime) {
  const Machine machine = *find_machine("h100x8");
  Timeline timeline;
  const Hardware hardware(machine, timeline, 1);
  const Task copy = hardware.copy(0, kHost, 0, 1e8);
  for (int i = 0; i < 2; ++i) timeline.append_at(timeline.add_lane(), copy, 0);
  timeline.run();
  EXPECT_NEAR(static_cast<double>(timeline.now()), 2 * (static_cast<double>(copy.fixed) + copy.body), 10);
}

}  // namespace
}  // namespace lockstep::clock
