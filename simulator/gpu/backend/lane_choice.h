// Which of a few candidates won, in each lane of a vector, and what can be done with that: max pooling and its gradient in registers.
//
// The CUDA twin of this header has the same names.
#pragma once

#include <cstdint>

#include <backend/lanes.h>

namespace lockstep {

// The number of the candidate that won, or -1 for none.
template <int Width>
struct LaneChoice;

#if defined(__AVX512F__)

inline Lanes<16> relu(Lanes<16> a) { return {_mm512_max_ps(_mm512_setzero_ps(), a.v)}; }

// Bytes in registers too: comparisons give masks, which fit either.
template <>
struct LaneChoice<16> {
  __m128i v;
  static LaneChoice first() { return {_mm_setzero_si128()}; }
  static LaneChoice load(const std::uint8_t* from) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))}; }
  void store(std::uint8_t* to) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), v); }
};

inline void challenge(Lanes<16>& best, LaneChoice<16>& choice, Lanes<16> candidate, int number) {
  const __mmask16 larger = _mm512_cmp_ps_mask(candidate.v, best.v, _CMP_GT_OQ);
  const __mmask16 wins = _kor_mask16(larger, _mm512_cmp_ps_mask(candidate.v, candidate.v, _CMP_UNORD_Q));
  best.v = _mm512_mask_mov_ps(best.v, wins, candidate.v);
  choice.v = _mm_mask_mov_epi8(choice.v, wins, _mm_set1_epi8(static_cast<char>(number)));
}
inline LaneChoice<16> where_positive(LaneChoice<16> choice, Lanes<16> value) {
  const __mmask16 positive = _mm512_cmp_ps_mask(value.v, _mm512_setzero_ps(), _CMP_GT_OQ);
  return {_mm_mask_mov_epi8(_mm_set1_epi8(-1), positive, choice.v)};
}
inline Lanes<16> where_chosen(LaneChoice<16> choice, int number, Lanes<16> value) {
  return {_mm512_maskz_mov_ps(_mm_cmpeq_epi8_mask(choice.v, _mm_set1_epi8(static_cast<char>(number))), value.v)};
}
inline Lanes<16> where_any(LaneChoice<16> choice, Lanes<16> value) {
  return {_mm512_maskz_mov_ps(_mm_cmpneq_epi8_mask(choice.v, _mm_set1_epi8(-1)), value.v)};
}

#endif

#if defined(__AVX2__) && defined(__FMA__)

// A ReLU; a NaN stays one.
inline Lanes<8> relu(Lanes<8> a) { return {_mm256_max_ps(_mm256_setzero_ps(), a.v)}; }

template <>
struct LaneChoice<8> {
  __m256i v;
  static LaneChoice first() { return {_mm256_setzero_si256()}; }
  // Bytes; -1 becomes 255.
  static LaneChoice load(const std::uint8_t* from) {
    return {_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)))};
  }
  void store(std::uint8_t* to) const {
    const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(halves, halves));
  }
};

// best = candidate where that is larger or NaN.
inline void challenge(Lanes<8>& best, LaneChoice<8>& choice, Lanes<8> candidate, int number) {
  const __m256 wins = _mm256_or_ps(_mm256_cmp_ps(candidate.v, best.v, _CMP_GT_OQ), _mm256_cmp_ps(candidate.v, candidate.v, _CMP_UNORD_Q));
  best.v = _mm256_blendv_ps(best.v, candidate.v, wins);
  choice.v = _mm256_blendv_epi8(choice.v, _mm256_set1_epi32(number), _mm256_castps_si256(wins));
}
// None where the value is not above zero.
inline LaneChoice<8> where_positive(LaneChoice<8> choice, Lanes<8> value) {
  const __m256 positive = _mm256_cmp_ps(value.v, _mm256_setzero_ps(), _CMP_GT_OQ);
  return {_mm256_blendv_epi8(_mm256_set1_epi32(-1), choice.v, _mm256_castps_si256(positive))};
}
// value where `number` was chosen, else 0.
inline Lanes<8> where_chosen(LaneChoice<8> choice, int number, Lanes<8> value) {
  return {_mm256_and_ps(value.v, _mm256_castsi256_ps(_mm256_cmpeq_epi32(choice.v, _mm256_set1_epi32(number))))};
}

// value where any was chosen, else 0. The choice was loaded, so none is 255.
inline Lanes<8> where_any(LaneChoice<8> choice, Lanes<8> value) {
  return {_mm256_andnot_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(choice.v, _mm256_set1_epi32(255))), value.v)};
}

#else

inline Lanes<8> relu(Lanes<8> a) {
  for (float& lane : a.v) lane = lane < 0.0F ? 0.0F : lane;
  return a;
}

template <>
struct LaneChoice<8> {
  std::int32_t v[8];
  static LaneChoice first() { return {}; }
  static LaneChoice load(const std::uint8_t* from) {
    LaneChoice choice;
    for (int i = 0; i < 8; ++i) choice.v[i] = from[i];
    return choice;
  }
  void store(std::uint8_t* to) const {
    for (int i = 0; i < 8; ++i) to[i] = static_cast<std::uint8_t>(v[i]);
  }
};

inline void challenge(Lanes<8>& best, LaneChoice<8>& choice, Lanes<8> candidate, int number) {
  for (int i = 0; i < 8; ++i) {
    const bool wins = candidate.v[i] > best.v[i] || candidate.v[i] != candidate.v[i];
    best.v[i] = wins ? candidate.v[i] : best.v[i];
    choice.v[i] = wins ? number : choice.v[i];
  }
}
inline LaneChoice<8> where_positive(LaneChoice<8> choice, Lanes<8> value) {
  for (int i = 0; i < 8; ++i) choice.v[i] = value.v[i] > 0.0F ? choice.v[i] : -1;
  return choice;
}
inline Lanes<8> where_chosen(LaneChoice<8> choice, int number, Lanes<8> value) {
  for (int i = 0; i < 8; ++i) value.v[i] = choice.v[i] == number ? value.v[i] : 0.0F;
  return value;
}

inline Lanes<8> where_any(LaneChoice<8> choice, Lanes<8> value) {
  for (int i = 0; i < 8; ++i) value.v[i] = choice.v[i] == 255 ? 0.0F : value.v[i];
  return value;
}

#endif

}  // namespace lockstep
