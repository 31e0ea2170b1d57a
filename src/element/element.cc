// The public functions of elements: lookups in the element list.
#include "dequant/element.h"

#include <array>

#include "element/codes.h"
#include "element/traits.h"

namespace dequant {
namespace {

constexpr std::array kElements{
#define DEQUANT_ELEMENT(name, ...) Element::name,
#include "dequant/elements.def"
#undef DEQUANT_ELEMENT
};

}  // namespace

std::span<const Element> elements() noexcept { return kElements; }

std::string_view name(Element element) noexcept { return traits(element).name; }

std::optional<Element> element_from_name(std::string_view name) noexcept {
  for (const Element e : kElements) {
    if (traits(e).name == name) return e;
  }
  return std::nullopt;
}

int bits(Element element) noexcept { return traits(element).format.bits; }

Kind kind(Element element) noexcept { return traits(element).kind; }

int onnx_code(Element element) noexcept { return traits(element).onnx_code; }

std::optional<Element> element_from_onnx(int64_t code) noexcept {
  for (const Element e : kElements) {
    if (code != 0 && traits(e).onnx_code == code) return e;
  }
  return std::nullopt;
}

double value_of(Element element, uint32_t code) noexcept {
  if (kind(element) == Kind::floating) return float_value(element, code);
  return static_cast<double>(integer_value(element, code));
}

bool is_output(Element element) noexcept {
  return element == Element::float32 || element == Element::float16 || element == Element::bfloat16;
}

bool is_input(Element element) noexcept {
  return !is_output(element) && element != Element::float8e8m0;
}

}  // namespace dequant
