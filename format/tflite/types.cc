// The types of tensors in TFLite models.
#include "format/tflite/types.h"

#include <array>

namespace dequant::format::tflite {
namespace {

using enum Element;
using enum Meaning;

/// By their numbers. Biases of INT32 and INT64 have scales, too, although only the operators that
/// add them read these.
constexpr std::array<Type, 23> kTypes{{
    {"FLOAT32", 32, float32, "F32", none},
    {"FLOAT16", 16, float16, "F16", none},
    {"INT32", 32, int32, "I32", quantized},
    {"UINT8", 8, uint8, "U8", quantized},
    {"INT64", 64, {}, "I64", quantized},
    {"STRING", 0, {}, "", none},
    {"BOOL", 8, {}, "BOOL", none},
    {"INT16", 16, int16, "I16", quantized},
    {"COMPLEX64", 64, {}, "C64", none},
    {"INT8", 8, int8, "I8", quantized},
    {"FLOAT64", 64, {}, "F64", none},
    {"COMPLEX128", 128, {}, "", none},
    {"UINT64", 64, {}, "U64", undefined},
    {"RESOURCE", 0, {}, "", none},
    {"VARIANT", 0, {}, "", none},
    {"UINT32", 32, uint32, "U32", undefined},
    {"UINT16", 16, uint16, "U16", undefined},
    {"INT4", 4, int4, "", quantized},
    {"BFLOAT16", 16, bfloat16, "BF16", none},
    {"INT2", 2, int2, "", quantized},
    {"UINT4", 4, uint4, "", quantized},
    {"FLOAT8_E4M3FN", 8, float8e4m3fn, "F8_E4M3", undefined},
    {"FLOAT8_E5M2", 8, float8e5m2, "F8_E5M2", undefined},
}};

}  // namespace

const Type* find_type(uint8_t number) { return number < kTypes.size() ? &kTypes[number] : nullptr; }

}  // namespace dequant::format::tflite
