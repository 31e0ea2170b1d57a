// Elements in C, which have the numbers of ONNX.
#include "dequant/element.h"

#include <algorithm>
#include <array>

#include "c_api/boundary.h"
#include "c_api/element.h"

namespace dequant::c_api {
namespace {

constexpr std::array kOnnxNumbers{
#define DEQUANT_ELEMENT(name, bits, kind, exponent, mantissa, bias, specials, onnx) onnx,
#include "dequant/elements.def"
#undef DEQUANT_ELEMENT
};

struct Named {
  Element element;
  dequant_element number;
};

using enum Element;

// The enumerators of dequant.h with their elements.
constexpr std::array kNamed{
    Named{float32, DEQUANT_FLOAT32},
    Named{uint8, DEQUANT_UINT8},
    Named{int8, DEQUANT_INT8},
    Named{uint16, DEQUANT_UINT16},
    Named{int16, DEQUANT_INT16},
    Named{int32, DEQUANT_INT32},
    Named{float16, DEQUANT_FLOAT16},
    Named{uint32, DEQUANT_UINT32},
    Named{bfloat16, DEQUANT_BFLOAT16},
    Named{float8e4m3fn, DEQUANT_FLOAT8E4M3FN},
    Named{float8e4m3fnuz, DEQUANT_FLOAT8E4M3FNUZ},
    Named{float8e5m2, DEQUANT_FLOAT8E5M2},
    Named{float8e5m2fnuz, DEQUANT_FLOAT8E5M2FNUZ},
    Named{uint4, DEQUANT_UINT4},
    Named{int4, DEQUANT_INT4},
    Named{float4e2m1, DEQUANT_FLOAT4E2M1},
    Named{float8e8m0, DEQUANT_FLOAT8E8M0},
    Named{uint2, DEQUANT_UINT2},
    Named{int2, DEQUANT_INT2},
    Named{float6e2m3, DEQUANT_FLOAT6E2M3},
    Named{float6e3m2, DEQUANT_FLOAT6E3M2},
};

/// True if every element of elements.def has exactly one enumerator, with its number there, and
/// none has the number 0, which means "no element".
constexpr bool names_every_element() {
  if (kNamed.size() != kOnnxNumbers.size()) return false;
  for (size_t i = 0; i < kOnnxNumbers.size(); ++i) {
    const auto row = std::find_if(kNamed.begin(), kNamed.end(), [&](const Named& n) {
      return static_cast<size_t>(n.element) == i;
    });
    if (row == kNamed.end() || row->number != kOnnxNumbers[i] || row->number == 0) return false;
  }
  return true;
}
static_assert(names_every_element(), "dequant_element and elements.def disagree");

}  // namespace

std::optional<Element> to_element(const dequant_element& field) noexcept {
  return element_from_onnx(number_of(field));
}

dequant_element to_c(Element element) noexcept {
  return static_cast<dequant_element>(onnx_code(element));
}

}  // namespace dequant::c_api

// Names are literals of elements.def, so a NUL follows each.
const char* dequant_element_name(dequant_element element) {
  const auto known = dequant::c_api::to_element(element);
  return known ? dequant::name(*known).data() : nullptr;
}

dequant_element dequant_element_from_name(const char* name) {
  if (name == nullptr) return DEQUANT_NO_ELEMENT;
  const auto element = dequant::element_from_name(name);
  return element ? dequant::c_api::to_c(*element) : DEQUANT_NO_ELEMENT;
}

int dequant_element_bits(dequant_element element) {
  const auto known = dequant::c_api::to_element(element);
  return known ? dequant::bits(*known) : 0;
}
