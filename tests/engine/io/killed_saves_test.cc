// SIGKILL at random moments of a save loop: the file always loads, old or new, never half of either.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "tests/engine/io/support.h"

namespace lockstep {
namespace {

constexpr int kKills = 200;

using Clock = std::chrono::steady_clock;

// A worker that saves to `file`, ended at some point of the save that follows `saves` of them.
void save_and_be_killed(const std::string& file, int first, int saves, double point) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const std::string number = std::to_string(first);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(LOCKSTEP_SAVE_WORKER, "save_worker", file.c_str(), number.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  Clock::time_point last = Clock::now(), before = last;
  for (int i = 0; i < saves; ++i) {
    char done = 0;
    EXPECT_EQ(read(ends[0], &done, 1), 1) << "the worker ended by itself";
    before = std::exchange(last, Clock::now());
  }
  std::this_thread::sleep_for((last - before) * point);
  close(ends[0]);
  kill(pid, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status));
}

// All weights of a file are one number: -1 when they are not.
float number_in(const std::string& file) {
  const Model model = OneDeviceStrategy().scope([&] { return load_model(file); });
  std::set<float> numbers;
  for (const NamedArray& w : model.get_weights()) numbers.insert(w.values.data<float>(), w.values.data<float>() + w.values.size());
  return numbers.size() == 1 ? *numbers.begin() : -1;
}

// Files that a killed save of this one left behind.
std::size_t unfinished(const std::string& file) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(file).parent_path()))
    count += entry.path().string().rfind(file + ".unfinished-", 0) == 0 ? 1 : 0;
  return count;
}

TEST(KilledSaves, TheFileAlwaysLoadsOldOrNew) {
  const io_test::Folder folder;
  std::mt19937 random(20);
  std::uniform_int_distribution<int> saves(2, 4);  // the time of the last of them says how long one takes
  std::uniform_real_distribution<double> point(0, 1);
  float before = 0;
  std::size_t in_the_middle = 0;
  for (int i = 0; i < kKills; ++i) {
    const std::string file = folder.file(i % 2 == 0 ? "model.keras" : "model.h5");
    const int first = 1000 * (i + 1);
    const int done = saves(random);
    ASSERT_NO_FATAL_FAILURE(save_and_be_killed(file, first, done, point(random)));
    const std::size_t left = unfinished(file);
    in_the_middle += left;
    EXPECT_LE(left, 1U) << "kill " << i << ": a save removes what a killed one left";
    float found = 0;
    ASSERT_NO_THROW(found = number_in(file)) << "kill " << i;
    EXPECT_GE(found, static_cast<float>(first + done - 1)) << "kill " << i << ": a save that had returned is lost";
    EXPECT_LT(found, static_cast<float>(first + 1000)) << "kill " << i;
    EXPECT_GT(found, before);
    before = found;
  }
  std::printf("%d kills, %zu in the middle of a write, by the files they left behind\n", kKills, in_the_middle);
  EXPECT_GT(in_the_middle, 0U);
}

}  // namespace
}  // namespace lockstep
