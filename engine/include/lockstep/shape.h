// Extents of an array, outermost first, as in numpy.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : extents_(extents) {}
  explicit Shape(std::vector<std::int64_t> extents) : extents_(std::move(extents)) {}

  int rank() const { return static_cast<int>(extents_.size()); }
  std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(axis < 0 ? axis + rank() : axis)]; }
  std::int64_t size() const {
    std::int64_t product = 1;
    for (std::int64_t extent : extents_) product *= extent;
    return product;
  }
  const std::vector<std::int64_t>& extents() const& { return extents_; }
  std::vector<std::int64_t> extents() && { return std::move(extents_); }

  // The same shape with one more extent in front: a sample's shape becomes a batch's.
  Shape batched(std::int64_t samples) const {
    std::vector<std::int64_t> extents{samples};
    extents.insert(extents.end(), extents_.begin(), extents_.end());
    return Shape(std::move(extents));
  }
  // Without the outermost extent: a batch's shape becomes a sample's.
  Shape sample() const { return Shape(std::vector<std::int64_t>(extents_.begin() + 1, extents_.end())); }

  std::string str() const {  // "(28, 28, 1)", as Python prints a tuple
    std::string text = "(";
    for (std::size_t i = 0; i < extents_.size(); ++i) text += (i ? ", " : "") + std::to_string(extents_[i]);
    return text + (extents_.size() == 1 ? ",)" : ")");
  }
  friend bool operator==(const Shape& a, const Shape& b) { return a.extents_ == b.extents_; }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

 private:
  std::vector<std::int64_t> extents_;
};

}  // namespace lockstep
