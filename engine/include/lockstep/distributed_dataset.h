// A dataset as the replicas of a strategy see it: every element holds one batch for each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "lockstep/dataset.h"
#include "lockstep/per_replica.h"

namespace lockstep {

// for (const PerReplica<Batch>& batch : distributed.epoch(0)) ...
class DistributedDataset {
 public:
  class Source {  // one run through an epoch
   public:
    virtual ~Source() = default;
    virtual bool next(PerReplica<Batch>& batch) = 0;
  };
  using Start = std::function<std::unique_ptr<Source>(std::int64_t epoch)>;

  DistributedDataset(Start start, std::int64_t cardinality) : start_(std::move(start)), cardinality_(cardinality) {}

  std::unique_ptr<Source> iterate(std::int64_t epoch = 0) const { return start_(epoch); }
  std::int64_t cardinality() const { return cardinality_; }  // global batches of an epoch; -1 when there is no end or it is not known

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = PerReplica<Batch>;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;

    Iterator() = default;
    explicit Iterator(std::shared_ptr<Source> source) : source_(std::move(source)) { ++*this; }
    reference operator*() const& { return batch_; }
    value_type operator*() && { return std::move(batch_); }
    pointer operator->() const { return &batch_; }
    Iterator& operator++() {
      if (!source_->next(batch_)) source_.reset();
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.source_ == b.source_; }
    friend bool operator!=(const Iterator& a, const Iterator& b) { return !(a == b); }

   private:
    std::shared_ptr<Source> source_;  // null at the end
    value_type batch_;
  };
  class Epoch {
   public:
    explicit Epoch(std::shared_ptr<Source> source) : source_(std::move(source)) {}
    Iterator begin() const { return Iterator(source_); }
    Iterator end() const { return {}; }

   private:
    std::shared_ptr<Source> source_;
  };
  Epoch epoch(std::int64_t number) const { return Epoch(start_(number)); }

 private:
  Start start_;
  std::int64_t cardinality_;
};

}  // namespace lockstep
