#include "hdf5_file.h"

#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "input_file.h"
#include "lockstep/error.h"

namespace lockstep::hdf5 {
namespace {

constexpr std::size_t kGrowth = 1 << 20;
constexpr std::size_t kLargestText = 64 << 20;   // of an attribute: a model's configuration
constexpr std::size_t kLargestTextList = 64512;  // Keras' limit for an attribute that stands in an object's header
constexpr int kDeepest = 16;                     // axes of a dataset

// The library as Debian builds it is not made for threads, and prints its errors unless told not to.
std::unique_lock<std::recursive_mutex> library() {
  static std::recursive_mutex mutex;
  std::unique_lock lock(mutex);
  static const bool silent = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  static_cast<void>(silent);
  return lock;
}

template <herr_t (*close)(hid_t)>
Handle handle(hid_t id) {
  return Handle(id, [](Id held) -> int {
    const auto lock = library();
    return close(static_cast<hid_t>(held));
  });
}

void require(bool works, const char* what) {
  if (!works) throw Error(std::string("HDF5: ") + what);
}

Handle memory_driver() {
  Handle access = handle<H5Pclose>(H5Pcreate(H5P_FILE_ACCESS));
  require(access.valid() && H5Pset_fapl_core(access.get(), kGrowth, 0) >= 0, "no memory for a file");
  return access;
}

Handle text_type() {
  Handle type = handle<H5Tclose>(H5Tcopy(H5T_C_S1));
  require(type.valid() && H5Tset_size(type.get(), H5T_VARIABLE) >= 0 && H5Tset_cset(type.get(), H5T_CSET_UTF8) >= 0, "no text type");
  return type;
}

}  // namespace

Reader::Reader(std::string name, const Bytes& image) : name_(std::move(name)), bytes_(image.size()) {
  const auto lock = library();
  const Handle access = memory_driver();
  // The library copies the image; it does not write to what it is given.
  void* start = const_cast<unsigned char*>(image.data());
  if (image.empty() || H5Pset_file_image(access.get(), start, image.size()) < 0) fail("is empty");
  file_ = handle<H5Fclose>(H5Fopen("lockstep-image", H5F_ACC_RDONLY, access.get()));
  if (!file_.valid()) fail("is not an HDF5 file, or it is damaged");
}

void Reader::fail(const std::string& fault) const { throw Error(name_ + ": " + fault); }

// Every group on the way is looked at by itself: the library answers only for the last part of a path.
bool Reader::exists(const std::string& path, int kind) const {
  const auto lock = library();
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (H5Lexists(file_.get(), part.c_str(), H5P_DEFAULT) <= 0) return false;
    const Handle object = handle<H5Oclose>(H5Oopen(file_.get(), part.c_str(), H5P_DEFAULT));
    if (!object.valid()) return false;
    const H5I_type_t found = H5Iget_type(object.get());
    if (found != (end == std::string::npos ? static_cast<H5I_type_t>(kind) : H5I_GROUP)) return false;
  }
  return true;
}

bool Reader::has_group(const std::string& path) const { return exists(path, H5I_GROUP); }
bool Reader::has_dataset(const std::string& path) const { return exists(path, H5I_DATASET); }

std::vector<std::string> Reader::members(const std::string& group) const {
  const auto lock = library();
  std::vector<std::string> names;
  if (!has_group(group)) return names;
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
  };
  if (H5Literate_by_name(file_.get(), group.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names, H5P_DEFAULT) < 0)
    fail("its group \"" + group + "\" is damaged");
  return names;
}

