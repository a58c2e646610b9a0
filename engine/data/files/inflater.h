// Compressed bytes of a file, inflated piece by piece as they are asked for and never further: a small file that inflates to
// terabytes costs what its reader asks for.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/data/files/input_file.h"

namespace lockstep {

class Inflater {
 public:
  enum class Format { gzip, deflate };  // deflate: bare, as zip files hold it

  // The bytes [offset, offset + compressed) of the file, which must outlive this.
  Inflater(InputFile& file, std::uint64_t offset, std::uint64_t compressed, Format format);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void read(void* to, std::size_t bytes);  // exactly that many, or an Error
  void expect_end();                       // nothing more must come; checks gzip's own checksum

  // No deflate stream grows by more than this (zlib's FAQ: 1032 to 1).
  static std::uint64_t largest_output(std::uint64_t compressed) { return compressed > UINT64_MAX / 1032 ? UINT64_MAX : compressed * 1032; }

 private:
  struct State;
  std::size_t inflate_some(unsigned char* to, std::size_t bytes);

  InputFile& file_;
  std::uint64_t offset_;
  std::uint64_t left_;
  Format format_;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
