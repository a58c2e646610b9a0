// A numpy array of lists as Python pickles it, and reuters.npz made of it.
#pragma once

#include <string>
#include <vector>

#include "lockstep/sequences.h"
#include "tests/engine/data/support/tiny_files.h"

namespace lockstep::testing {

// Protocol 2, in the way of numpy: an empty array is made and then given its state.
inline std::string pickled(const Sequences& lists) {
  const auto number = [](std::int32_t n) {
    std::string text = "J";
    for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>((static_cast<std::uint32_t>(n) >> shift) & 0xff);
    return text;
  };
  const auto unicode = [](const std::string& text) {
    return std::string("X") + static_cast<char>(text.size()) + std::string(3, '\0') + text;
  };
  std::string p = "\x80\x02";
  p += "cnumpy.core.multiarray\n_reconstruct\nq";
  p += std::string(1, '\0') + "cnumpy\nndarray\nq\x01" + "K" + std::string(1, '\0') + "\x85q\x02";
  p += "c_codecs\nencode\nq\x03" + unicode("b") + unicode("latin1") + "\x86q\x06Rq\x07\x87q\x08Rq\x09";
  p += "(K\x01" + number(static_cast<std::int32_t>(lists.size())) + "\x85" + "cnumpy\ndtype\n" + unicode("O8") + "\x89\x88\x87R";
  p += "(K\x03" + unicode("|") + "NNN" + number(-1) + number(-1) + "K?tb\x89]q\x11(";
  for (const auto& list : lists) {
    p += "]q\x12";
    if (list.size() == 1) {
      p += number(list[0]) + "a";
    } else if (!list.empty()) {
      p += "(";
      for (const std::int32_t n : list) p += n >= 0 && n < 256 ? std::string("K") + static_cast<char>(n) : number(n);
      p += "e";
    }
  }
  return p + "etb.";
}

inline Bytes npy_of_lists(const std::string& pickle, std::size_t count) {
  return npy_bytes("|O", "(" + std::to_string(count) + ",)", Bytes(pickle.begin(), pickle.end()));
}

}  // namespace lockstep::testing
