// A model of DequantizeLinear nodes, byte by byte.
#pragma once

#include <string>

#include "dequant/element.h"
#include "message.h"

namespace dequant::testing {

inline std::string tensor_message(std::string_view name, Element element, int64_t size,
                                  std::string_view raw) {
  return num(1, size) + num(2, onnx_code(element)) + sub(8, name) + sub(9, raw);
}

/// int8 codes 0, 1, 2, ... as "x", a scale of 0.5 as "s" and y = x / 2; nodes "dq0", "dq1", ...
/// with outputs "y0", "y1", ... The codes are raw, or, `typed`, a field of numbers.
inline std::string quantized_model(int64_t size, int nodes = 1, bool typed = false) {
  std::string codes;
  for (int64_t i = 0; i < size; ++i) codes += static_cast<char>(i % 100);
  std::string graph = sub(2, "g");
  for (int i = 0; i < nodes; ++i) {
    const std::string n = std::to_string(i);
    graph += sub(1, sub(1, "x") + sub(1, "s") + sub(2, "y" + n) + sub(3, "dq" + n) +
                        sub(4, "DequantizeLinear"));
  }
  graph +=
      sub(5, typed ? num(1, size) + num(2, onnx_code(Element::int8)) + sub(8, "x") + sub(5, codes)
                   : tensor_message("x", Element::int8, size, codes));
  const float half = 0.5F;
  graph += sub(5, num(2, onnx_code(Element::float32)) + sub(8, "s") +
                      sub(9, {reinterpret_cast<const char*>(&half), sizeof half}));
  return num(1, 10) + sub(7, graph) + sub(8, num(2, 21));
}

}  // namespace dequant::testing
