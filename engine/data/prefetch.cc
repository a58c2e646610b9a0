// Dataset::prefetch: a thread makes elements ahead of their use, so that data work overlaps with training. One thread and one
// queue: the order never changes. An exception of the steps before it comes out of `next`, after the elements made before it.
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/data/dataset_impl.h"

namespace lockstep {
namespace {

constexpr std::int64_t kChosenDepth = 2;  // one in use, one ready, one being made

class Prefetched : public BatchStream {
 public:
  Prefetched(std::unique_ptr<BatchStream> input, std::size_t depth)
      : input_(std::move(input)), depth_(depth), thread_([this] { produce(); }) {}

  ~Prefetched() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_one();
    thread_.join();
  }
  Prefetched(const Prefetched&) = delete;
  Prefetched& operator=(const Prefetched&) = delete;

  bool next(Batch& batch) override {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return !queue_.empty() || ended_; });
    if (queue_.empty()) {
      if (error_) std::rethrow_exception(error_);
      return false;
    }
    batch = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    room_.notify_one();
    return true;
  }

 private:
  void produce() {
    std::exception_ptr error;
    try {
      Batch batch;
      while (input_->next(batch)) {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [this] { return queue_.size() < depth_ || stopping_; });
        if (stopping_) return;
        queue_.push_back(std::exchange(batch, Batch()));
        lock.unlock();
        ready_.notify_one();
      }
    } catch (...) {
      error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      error_ = error;
      ended_ = true;
    }
    ready_.notify_one();
  }

  std::unique_ptr<BatchStream> input_;  // touched by the thread alone
  std::size_t depth_;
  std::mutex mutex_;
  std::condition_variable ready_, room_;
  std::deque<Batch> queue_;
  std::exception_ptr error_;
  bool ended_ = false;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

class Prefetch : public DatasetStep {
 public:
  Prefetch(DatasetPtr input, std::int64_t elements) : DatasetStep(std::move(input)), depth_(static_cast<std::size_t>(elements)) {}

  std::unique_ptr<BatchStream> batch_stream(std::int64_t epoch) const override {
    return std::make_unique<Prefetched>(input().batch_stream(epoch), depth_);
  }

 private:
  std::size_t depth_;
};

}  // namespace

DatasetPtr make_prefetch(DatasetPtr input, std::int64_t elements) {
  if (elements == 0) return input;
  return std::make_shared<Prefetch>(std::move(input), elements < 0 ? kChosenDepth : elements);
}

}  // namespace lockstep
