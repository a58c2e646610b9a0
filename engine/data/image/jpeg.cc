// JPEG by libjpeg(-turbo), with the choices TensorFlow makes: the fast integer transform, smooth upsampling of colours, CMYK
// converted here because libjpeg does not.
//
// libjpeg reports a fatal fault by a function that must not return. Ours jumps back to where decoding began (longjmp), which is only
// allowed where no C++ object would be skipped: so everything between setjmp and the jump is plain data owned by the caller.
#include <csetjmp>
#include <cstdio>  // jpeglib.h wants FILE before it

#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>

#include "engine/data/image/image.h"

namespace lockstep {
namespace {

// A progressive JPEG may repeat scans without end, each of which costs a pass over the whole picture.
constexpr int kMostScans = 500;
constexpr int kMessage = JMSG_LENGTH_MAX;

struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf back{};
  char message[kMessage] = "";
  const char* fault = nullptr;  // ours, instead of libjpeg's message
  bool created = false;

  Decoder() = default;
  ~Decoder() {
    if (created) jpeg_destroy_decompress(&info);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
};

Decoder& decoder_of(j_common_ptr info) { return *static_cast<Decoder*>(info->client_data); }

[[noreturn]] void leave(j_common_ptr info) {
  Decoder& decoder = decoder_of(info);
  if (decoder.fault == nullptr) info->err->format_message(info, decoder.message);
  std::longjmp(decoder.back, 1);
}

[[noreturn]] void leave_with(j_common_ptr info, const char* fault) {
  decoder_of(info).fault = fault;
  leave(info);
}

// Warnings (level -1) are counted and otherwise ignored, as TensorFlow does: half of the odd photos of this world have some. But what
// ends too early would be half grey.
void hear(j_common_ptr info, int level) {
  if (level >= 0) return;
  ++info->err->num_warnings;
  if (info->err->msg_code == JWRN_JPEG_EOF) leave_with(info, "truncated");
}

void watch_scans(j_common_ptr info) {
  if (info->is_decompressor && reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans)
    leave_with(info, "it has more than 500 scans");
}

// Inverted CMYK, as Adobe writes it, or plain; TensorFlow's formulas.
void cmyk_to_rgb(const std::uint8_t* from, int pixels, bool inverted, std::uint8_t* to) {
  for (int i = 0; i < pixels; ++i, from += 4, to += 3) {
    for (int c = 0; c < 3; ++c) {
      const int ink = inverted ? from[c] : 255 - from[c];
      const int black = inverted ? from[3] : 255 - from[3];
      to[c] = static_cast<std::uint8_t>(black * ink / 255);
    }
  }
}

// Until the header is read: the size is known then, and the caller makes room.
bool begin(Decoder& decoder, const std::uint8_t* bytes, std::size_t count) {
  jpeg_decompress_struct& info = decoder.info;
  if (setjmp(decoder.back) != 0) return false;  // NOLINT(cert-err52-cpp): libjpeg's way
  jpeg_create_decompress(&info);
  decoder.created = true;
  info.client_data = &decoder;
  info.progress = &decoder.progress;
  decoder.progress.progress_monitor = watch_scans;
  jpeg_mem_src(&info, const_cast<std::uint8_t*>(bytes), static_cast<unsigned long>(count));
  jpeg_read_header(&info, TRUE);
  return true;
}

// `row` has room for one row of four channels; `pixels` for the picture.
bool finish(Decoder& decoder, std::uint8_t* row, std::uint8_t* pixels) {
  jpeg_decompress_struct& info = decoder.info;
  if (setjmp(decoder.back) != 0) return false;  // NOLINT(cert-err52-cpp)
  const bool cmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  info.dct_method = JDCT_IFAST;
  info.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW to = cmyk ? row : pixels + std::size_t{info.output_scanline} * info.output_width * 3;
    const JDIMENSION line = info.output_scanline;
    if (jpeg_read_scanlines(&info, &to, 1) != 1) leave_with(reinterpret_cast<j_common_ptr>(&info), "truncated");
    if (cmyk)
      cmyk_to_rgb(row, static_cast<int>(info.output_width), info.saw_Adobe_marker != 0, pixels + std::size_t{line} * info.output_width * 3);
  }
  // What follows the last row is no part of the picture: jpeg_finish_decompress is not called.
  return true;
}

[[noreturn]] void give_up(const Decoder& decoder) {
  throw Error("a damaged JPEG: " + std::string(decoder.fault != nullptr ? decoder.fault : decoder.message));
}

}  // namespace

Image decode_jpeg(const std::uint8_t* bytes, std::size_t count) {
  Decoder decoder;
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.info.client_data = &decoder;
  decoder.errors.error_exit = leave;
  decoder.errors.emit_message = hear;
  if (!begin(decoder, bytes, count)) give_up(decoder);
  Image image = make_image("JPEG", decoder.info.image_height, decoder.info.image_width);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(image.width) * 4);
  if (!finish(decoder, row.data(), image.pixels.data())) give_up(decoder);
  return image;
}

}  // namespace lockstep
