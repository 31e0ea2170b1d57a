// A program that is compiled with -fno-exceptions: it reads results without exceptions, and
// `value()` of an error ends it. With an argument it asks for such a value.
#include <dequant/model.h>
#include <dequant/dequant.hpp>

#include <cstdint>
#include <cstdio>
#include <span>

int main(int argc, char**) {
  const int8_t x[] = {-2, 0, 3};
  const float scale = 0.5F;
  const int64_t x_shape[] = {3};
  float y[3];
  dequant::onnx::DequantizeLinear node;
  node.opset = 21;
  node.x = {dequant::Element::int8, x_shape};
  node.x_scale = {dequant::Element::float32, {}};
  const auto plan = dequant::onnx::dequantize_linear(node);
  if (!plan) return std::puts(plan.error().message.c_str()), 1;
  const auto done = dequant::run(plan.value(), {std::as_bytes(std::span(x)),
                                                std::as_bytes(std::span(&scale, 1)),
                                                {},
                                                std::as_writable_bytes(std::span(y))});
  if (!done) return std::puts(done.error().message.c_str()), 1;

  node.opset = 9;
  const auto refused = dequant::onnx::dequantize_linear(node);
  if (refused) return std::puts("opset 9 has no DequantizeLinear"), 1;
  if (argc > 1) return static_cast<int>(refused.value().axis);
  std::printf("%g %g %g\n", y[0], y[1], y[2]);
}
