// A program of somebody else: uses every part of what is installed, and checks one result of each.
#include <array>
#include <cstdio>
#include <span>

#include "dequant/dequant.hpp"

namespace {

int failures = 0;

void expect(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "consumer: %s\n", what);
  ++failures;
}

void dequantize() {
  const std::array<int64_t, 1> shape{4};
  const std::array<uint8_t, 4> x{0, 3, 128, 255};
  const std::array<float, 1> scale{2.0F};
  const std::array<uint8_t, 1> zero_point{128};
  std::array<float, 4> y{};

  dequant::onnx::DequantizeLinear node;
  node.x = {dequant::Element::uint8, shape};
  node.x_scale = {dequant::Element::float32, {}};
  node.x_zero_point = {dequant::Element::uint8, {}};
  expect(bool{dequant::onnx::set_attribute(node, "axis", 0)}, "onnx::set_attribute");
  const dequant::Plan plan = dequant::onnx::dequantize_linear(node).value();
  expect(dequant::element_count(plan) == 4 && dequant::scale_count(plan) == 1, "counts");
  expect(dequant::scales_of(plan, {0, 4}) == dequant::Range{0, 1}, "scales_of");
  expect(!dequant::to_string(plan).empty(), "to_string");

  const dequant::Buffers buffers{std::as_bytes(std::span(x)), std::as_bytes(std::span(scale)),
                                 std::as_bytes(std::span(zero_point)),
                                 std::as_writable_bytes(std::span(y))};
  dequant::run(plan, buffers).value();
  expect(y == std::array{-256.0F, -250.0F, 0.0F, 254.0F}, "run");
  y = {};
  dequant::ThreadPool pool(2);
  dequant::RunOptions options;
  options.executor = pool.executor();
  dequant::run_range(plan, {0, 4}, buffers, options).value();
  expect(y == std::array{-256.0F, -250.0F, 0.0F, 254.0F}, "run_range");
}

/// Bits that a compiler free to break the rules of floats would lose: NaN, infinity, a subnormal.
void keep_bits() {
  const std::array<int64_t, 1> shape{4};
  const std::array<uint8_t, 4> x{0x7F, 0x01, 0x80, 0x7E};
  const std::array<uint32_t, 1> scale{0x00200000};
  std::array<uint32_t, 4> y{};
  const dequant::onnx::DequantizeLinear node{.opset = 25,
                                             .x = {dequant::Element::float8e4m3fn, shape},
                                             .x_scale = {dequant::Element::float32, {}},
                                             .x_zero_point = {},
                                             .axis = {},
                                             .block_size = {},
                                             .output_dtype = {}};
  const dequant::Plan plan = dequant::onnx::dequantize_linear(node).value();
  dequant::run(plan, {std::as_bytes(std::span(x)),
                      std::as_bytes(std::span(scale)),
                      {},
                      std::as_writable_bytes(std::span(y))})
      .value();
  expect(y == std::array{0x7FC00000U, 0x00001000U, 0x80000000U, 0x03E00000U}, "bits");
  expect(bool{dequant::check_zero_points(plan, {})}, "check_zero_points");
}

