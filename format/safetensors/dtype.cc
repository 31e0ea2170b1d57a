// The types of tensors in safetensors files.
#include "format/safetensors/dtype.h"

#include <algorithm>
#include <array>

#include "format/io/errors.h"

namespace dequant::format::safetensors {
namespace {

constexpr std::array kTypes{
    DType{"BOOL", 8, {}},
    DType{"F4", 4, Element::float4e2m1},
    DType{"F6_E2M3", 6, Element::float6e2m3},
    DType{"F6_E3M2", 6, Element::float6e3m2},
    DType{"U8", 8, Element::uint8},
    DType{"I8", 8, Element::int8},
    DType{"F8_E5M2", 8, Element::float8e5m2},
    DType{"F8_E4M3", 8, Element::float8e4m3fn},
    DType{"F8_E8M0", 8, Element::float8e8m0},
    DType{"F8_E4M3FNUZ", 8, Element::float8e4m3fnuz},
    DType{"F8_E5M2FNUZ", 8, Element::float8e5m2fnuz},
    DType{"I16", 16, Element::int16},
    DType{"U16", 16, Element::uint16},
    DType{"F16", 16, Element::float16},
    DType{"BF16", 16, Element::bfloat16},
    DType{"I32", 32, Element::int32},
    DType{"U32", 32, Element::uint32},
    DType{"F32", 32, Element::float32},
    DType{"C64", 64, {}},  // two float32
    DType{"F64", 64, {}},
    DType{"I64", 64, {}},
    DType{"U64", 64, {}},
};

}  // namespace

std::span<const DType> dtypes() { return kTypes; }

const DType* find_dtype(std::string_view name) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const DType& dtype) { return dtype.name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

const DType* dtype_of(Element element) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const DType& dtype) { return dtype.element == element; });
  return found == kTypes.end() ? nullptr : &*found;
}

Result<int64_t> bytes_of(const DType& dtype, Shape shape) {
  DEQUANT_TRY(const int64_t count, element_count(shape));
  const int64_t rest_bits = count % 8 * dtype.bits;
  if (rest_bits % 8 != 0) {
    return failure(ErrorCode::invalid_argument, "{} values of {} bits end within a byte", count,
                   dtype.bits);
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count / 8, int64_t{dtype.bits}, &bytes) ||
      __builtin_add_overflow(bytes, rest_bits / 8, &bytes)) {
    return failure(ErrorCode::invalid_argument,
                   "{} values of {} bits take more than 2^63 - 1 bytes", count, dtype.bits);
  }
  return bytes;
}

}  // namespace dequant::format::safetensors
