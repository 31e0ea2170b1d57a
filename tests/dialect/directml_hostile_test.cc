// Descriptions with anything in every member: they are refused, or what they say fits their
// buffers.
#include <array>
#include <cstring>

#include "dequant/tensor.h"
#include "directml_desc.h"
#include "support/guarded_buffer.h"
#include "support/packed.h"
#include "support/random.h"

namespace dequant::directml_hostile_test {
namespace {

using namespace testing;

UINT any_number(Random& random) {
  static constexpr auto kEdges = std::to_array<UINT>(
      {0, 1, 2, 3, 4, 8, 9, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, UINT32_MAX, 255, 256, 65536});
  return random.in(0, 3) == 0 ? static_cast<UINT>(random.bits()) : random.of(kEdges);
}

/// A tensor whose members are right most of the time and anything now and then.
struct AnyTensor {
  std::array<UINT, 8> sizes{};
  std::array<UINT, 8> strides{};
  DML_BUFFER_TENSOR_DESC buffer{};
  DML_TENSOR_DESC desc{};

  AnyTensor(Random& random, UINT type, UINT rank, int64_t wildness) {
    const auto wild = [&] { return random.in(0, wildness) == 0; };
    const auto put = [&](auto& member, UINT usual) {
      const UINT number = wild() ? any_number(random) : usual;
      std::memcpy(&member, &number, sizeof number);
    };
    for (UINT& size : sizes) put(size, static_cast<UINT>(random.in(1, 4)));
    for (UINT& stride : strides) put(stride, static_cast<UINT>(random.in(0, 9)));
    put(buffer.DataType, type);
    put(buffer.Flags, 0);
    // Arrays may only be read as far as they go, which no callee can know.
    buffer.DimensionCount = wild() ? static_cast<UINT>(random.in(0, 8)) : rank;
    if (random.in(0, 40) == 0) buffer.DimensionCount = 9 + any_number(random) / 2;
    buffer.Sizes = wild() && wild() ? nullptr : sizes.data();
    buffer.Strides = random.coin() ? nullptr : strides.data();
    buffer.TotalTensorSizeInBytes = wild() ? random.bits() : 1 << 20;
    put(buffer.GuaranteedBaseOffsetAlignment, 0);
    put(desc.Type, DML_TENSOR_TYPE_BUFFER);
    desc.Desc = wild() && wild() ? nullptr : &buffer;
  }
  AnyTensor(const AnyTensor&) = delete;
  AnyTensor& operator=(const AnyTensor&) = delete;
};

Result<directml::Operator> compile_any(Random& random) {
  const int64_t wildness = random.of(std::array<int64_t, 3>{4, 40, 400});
  const auto rank = static_cast<UINT>(random.in(1, 8));
  const bool blocked = random.coin();
  const UINT type =
      blocked ? random.of(std::array<UINT, 4>{5, 8, 12, 13}) : static_cast<UINT>(random.in(3, 8));
  const UINT floats = static_cast<UINT>(random.in(1, 2));
  AnyTensor input(random, type, rank, wildness), scale(random, floats, rank, wildness);
  AnyTensor zero(random, type, rank, wildness), output(random, floats, rank, wildness);
  for (AnyTensor* tensor : {&scale, &zero, &output}) {
    if (random.in(0, wildness) != 0) tensor->sizes = input.sizes;
    if (blocked && tensor != &output && random.coin()) tensor->sizes = {1, 1, 1, 1, 1, 1, 1, 1};
  }
  const auto tensor = [&](const AnyTensor& t) {
    return random.in(0, 100) == 0 ? nullptr : &t.desc;
  };
  const auto level = static_cast<DML_FEATURE_LEVEL>(
      random.of(std::array<int, 5>{0x1000, 0x2100, 0x6200, 0x6300, 0x6400}));
  if (!blocked) {
    const DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC desc{tensor(input), tensor(scale),
                                                                tensor(zero), tensor(output)};
    return directml::compile({DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR, &desc}, level);
  }
  const std::array params{scale.desc, zero.desc};
  const auto count = static_cast<UINT>(random.in(1, 2));
  DML_DEQUANTIZE_OPERATOR_DESC desc{tensor(input), static_cast<DML_QUANTIZATION_TYPE>(count), count,
                                    params.data(), tensor(output)};
  if (random.in(0, 50) == 0) desc.QuantizationTensorCount = any_number(random);
  return directml::compile({DML_OPERATOR_DEQUANTIZE, &desc}, level);
}

/// The bytes that a tensor of the plan takes are no more than its buffer must have.
void expect_fits(const directml::Operator& op) {
  const Extents held = extents(op.plan);
  const auto bytes = [](Element element, int64_t count) {
    return static_cast<uint64_t>(*packed_bytes(element, count));
  };
  EXPECT_LE(bytes(op.plan.input, held.x), op.input_bytes[0]);
  EXPECT_LE(bytes(op.plan.scale, held.scale), op.input_bytes[1]);
  EXPECT_LE(bytes(op.plan.input, held.zero_point), op.input_bytes[2]);
  EXPECT_LE(bytes(op.plan.output, held.y), op.output_bytes);
  EXPECT_LE(element_count(op.plan), int64_t{UINT32_MAX});
}

TEST(DirectMLHostile, WhatIsAcceptedFitsItsBuffersAndRuns) {
  Random random(77);
  const GuardedBuffer inputs(1 << 20);
  const GuardedBuffer output(1 << 20);
  int accepted = 0;
  for (int round = 0; round < 200000; ++round) {
    const auto op = compile_any(random);
    if (!op) {
      ASSERT_FALSE(op.error().message.empty());
      continue;
    }
    expect_fits(*op);
    if (op->output_bytes > output.capacity()) continue;
    std::vector<std::span<const std::byte>> bound;
    for (size_t i = 0; i < op->input_count && op->input_bytes[i] <= inputs.capacity(); ++i) {
      const auto size = static_cast<size_t>(op->input_bytes[i]);
      bound.emplace_back(reinterpret_cast<std::byte*>(inputs.before_end(size)), size);
    }
    if (bound.size() < op->input_count) continue;
    const auto size = static_cast<size_t>(op->output_bytes);
    const std::span y(reinterpret_cast<std::byte*>(output.before_end(size)), size);
    ASSERT_TRUE(succeeds(directml::execute(*op, bound, y, {.executor = sequential_executor()})));
    ++accepted;
  }
  EXPECT_GT(accepted, 5000) << "or the test looks at nothing";
}

}  // namespace
}  // namespace dequant::directml_hostile_test
