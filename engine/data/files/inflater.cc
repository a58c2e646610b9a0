#include "engine/data/files/inflater.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace lockstep {

struct Inflater::State {
  z_stream stream{};
  bool ended = false;
  std::array<unsigned char, 65536> input{};

  explicit State(int window_bits) { ready = inflateInit2(&stream, window_bits) == Z_OK; }
  ~State() {
    if (ready) inflateEnd(&stream);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  bool ready = false;
};

Inflater::Inflater(InputFile& file, std::uint64_t offset, std::uint64_t compressed, Format format)
    : file_(file),
      offset_(offset),
      left_(compressed),
      format_(format),
      state_(std::make_unique<State>(format == Format::gzip ? 16 + MAX_WBITS : -MAX_WBITS)) {
  if (!state_->ready) file_.fail("zlib could not be started");
}

Inflater::~Inflater() = default;

// As much of `bytes` as there is; fewer only at the end of the compressed stream.
std::size_t Inflater::inflate_some(unsigned char* to, std::size_t bytes) {
  z_stream& stream = state_->stream;
  std::size_t done = 0;
  while (done < bytes && !state_->ended) {
    if (stream.avail_in == 0 && left_ > 0) {
      const auto chunk = static_cast<std::size_t>(std::min<std::uint64_t>(left_, state_->input.size()));
      file_.read_at(offset_, state_->input.data(), chunk);
      offset_ += chunk;
      left_ -= chunk;
      stream.next_in = state_->input.data();
      stream.avail_in = static_cast<uInt>(chunk);
    }
    const auto room = static_cast<uInt>(std::min<std::size_t>(bytes - done, std::numeric_limits<int>::max()));
    stream.next_out = to + done;
    stream.avail_out = room;
    const uInt input_before = stream.avail_in;
    const int status = inflate(&stream, Z_NO_FLUSH);
    done += room - stream.avail_out;
    if (status == Z_STREAM_END) {
      state_->ended = true;
    } else if (status == Z_BUF_ERROR || (status == Z_OK && stream.avail_out == room && stream.avail_in == input_before)) {
      file_.fail("truncated: its compressed data stop in the middle");
    } else if (status != Z_OK) {
      file_.fail(std::string("its compressed data are damaged (zlib: ") + (stream.msg ? stream.msg : zError(status)) + ")");
    }
  }
  return done;
}

void Inflater::read(void* to, std::size_t bytes) {
  const std::size_t got = inflate_some(static_cast<unsigned char*>(to), bytes);
  if (got != bytes) {
    file_.fail("too short: its compressed data end " + std::to_string(bytes - got) + " bytes before the size claimed in its header");
  }
}

void Inflater::expect_end() {
  unsigned char surplus = 0;
  if (inflate_some(&surplus, 1) != 0) file_.fail("too long: it holds more data than the size claimed in its header");
  if (state_->stream.avail_in != 0 || left_ != 0) file_.fail("there are bytes behind the end of its compressed data");
}

}  // namespace lockstep
