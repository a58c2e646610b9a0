// HDF5 files in memory: groups, datasets of numbers, attributes of text. Written by the HDF5 library, whose messages are silenced; read
// by a reader of our own, because the library corrupts memory on damaged files. A file is read and written whole: saving is atomic, and a
// member of a ".keras" archive is no special case.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/atomic_file.h"
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
  Reader(std::string name, Bytes image);

  bool has_group(const std::string& path) const;
  bool has_dataset(const std::string& path) const;
  std::vector<std::string> members(const std::string& group) const;
  Numbers read(const std::string& path) const;
  std::string text(const std::string& group, const std::string& attribute) const;  // empty when there is none
  // Keras' lists of names; one too long for an attribute is cut into <attribute>0, <attribute>1, ... Empty when there is none.
  std::vector<std::string> texts(const std::string& group, const std::string& attribute) const;

  [[noreturn]] void fail(const std::string& fault) const;  // Error("<name>: <fault>")

 private:
  class Span;
  struct Message;
  struct Kind;
  using Members = std::map<std::string, std::uint64_t>;  // name to the address of an object's header

  std::vector<Message> messages(std::uint64_t header) const;
  const Members& group(std::uint64_t header) const;
  std::uint64_t find(const std::string& path) const;
  bool holds(const std::string& path, int message_type) const;
  std::vector<std::uint64_t> extents(const Span& space) const;
  Kind kind(const Span& type) const;
  std::string heap_text(std::uint64_t collection, std::uint32_t index, std::uint32_t length) const;
  std::vector<std::string> attribute(const std::string& group, const std::string& attribute) const;

  std::string name_;
  Bytes image_;
  std::uint64_t root_ = 0;
  mutable std::map<std::uint64_t, Members> groups_;  // those that were looked into
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