/// uint8 1 2 3 4 by the other dialects.
void dequantize_elsewhere() {
  const std::array<int64_t, 1> four{4};
  const std::array<int64_t, 1> one{1};
  const std::array<uint8_t, 4> x{1, 2, 3, 4};
  const std::array<uint8_t, 4> zero_point{};
  const std::array<float, 1> low{1.0F};
  const std::array<float, 1> high{256.0F};
  std::array<float, 4> y{};
  const auto out = std::as_writable_bytes(std::span(y));

  dequant::tensorflow::Dequantize dequantize;
  dequantize.input = {*dequant::tensorflow::element_from_name("quint8"), four};
  dequantize.mode = *dequant::tensorflow::mode_from_name("MIN_COMBINED");
  dequantize.axis = dequant::tensorflow::PythonAxis{};
  dequant::Plan plan = dequant::tensorflow::dequantize(dequantize).value();
  expect(dequant::takes_ranges(plan.rule), "takes_ranges");
  expect(dequant::extents(plan) == dequant::Extents{.x = 4, .min_range = 1, .max_range = 1, .y = 4},
         "extents");
  dequant::Buffers buffers{std::as_bytes(std::span(x)), {}, {}, out};
  buffers.min_range = std::as_bytes(std::span(low));
  buffers.max_range = std::as_bytes(std::span(high));
  dequant::run(plan, buffers).value();
  expect(y == std::array{2.0F, 3.0F, 4.0F, 5.0F}, "tensorflow");

  dequant::webnn::DequantizeLinear linear;
  linear.input = {dequant::Element::uint8, four};
  linear.scale = {dequant::Element::float32, one};
  linear.zero_point = {dequant::Element::uint8, one};
  plan = dequant::webnn::dequantize_linear(linear).value();
  dequant::run(plan, {std::as_bytes(std::span(x)), std::as_bytes(std::span(high)),
                      std::as_bytes(std::span(zero_point)), out})
      .value();
  expect(y == std::array{256.0F, 512.0F, 768.0F, 1024.0F}, "webnn");

  const std::array<UINT, 1> sizes{4};
  const std::array<UINT, 1> broadcast{0};
  const std::array buffer_tensors{
      DML_BUFFER_TENSOR_DESC{DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_FLAG_NONE, 1, sizes.data(),
                             nullptr, 4, 0},
      DML_BUFFER_TENSOR_DESC{DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 1, sizes.data(),
                             broadcast.data(), 4, 0},
      DML_BUFFER_TENSOR_DESC{DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 1, sizes.data(),
                             nullptr, 16, 0}};
  std::array<DML_TENSOR_DESC, 3> tensors{};
  for (size_t i = 0; i < 3; ++i) tensors[i] = {DML_TENSOR_TYPE_BUFFER, &buffer_tensors[i]};
  const DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC desc{&tensors[0], &tensors[1], nullptr,
                                                              &tensors[2]};
  const auto op = dequant::directml::compile({DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR, &desc},
                                             DML_FEATURE_LEVEL_6_2)
                      .value();
  const std::array<std::span<const std::byte>, 2> inputs{std::as_bytes(std::span(x)),
                                                         std::as_bytes(std::span(low))};
  dequant::directml::execute(op, inputs, out).value();
  expect(y == std::array{1.0F, 2.0F, 3.0F, 4.0F}, "directml");
  expect(*dequant::directml::buffer_tensor_size(DML_TENSOR_DATA_TYPE_UINT8, sizes, {}) == 4,
         "buffer_tensor_size");
}

void refuse() {
  const dequant::microsoft::DequantizeLinear node{
      .version = 2, .x = {}, .x_scale = {}, .x_zero_point = {}, .axis = {}};
  bool thrown = false;
  try {
    (void)dequant::microsoft::dequantize_linear(node).value();
  } catch (const dequant::Exception& e) {
    thrown = dequant::name(e.error().code) == std::string_view("unsupported");
  }
  expect(thrown, "microsoft::dequantize_linear");
  dequant::microsoft::DequantizeLinear other;
  expect(!dequant::microsoft::set_attribute(other, "block_size", 1), "microsoft::set_attribute");
  expect(!dequant::force_target("none such"), "force_target");
}

void look_up() {
  for (const dequant::Element element : dequant::elements()) {
    expect(dequant::element_from_name(dequant::name(element)) == element, "element_from_name");
    const int code = dequant::onnx_code(element);
    expect(code == 0 || dequant::element_from_onnx(code) == element, "element_from_onnx");
    expect(dequant::bits(element) >= 2, "bits");
  }
  expect(dequant::is_input(dequant::Element::int4), "is_input");
  expect(dequant::is_output(dequant::Element::float16), "is_output");
  expect(dequant::kind(dequant::Element::int8) == dequant::Kind::signed_integer, "kind");
  expect(*dequant::packed_bytes(dequant::Element::int4, 3) == 2, "packed_bytes");
  expect(*dequant::element_count(dequant::Shape{}) == 1, "element_count");
  expect(!dequant::targets().empty() && !dequant::active_target().empty(), "targets");
}

}  // namespace

int main() {
  dequantize();
  keep_bits();
  dequantize_elsewhere();
  refuse();
  look_up();
  if (failures == 0) std::puts("dequant " DEQUANT_VERSION " works");
  return failures == 0 ? 0 : 1;
}
