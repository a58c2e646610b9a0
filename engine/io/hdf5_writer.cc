#include "engine/io/hdf5_file.h"

#include <hdf5.h>

#include <algorithm>
#include <mutex>

#include "lockstep/error.h"

namespace lockstep::hdf5 {
namespace {

constexpr std::size_t kGrowth = 1 << 20;
constexpr std::size_t kLargestTextList = 64512;  // Keras' limit for an attribute that stands in an object's header

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
