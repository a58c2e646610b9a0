#include "tests/engine/data/support/tiny_files.h"

#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace lockstep::testing {

namespace fs = std::filesystem;

TempFolder::TempFolder() {
  std::string pattern = (fs::temp_directory_path() / "lockstep-test-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path TempFolder::write(const std::string& name, const Bytes& contents) const {
  const fs::path path = path_ / name;
  fs::create_directories(path.parent_path());
  fs::remove(path);  // ext4 writes a file to the disk at once when it was truncated, not when it is new: hundreds of times slower
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(contents.data()), static_cast<std::streamsize>(contents.size()));
  return path;
}

Environment::Environment(std::string name, const std::optional<std::string>& value) : name_(std::move(name)) {
  if (const char* before = std::getenv(name_.c_str())) before_ = before;
  if (value) {
    setenv(name_.c_str(), value->c_str(), 1);
  } else {
    unsetenv(name_.c_str());
  }
}

Environment::~Environment() {
  if (before_) {
    setenv(name_.c_str(), before_->c_str(), 1);
  } else {
    unsetenv(name_.c_str());
  }
}

namespace {

void put(Bytes& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<unsigned char>(value >> (8 * i)));
}
void put(Bytes& to, const std::string& text) { to.insert(to.end(), text.begin(), text.end()); }
void put(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

Bytes compress_with(const Bytes& contents, int window_bits) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::runtime_error("zlib");
  Bytes out(deflateBound(&stream, contents.size()) + 64);
  stream.next_in = const_cast<unsigned char*>(contents.data());
  stream.avail_in = static_cast<uInt>(contents.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("zlib");
  return out;
}

}  // namespace

Bytes idx_bytes(const std::vector<std::uint32_t>& extents, const Bytes& elements, unsigned char type) {
  Bytes file{0, 0, type, static_cast<unsigned char>(extents.size())};
  for (const std::uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<unsigned char>(extent >> shift));
  }
  put(file, elements);
  return file;
}

Bytes gzip(const Bytes& contents) { return compress_with(contents, 16 + MAX_WBITS); }

Bytes npy_bytes(const std::string& dtype, const std::string& shape, const Bytes& elements, bool fortran) {
  std::string header = "{'descr': '" + dtype + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  Bytes file{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  put(file, header.size(), 2);
  put(file, header);
  put(file, elements);
  return file;
}

Bytes zip_bytes(const std::vector<std::pair<std::string, Bytes>>& members, bool deflated, bool zip64) {
  Bytes file, directory;
  for (const auto& [name, contents] : members) {
    const std::uint64_t offset = file.size();
    const Bytes stored = deflated ? compress_with(contents, -MAX_WBITS) : contents;
    const std::uint32_t crc = static_cast<std::uint32_t>(crc32_z(0, contents.data(), contents.size()));
    const std::uint64_t sizes[] = {stored.size(), contents.size()};
    put(file, 0x04034b50, 4);
    put(file, 45, 2);
    put(file, 0, 2);
    put(file, deflated ? 8 : 0, 2);
    put(file, 0, 4);
    put(file, crc, 4);
    for (const std::uint64_t size : sizes) put(file, zip64 ? 0xffffffff : size, 4);
    put(file, name.size(), 2);
    put(file, zip64 ? 20 : 0, 2);
    put(file, name);
    if (zip64) {
      put(file, 1, 2);
      put(file, 16, 2);
      put(file, sizes[1], 8);
      put(file, sizes[0], 8);
    }
    put(file, stored);

    put(directory, 0x02014b50, 4);
    put(directory, 45, 2);
    put(directory, 45, 2);
    put(directory, 0, 2);
    put(directory, deflated ? 8 : 0, 2);
    put(directory, 0, 4);
    put(directory, crc, 4);
    for (const std::uint64_t size : sizes) put(directory, zip64 ? 0xffffffff : size, 4);
    put(directory, name.size(), 2);
    put(directory, zip64 ? 28 : 0, 2);
    put(directory, 0, 2);
    put(directory, 0, 2);
    put(directory, 0, 2);
    put(directory, 0, 4);
    put(directory, zip64 ? 0xffffffff : offset, 4);
    put(directory, name);
    if (zip64) {
      put(directory, 1, 2);
      put(directory, 24, 2);
      put(directory, sizes[1], 8);
      put(directory, sizes[0], 8);
      put(directory, offset, 8);
    }
  }
  const std::uint64_t directory_offset = file.size();
  put(file, directory);
  if (zip64) {
    const std::uint64_t record = file.size();
    put(file, 0x06064b50, 4);
    put(file, 44, 8);
    put(file, 45, 2);
    put(file, 45, 2);
    put(file, 0, 4);
    put(file, 0, 4);
    put(file, members.size(), 8);
    put(file, members.size(), 8);
    put(file, directory.size(), 8);
    put(file, directory_offset, 8);
    put(file, 0x07064b50, 4);
    put(file, 0, 4);
    put(file, record, 8);
    put(file, 1, 4);
  }
  put(file, 0x06054b50, 4);
  put(file, 0, 4);
  for (int i = 0; i < 2; ++i) put(file, zip64 ? 0xffff : members.size(), 2);
  put(file, zip64 ? 0xffffffff : directory.size(), 4);
  put(file, zip64 ? 0xffffffff : directory_offset, 4);
  put(file, 0, 2);
  return file;
}

namespace {

constexpr std::size_t kTrain = 6, kTest = 4, kPixels = 28 * 28;

Bytes images(std::size_t count) {
  Bytes pixels(count * kPixels);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<unsigned char>(i * 7 + i / 251);
  return pixels;
}
Bytes labels(std::size_t count, unsigned char mark) {
  Bytes all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<unsigned char>(i % 10);
  all[0] = mark;
  return all;
}

}  // namespace

void write_tiny_mnist(const TempFolder& folder, const std::string& below, unsigned char mark, bool compressed) {
  const auto write = [&](const std::string& name, const Bytes& contents) {
    folder.write(below + "/" + name + (compressed ? ".gz" : ""), compressed ? gzip(contents) : contents);
  };
  write("train-images-idx3-ubyte", idx_bytes({kTrain, 28, 28}, images(kTrain)));
  write("train-labels-idx1-ubyte", idx_bytes({kTrain}, labels(kTrain, mark)));
  write("t10k-images-idx3-ubyte", idx_bytes({kTest, 28, 28}, images(kTest)));
  write("t10k-labels-idx1-ubyte", idx_bytes({kTest}, labels(kTest, 1)));
}

void write_tiny_keras_mnist(const TempFolder& folder, const std::string& below, unsigned char mark) {
  folder.write(below + "/mnist.npz", zip_bytes({{"x_test.npy", npy_bytes("|u1", "(4, 28, 28)", images(kTest))},
                                                {"x_train.npy", npy_bytes("|u1", "(6, 28, 28)", images(kTrain))},
                                                {"y_train.npy", npy_bytes("|u1", "(6,)", labels(kTrain, mark))},
                                                {"y_test.npy", npy_bytes("|u1", "(4,)", labels(kTest, 1))}},
                                               true));
}

}  // namespace lockstep::testing