Numbers Reader::read(const std::string& path) const {
  const auto lock = library();
  const std::string title = "its dataset \"" + path + "\"";
  if (!has_dataset(path)) fail("has no dataset \"" + path + "\"");
  const Handle data = handle<H5Dclose>(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT));
  if (!data.valid()) fail(title + " is damaged");
  const Handle space = handle<H5Sclose>(H5Dget_space(data.get()));
  const Handle type = handle<H5Tclose>(H5Dget_type(data.get()));
  const int rank = space.valid() ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (rank < 0 || rank > kDeepest || !type.valid()) fail(title + " is damaged");
  const Handle layout = handle<H5Pclose>(H5Dget_create_plist(data.get()));
  const bool compressed = layout.valid() && H5Pget_nfilters(layout.get()) > 0;

  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  if (rank > 0) H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  const std::uint64_t limit = std::min<std::uint64_t>(kLargestArrayBytes, compressed ? kLargestArrayBytes : bytes_);
  const std::size_t width = H5Tget_size(type.get());
  const std::uint64_t count = product_up_to(limit, std::vector<std::uint64_t>(extents.begin(), extents.end()));
  // What a file claims must be in it, before anything is allocated for it.
  if (width == 0 || width > 8 || count > limit / width) fail(title + " claims more numbers than the file has");
  if (!compressed && count > 0 && H5Dget_storage_size(data.get()) < count * width) fail(title + " is not all there");

  Numbers numbers;
  numbers.shape = Shape(std::vector<std::int64_t>(extents.begin(), extents.end()));
  const H5T_class_t kind = H5Tget_class(type.get());
  herr_t status = 0;
  if (kind == H5T_FLOAT) {
    numbers.floats.resize(static_cast<std::size_t>(count));
    status = H5Dread(data.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.floats.data());
  } else if (kind == H5T_INTEGER) {
    numbers.whole = true;
    numbers.integers.resize(static_cast<std::size_t>(count));
    status = H5Dread(data.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.integers.data());
  } else {
    fail(title + " holds no numbers");
  }
  if (status < 0) fail(title + " can't be read: the file is damaged");
  return numbers;
}

std::vector<std::string> Reader::attribute(const std::string& group, const std::string& attribute) const {
  const auto lock = library();
  std::vector<std::string> texts;
  const std::string where = group.empty() ? "." : group;
  if (!group.empty() && !has_group(group)) return texts;
  if (H5Aexists_by_name(file_.get(), where.c_str(), attribute.c_str(), H5P_DEFAULT) <= 0) return texts;
  const std::string damaged = "its attribute \"" + attribute + "\" is damaged";
  const Handle held = handle<H5Aclose>(H5Aopen_by_name(file_.get(), where.c_str(), attribute.c_str(), H5P_DEFAULT, H5P_DEFAULT));
  if (!held.valid()) fail(damaged);
  const Handle type = handle<H5Tclose>(H5Aget_type(held.get()));
  const Handle space = handle<H5Sclose>(H5Aget_space(held.get()));
  const hssize_t points = space.valid() ? H5Sget_simple_extent_npoints(space.get()) : -1;
  if (!type.valid() || points < 0 || static_cast<std::uint64_t>(points) > bytes_) fail(damaged);
  // numpy writes an empty list of names as an empty list of floats.
  if (points == 0) return texts;
  if (H5Tget_class(type.get()) != H5T_STRING) fail("its attribute \"" + attribute + "\" holds no text");
  const auto count = static_cast<std::size_t>(points);
  if (H5Tis_variable_str(type.get()) > 0) {
    std::vector<char*> pointers(count, nullptr);
    const Handle memory = handle<H5Tclose>(H5Tcopy(type.get()));
    const bool read = H5Aread(held.get(), memory.get(), pointers.data()) >= 0;
    for (char* text : pointers) texts.emplace_back(text != nullptr ? text : "");
    for (char* text : pointers)
      if (text != nullptr) H5free_memory(text);
    if (!read) fail(damaged);
  } else {
    const std::size_t width = H5Tget_size(type.get());
    if (width == 0 || width > kLargestText || count > kLargestText / width) fail(damaged);
    std::vector<char> buffer(count * width);
    if (H5Aread(held.get(), type.get(), buffer.data()) < 0) fail(damaged);
    for (std::size_t i = 0; i < count; ++i) texts.emplace_back(&buffer[i * width], strnlen(&buffer[i * width], width));
  }
  return texts;
}

std::string Reader::text(const std::string& group, const std::string& name) const {
  const std::vector<std::string> found = attribute(group, name);
  return found.empty() ? std::string() : found.front();
}

