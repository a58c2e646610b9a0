// What losses, metrics, optimizers and layers are in a program: a handle whose copies are the same object inside the library.
#pragma once

#include <memory>
#include <utility>

namespace lockstep {

template <typename Impl>
class Handle {
 public:
  const std::shared_ptr<Impl>& impl() const& { return impl_; }
  std::shared_ptr<Impl> impl() && { return std::move(impl_); }

 protected:
  explicit Handle(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  // A handle made by its constructor holds an object of that class and no other.
  template <typename Kind>
  Kind& as() const {
    return static_cast<Kind&>(*impl_);
  }
  std::shared_ptr<Impl> impl_;
};

}  // namespace lockstep
