// The host of TensorFlow: closed forms of its costs, the shipped measurement, and files that are none.
#include "simulator/clock/framework_host.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>

namespace lockstep::clock {
namespace {

Machine machine_with(double speed, double launch_us) {
  Machine machine = *find_machine("4xt4");
  machine.host_speed = speed;
  machine.launch_us = launch_us;
  return machine;
}

FrameworkHost round_numbers() {
  FrameworkHost host;
  host.step_us = 100;
  host.op_us = 2;
  host.replica_us = 30;
  host.merge_us = 5;
  host.programs["p"] = {.ops_alone = 50, .ops_each = 60, .variables = 4};
  return host;
}

TEST(FrameworkHost, OneDeviceHasNoReplicasAndMergesNothing) {
  const HostTime time = host_time(round_numbers(), "p", 1, machine_with(1, 3));
  EXPECT_DOUBLE_EQ(time.fixed_us, 100);
  EXPECT_DOUBLE_EQ(time.dispatch_us, 50 * (2 + 3));
}

TEST(FrameworkHost, ReplicasAreDispatchedOneAfterAnotherAndEachVariableIsMergedOnEach) {
  for (const int replicas : {2, 3, 8}) {
    const HostTime time = host_time(round_numbers(), "p", replicas, machine_with(1, 3));
    EXPECT_DOUBLE_EQ(time.fixed_us, 100 + 30 * replicas);
    EXPECT_DOUBLE_EQ(time.dispatch_us, 60 * replicas * (2 + 3) + 4 * replicas * (5 + 3));
  }
}

TEST(FrameworkHost, ASlowerHostTakesLongerForAllButTheLaunches) {
  const HostTime fast = host_time(round_numbers(), "p", 2, machine_with(1, 3)),
                 slow = host_time(round_numbers(), "p", 2, machine_with(0.5, 3));
  EXPECT_DOUBLE_EQ(slow.fixed_us, 2 * fast.fixed_us);
  EXPECT_DOUBLE_EQ(slow.dispatch_us - fast.dispatch_us, 120 * 2 + 8 * 5);
}

TEST(FrameworkHost, GpusWorkBesideTheDispatchAndNotBesideTheRest) {
  const HostTime time{.fixed_us = 100, .dispatch_us = 250};
  EXPECT_DOUBLE_EQ(time.step_us(0), 350);
  EXPECT_DOUBLE_EQ(time.step_us(250), 350);
  EXPECT_DOUBLE_EQ(time.step_us(1000), 1100);
}

TEST(FrameworkHost, WhatIsNotKnownIsSaid) {
  const auto why = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(why([] { host_time(round_numbers(), "q", 2, machine_with(1, 3)); }).find("\"q\""), std::string::npos);
  EXPECT_NE(why([] { host_time(round_numbers(), "p", 2, machine_with(0, 3)); }).find("host.speed"), std::string::npos);
  const auto file = [&](const std::string& costs, const std::string& more) {
    return why([&] { parse_framework_host(R"({"costs": )" + costs + more + "}"); });
  };
  const std::string measured = R"(, "measured": {"tensorflow": "1", "cpu": "x", "date": "y", "made_by": "z"})";
  const std::string rest = measured + R"(, "programs": {}, "rows": [])";
  const std::string costs = R"({"step_us": 1, "op_us": 1, "replica_us": 1, "merge_us": 1})";
  EXPECT_EQ(file(costs, rest), "");
  EXPECT_EQ(file("{", ""), "not costs of a framework's host: it is not JSON");
  EXPECT_EQ(file("[]", rest), "not costs of a framework's host: \"step_us\" is missing");
  EXPECT_EQ(file(R"({"step_us": "fast"})", rest), "not costs of a framework's host: \"step_us\" is not a number");
  EXPECT_EQ(file(R"({"step_us": -1})", rest), "not costs of a framework's host: \"step_us\" is negative");
  EXPECT_EQ(file(costs, ""), "not costs of a framework's host: \"measured\" is missing");
  EXPECT_EQ(file(costs, measured + R"(, "programs": {"p": {"ops_alone": 3}}, "rows": [])"),
            "not costs of a framework's host: \"ops_each\" is missing");
  EXPECT_EQ(file(costs, measured + R"(, "programs": {}, "rows": [{"program": 3}])"),
            "not costs of a framework's host: \"program\" is not a text");
}

// What the file says of the measured steps; its costs are those with the least squares of relative errors, so no other costs are better.
double squares(const FrameworkHost& host) {
  double sum = 0;
  for (const FrameworkHost::Measured& row : host.rows) {
    if (row.fitted) sum += std::pow(host.modelled_us(row) / row.us - 1, 2);
  }
  return sum;
}

TEST(TensorflowHost, TheCostsAreTheFitOfTheMeasuredSteps) {
  const FrameworkHost& host = tensorflow_host();
  EXPECT_GE(host.rows.size(), 24U);
  for (double FrameworkHost::*cost :
       {&FrameworkHost::step_us, &FrameworkHost::op_us, &FrameworkHost::replica_us, &FrameworkHost::merge_us}) {
    EXPECT_GT(host.*cost, 0);
    for (const double factor : {0.97, 1.03}) {
      FrameworkHost other = host;
      other.*cost *= factor;
      EXPECT_GT(squares(other), squares(host)) << factor;
    }
  }
}

TEST(TensorflowHost, TheReferenceProgramsWereCounted) {
  for (const char* name : {"mnist", "reuters", "cats-vs-dogs"}) {
    const auto found = tensorflow_host().programs.find(name);
    ASSERT_NE(found, tensorflow_host().programs.end()) << name;
    const FrameworkHost::Program& program = found->second;
    EXPECT_GT(program.ops_alone, 10 * program.variables) << name;  // Adam alone has more
    EXPECT_GE(program.ops(2), 2 * program.ops_alone) << name;
    EXPECT_GT(program.ops(4), 1.8 * program.ops(2)) << name;
  }
  EXPECT_EQ(tensorflow_host().programs.at("mnist").variables, 6);
  EXPECT_EQ(tensorflow_host().programs.at("reuters").variables, 7);
}

}  // namespace
}  // namespace lockstep::clock
