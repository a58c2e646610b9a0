// HDF5 files in memory: groups, datasets of numbers, attributes of text. A thin, checked layer over the C library; its messages are
// silenced and every failure is a sentence with the file's name. A file is read and written whole, so that the library never touches a
// disk: saving is atomic and a member of a ".keras" archive is no special case.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "atomic_file.h"
#include "lockstep/array.h"

namespace lockstep::hdf5 {

using Id = std::int64_t;  // the library's hid_t

// Closes an identifier of the library.
class Handle {
 public:
  using Close = int (*)(Id);
  Handle() = default;
  Handle(Id id, Close close) : id_(id), close_(close) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, -1);
      close_ = other.close_;
    }
    return *this;
  }
  Id get() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  void reset() {
    if (id_ >= 0 && close_ != nullptr) close_(id_);
    id_ = -1;
  }
  Id id_ = -1;
  Close close_ = nullptr;
};

// A dataset's numbers: floats as float32, whole numbers as int64.
struct Numbers {
  Shape shape;
  bool whole = false;
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
  double scalar() const { return whole ? static_cast<double>(integers.at(0)) : static_cast<double>(floats.at(0)); }
};

// Paths are relative to the root: "layers/conv2d/vars/0". Reading what is not there is an Error, except where it says so.
class Reader {
 public:
  Reader(std::string name, const Bytes& image);

  bool has_group(const std::string& path) const;
  bool has_dataset(const std::string& path) const;
  std::vector<std::string> members(const std::string& group) const;
  Numbers read(const std::string& path) const;
  std::string text(const std::string& group, const std::string& attribute) const;  // empty when there is none
  // Keras' lists of names; one too long for an attribute is cut into <attribute>0, <attribute>1, ... Empty when there is none.
  std::vector<std::string> texts(const std::string& group, const std::string& attribute) const;

  [[noreturn]] void fail(const std::string& fault) const;  // Error("<name>: <fault>")

 private:
  bool exists(const std::string& path, int kind) const;
  std::vector<std::string> attribute(const std::string& group, const std::string& attribute) const;

  std::string name_;
  std::uint64_t bytes_ = 0;  // of the file: no dataset in it, none compressed, can hold more
  Handle file_;
};

class Writer {
 public:
  Writer();

  void group(const std::string& path);  // and those above it
  void write(const std::string& path, const Array& values);
  void write_scalar(const std::string& path, float value);
  void write_scalar(const std::string& path, std::int64_t value);
  void write_words(const std::string& path, const std::vector<std::uint32_t>& values);
  void text(const std::string& group, const std::string& attribute, const std::string& value);
  void texts(const std::string& group, const std::string& attribute, const std::vector<std::string>& values);
  Bytes finish();

 private:
  void dataset(const std::string& path, const Shape& shape, Id stored, Id given, const void* values);
  Handle file_;
};

}  // namespace lockstep::hdf5
