// The types that PTX' instructions are written with, and how wide they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep::ptx {

enum class Type : std::uint8_t { pred, b8, b16, b32, b64, u8, u16, u32, u64, s8, s16, s32, s64, f16, bf16, f16x2, bf16x2, f32, f64 };

// "s32" is Type::s32; nothing for a word that is no type.
std::optional<Type> type_named(std::string_view name);
std::string_view name_of(Type type);

// Bytes of one value. A predicate has none: 32 lanes share a word of bits.
int bytes_of(Type type);
bool is_floating(Type type);

// Memory as PTX tells it apart. `generic` is an address that says by itself which one it means.
enum class Space : std::uint8_t { none, generic, global, shared, local, constant, param };
std::optional<Space> space_named(std::string_view name);
std::string_view name_of(Space space);

}  // namespace lockstep::ptx
