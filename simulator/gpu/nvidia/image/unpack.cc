#include "simulator/gpu/nvidia/image/unpack.h"

#include <dlfcn.h>

#include <cstdint>

#include "simulator/gpu/ptx/error.h"

namespace lockstep::nvidia {

namespace {

using ptx::Error;

[[noreturn]] void damaged(const char* kind) {
  throw Error(std::string("The fat binary is damaged: an entry that is compressed with ") + kind + " can't be decompressed.");
}

// https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md: literals, then a match of at least 4 bytes, again and again; literals end
// it.
std::string unpack_lz4(std::span<const std::byte> packed, std::size_t bytes) {
  constexpr std::size_t kMostGrowth = 255;  // an additional byte of a length stands for 255 bytes
  if (bytes / kMostGrowth > packed.size()) damaged("LZ4");
  std::string out;
  out.reserve(bytes);
  std::size_t at = 0;
  const auto next = [&]() -> std::size_t {
    if (at >= packed.size()) damaged("LZ4");
    return std::to_integer<std::size_t>(packed[at++]);
  };
  const auto length = [&](std::size_t nibble) {
    std::size_t n = nibble;
    for (std::size_t more = nibble == 15 ? 255 : 0; more == 255;) n += more = next();
    return n;
  };
  while (at < packed.size()) {
    const std::size_t token = next();
    const std::size_t literals = length(token >> 4);
    if (literals > packed.size() - at || literals > bytes - out.size()) damaged("LZ4");
    out.append(reinterpret_cast<const char*>(packed.data()) + at, literals);
    at += literals;
    if (at == packed.size()) break;
    const std::size_t low = next(), distance = low | next() << 8;
    const std::size_t match = length(token & 15) + 4;
    if (distance == 0 || distance > out.size() || match > bytes - out.size()) damaged("LZ4");
    for (std::size_t i = 0; i < match; ++i) out.push_back(out[out.size() - distance]);
  }
  if (out.size() != bytes) damaged("LZ4");
  return out;
}

// The functions of libzstd that are used, with its signatures.
struct Zstd {
  std::size_t (*decompress)(void* to, std::size_t capacity, const void* from, std::size_t bytes) = nullptr;
  unsigned long long (*content_size)(const void* from, std::size_t bytes) = nullptr;

  Zstd() {
    void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    decompress = reinterpret_cast<decltype(decompress)>(dlsym(library, "ZSTD_decompress"));
    content_size = reinterpret_cast<decltype(content_size)>(dlsym(library, "ZSTD_getFrameContentSize"));
  }
};

std::string unpack_zstd(std::span<const std::byte> packed, std::size_t bytes) {
  static const Zstd zstd;
  if (zstd.decompress == nullptr || zstd.content_size == nullptr) {
    throw Error(
        "The PTX is compressed with zstd, and libzstd.so.1 can't be loaded. Fix: install libzstd1, or compile with nvcc "
        "-compress-mode speed.");
  }
  if (zstd.content_size(packed.data(), packed.size()) != bytes) damaged("zstd");
  std::string out(bytes, '\0');
  if (zstd.decompress(out.data(), out.size(), packed.data(), packed.size()) != bytes) damaged("zstd");
  return out;
}

}  // namespace

std::string unpack(Packing packing, std::span<const std::byte> packed, std::size_t bytes) {
  switch (packing) {
    case Packing::lz4:
      return unpack_lz4(packed, bytes);
    case Packing::zstd:
      return unpack_zstd(packed, bytes);
    case Packing::plain:
      break;
  }
  return {reinterpret_cast<const char*>(packed.data()), packed.size()};
}

}  // namespace lockstep::nvidia
