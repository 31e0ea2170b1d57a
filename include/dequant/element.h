// Element types of tensors: their sizes, names and ONNX numbers, and the number that a code means.
// A code is the bits of one element as they are stored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "dequant/export.h"

namespace dequant {

/// All element types, with the names of the specifications: uint8, int4,
/// float8e4m3fn, ... The quantized types come first. float32, float16 and bfloat16 are types of
/// outputs and of scales; float8e8m0 is a type of scales only. elements.def lists all of them.
enum class Element : uint8_t {
#define DEQUANT_ELEMENT(name, ...) name,
#include "dequant/elements.def"
#undef DEQUANT_ELEMENT
};

/// How the bits of a code are read: as an unsigned integer, as a two's-complement integer, or as a
/// floating-point number.
enum class Kind : uint8_t { unsigned_integer, signed_integer, floating };

/// All elements, in the order of the enumeration. The span is valid until the process ends.
DEQUANT_EXPORT std::span<const Element> elements() noexcept;

/// The element's name as in the enumeration: "uint8", "float8e4m3fn", ... For a value outside of
/// the enumeration: "unknown". The text is valid until the process ends, and ends with a NUL.
DEQUANT_EXPORT std::string_view name(Element element) noexcept;

/// The element whose name() is `name`; nothing for any other text. Case matters.
DEQUANT_EXPORT std::optional<Element> element_from_name(std::string_view name) noexcept;

/// Bits of one element: 2, 4, 6, 8, 16 or 32; 0 of a number that is no element. Elements under 8
/// bits are packed, first element in the lowest bits, over the flattened row-major tensor; rows
/// need not start on a byte.
DEQUANT_EXPORT int bits(Element element) noexcept;

/// Whether the codes of an element are unsigned integers, signed integers or floats.
DEQUANT_EXPORT Kind kind(Element element) noexcept;

/// The number of the element in onnx.TensorProto.DataType, or 0 if ONNX has no such type.
DEQUANT_EXPORT int onnx_code(Element element) noexcept;

/// The element whose number in onnx.TensorProto.DataType is `code`; nothing if dequant does not
/// have that type (STRING, COMPLEX64, ...) or if ONNX has no such number.
DEQUANT_EXPORT std::optional<Element> element_from_onnx(int64_t code) noexcept;

/// The value of a code, exactly: every element fits in a double. `code` holds the
/// bits of the element, zero-extended; higher bits must be zero. Codes of NaN and of infinities
/// give NaN and infinities.
DEQUANT_EXPORT double value_of(Element element, uint32_t code) noexcept;

/// True for the types that dequantization writes: float32, float16 and bfloat16.
DEQUANT_EXPORT bool is_output(Element element) noexcept;

/// True for the types that dequantization reads as x: all but the three outputs and float8e8m0,
/// which is a type of scales only. `element` must be a value of the enumeration.
DEQUANT_EXPORT bool is_input(Element element) noexcept;

}  // namespace dequant
