// Model files for the tests of libdequant_model, byte for byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "format/gguf/bytes.h"
#include "format/npy/scratch.h"
#include "format/onnx/quantized_model.h"

namespace dequant::testing {

template <class T>
std::string bytes_of(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

/// "q", Q8_0 of shape [rows, 32] with the codes 0, 1, 2, ... in each row and a scale of 0.5, then
/// "f", float32 1, -2.5, 1 + 2^-12, infinity of shape [4].
inline std::string gguf_model(uint64_t rows) {
  const GgufBytes b;
  std::string data;
  for (uint64_t r = 0; r < rows; ++r) {
    data += b.number(0x3800, 2);  // 0.5 as float16
    for (int i = 0; i < 32; ++i) data += static_cast<char>(i);
  }
  data = GgufBytes::padded(data);
  const uint64_t offset = data.size();
  data += b.u32(0x3f800000) + b.u32(0xc0200000) + b.u32(0x3f800800) + b.u32(0x7f800000);
  constexpr uint32_t kQ8_0 = 8;
  return GgufBytes::padded(b.head(2, 0) + b.tensor("q", {32, rows}, kQ8_0, 0) +
                           b.tensor("f", {4}, kGgufF32, offset)) +
         GgufBytes::padded(data);
}

/// The floats of "q".
inline std::vector<float> gguf_floats(uint64_t rows) {
  std::vector<float> out;
  for (uint64_t i = 0; i < rows * 32; ++i) out.push_back(0.5F * static_cast<float>(i % 32));
  return out;
}

/// A DequantizeLinear "dq0" of the int8 tensor "x" to "y0", whose scale the graph is given: "x"
/// cannot become floats.
inline std::string onnx_model_with_an_input() {
  const std::string graph =
      sub(1,
          sub(1, "x") + sub(1, "s") + sub(2, "y0") + sub(3, "dq0") + sub(4, "DequantizeLinear")) +
      sub(2, "g") + sub(5, tensor_message("x", Element::int8, 3, "abc")) + sub(11, sub(1, "s"));
  return num(1, 10) + sub(7, graph) + sub(8, num(2, 21));
}

}  // namespace dequant::testing
