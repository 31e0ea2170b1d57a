// Operations of WebNN: planned, judged by the words of the specification, run.
#include "dequant/webnn.h"

#include "fuzz/support/element.h"
#include "fuzz/support/every_way.h"
#include "fuzz/support/model.h"

namespace dequant::fuzz {
namespace {

using Dims = std::vector<int64_t>;
using enum Element;

struct Input {
  Dims input, scale, zero_point;
  webnn::DequantizeLinear node;
};

/// Scales whose dimensions divide those of input, as a rule.
Dims divisors(const Dims& input, Cursor& cursor) {
  Dims out = input;
  for (int64_t& d : out) {
    const int64_t blocks = cursor.integer(1, 4);
    if (blocks == 1) d = 1;
    if (blocks > 1 && d > 0 && d % blocks == 0) d /= blocks;
    if (cursor.rarely()) d = blocks;
  }
  return out;
}

Input read(Cursor& cursor) {
  Input in;
  in.input = cursor.shape(7);
  in.scale = cursor.rarely() ? cursor.shape(7) : divisors(in.input, cursor);
  in.zero_point = cursor.rarely() ? cursor.shape(7) : in.scale;
  const Element input = element(cursor, {uint8, int8, int32, uint32, int4, uint4});
  in.node.input = {input, in.input};
  in.node.scale = {element(cursor, {float32, float16}), in.scale};
  in.node.zero_point = {element(cursor, {input}), in.zero_point};
  return in;
}

/// What the specification asks for, and sizes in 64 bits.
bool legal(const Input& in) {
  const auto& n = in.node;
  const Element x = n.input.element;
  const Element s = n.scale.element;
  if (x != int8 && x != uint8 && x != int32 && x != uint32 && x != int4 && x != uint4) return false;
  if ((s != float32 && s != float16) || n.zero_point.element != x) return false;
  if (in.input.size() > 8 || in.scale.size() != in.input.size()) return false;
  if (in.zero_point != in.scale) return false;
  __extension__ using Wide = __int128;
  Wide count = 1;
  for (size_t d = 0; d < in.input.size(); ++d) {
    if (in.input[d] < 1 || in.scale[d] < 1 || in.input[d] % in.scale[d] != 0) return false;
    count *= in.input[d];
    if (count > INT64_MAX) return false;
  }
  return (count * std::max(bits(s), bits(x)) + 7) / 8 <= INT64_MAX;
}

void fuzz(Cursor cursor) {
  const Input in = read(cursor);
  const Result<Plan> made = planned([&] { return webnn::dequantize_linear(in.node); });
  require(static_cast<bool>(made) == legal(in),
          made ? "an illegal operation is accepted" : "a legal operation is refused");
  if (!made) return;
  const auto tensors = tensors_of(*made, cursor);
  if (!tensors) return;
  const auto y = run_several_ways(*made, *tensors, cursor);
  require(y.has_value(), "an operation is planned but does not run");
  check_model(*made, *tensors, *y, element_count(*made), [&](int64_t i) -> Offsets {
    Indices at = indices_of(i, in.input);
    for (size_t d = 0; d < in.input.size(); ++d) at[d] /= in.input[d] / in.scale[d];
    const int64_t param = index_of(at, in.scale);
    return {i, param, param, i};
  });
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dequant::fuzz::fuzz({data, size});
  return 0;
}