std::vector<std::string> Reader::texts(const std::string& group, const std::string& name) const {
  std::vector<std::string> all = attribute(group, name);
  for (int piece = 0; all.empty() || piece > 0; ++piece) {
    const std::vector<std::string> more = attribute(group, name + std::to_string(piece));
    if (more.empty()) break;
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

Writer::Writer() {
  const auto lock = library();
  const Handle access = memory_driver();
  file_ = handle<H5Fclose>(H5Fcreate("lockstep-image", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
  require(file_.valid(), "a file in memory can't be made");
}

void Writer::group(const std::string& path) {
  const auto lock = library();
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (H5Lexists(file_.get(), part.c_str(), H5P_DEFAULT) > 0) continue;
    require(handle<H5Gclose>(H5Gcreate2(file_.get(), part.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)).valid(),
            "a group can't be made");
  }
}

void Writer::dataset(const std::string& path, const Shape& shape, Id stored, Id given, const void* values) {
  const auto lock = library();
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos) group(path.substr(0, slash));
  const std::vector<hsize_t> extents(shape.extents().begin(), shape.extents().end());
  const Handle space = handle<H5Sclose>(extents.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(shape.rank(), extents.data(), nullptr));
  const Handle data = handle<H5Dclose>(H5Dcreate2(file_.get(), path.c_str(), stored, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  require(data.valid(), "a dataset can't be made");
  if (shape.size() > 0) require(H5Dwrite(data.get(), given, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0, "a dataset can't be written");
}

void Writer::write(const std::string& path, const Array& values) {
  const auto lock = library();
  const bool floats = values.dtype() == DType::float32;
  dataset(path, values.shape(), floats ? H5T_IEEE_F32LE : H5T_STD_I32LE, floats ? H5T_NATIVE_FLOAT : H5T_NATIVE_INT32, values.raw());
}

void Writer::write_scalar(const std::string& path, float value) {
  const auto lock = library();
  dataset(path, Shape(), H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, &value);
}

void Writer::write_scalar(const std::string& path, std::int64_t value) {
  const auto lock = library();
  dataset(path, Shape(), H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

void Writer::write_words(const std::string& path, const std::vector<std::uint32_t>& values) {
  const auto lock = library();
  dataset(path, Shape{static_cast<std::int64_t>(values.size())}, H5T_STD_U32LE, H5T_NATIVE_UINT32, values.data());
}

void Writer::text(const std::string& group, const std::string& attribute, const std::string& value) {
  const auto lock = library();
  const Handle type = text_type();
  const Handle space = handle<H5Sclose>(H5Screate(H5S_SCALAR));
  const Handle where = handle<H5Oclose>(H5Oopen(file_.get(), group.empty() ? "." : group.c_str(), H5P_DEFAULT));
  require(where.valid(), "there is no such group");
  const Handle made = handle<H5Aclose>(H5Acreate2(where.get(), attribute.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  const char* pointer = value.c_str();
  require(made.valid() && H5Awrite(made.get(), type.get(), &pointer) >= 0, "an attribute can't be written");
}

void Writer::texts(const std::string& group, const std::string& attribute, const std::vector<std::string>& values) {
  const auto lock = library();
  const Handle type = text_type();
  const Handle where = handle<H5Oclose>(H5Oopen(file_.get(), group.c_str(), H5P_DEFAULT));
  require(where.valid(), "there is no such group");
  // A name of variable length takes 16 bytes in the attribute itself.
  constexpr std::size_t kReference = 16;
  const std::size_t piece = kLargestTextList / kReference;
  const bool cut = values.size() > piece;
  for (std::size_t first = 0, k = 0; first == 0 || first < values.size(); first += piece, ++k) {
    const hsize_t count = std::min(piece, values.size() - first);
    std::vector<const char*> pointers;
    for (std::size_t i = 0; i < count; ++i) pointers.push_back(values[first + i].c_str());
    const std::string name = cut ? attribute + std::to_string(k) : attribute;
    // h5py reads an empty list back only where it is one of numbers, as numpy makes it.
    const Id stored = values.empty() ? H5T_IEEE_F64LE : type.get();
    const Handle space = handle<H5Sclose>(H5Screate_simple(1, &count, nullptr));
    const Handle made = handle<H5Aclose>(H5Acreate2(where.get(), name.c_str(), stored, space.get(), H5P_DEFAULT, H5P_DEFAULT));
    require(made.valid(), "an attribute can't be made");
    if (count > 0) require(H5Awrite(made.get(), type.get(), pointers.data()) >= 0, "an attribute can't be written");
  }
}

Bytes Writer::finish() {
  const auto lock = library();
  require(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL) >= 0, "a file can't be finished");
  const ssize_t size = H5Fget_file_image(file_.get(), nullptr, 0);
  require(size > 0, "a file can't be finished");
  Bytes image(static_cast<std::size_t>(size));
  require(H5Fget_file_image(file_.get(), image.data(), image.size()) == size, "a file can't be finished");
  return image;
}

}  // namespace lockstep::hdf5
