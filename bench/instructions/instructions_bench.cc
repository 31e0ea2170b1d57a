// Runs every cell under callgrind, which writes the number of instructions after each cell.
// guard.py starts this program and reads the numbers. Without callgrind the program only shows that
// every cell runs.
//
// A cell has 64 Ki elements, one thread and cached stores; cells "streamed/..." have streaming
// stores. Cells "call/..." are single calls of 16 elements.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "dequant/dequant.hpp"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

namespace {

using dequant::Element;
using dequant::Granularity;
using dequant::Plan;
using dequant::Rule;
using enum dequant::Element;

constexpr int64_t kElements = int64_t{1} << 16;

struct Shape {
  const char* name;
  Granularity granularity;
  int64_t axis;
  int64_t inner;
  int64_t block;
};
constexpr Shape kShapes[] = {
    {"per_axis_middle", Granularity::per_axis, 16, 256, 1},
    {"per_axis_last", Granularity::per_axis, 4096, 1, 1},
    {"per_axis_of_3", Granularity::per_axis, kElements / 3, 3, 1},
    {"blocked_32_last", Granularity::blocked, 4096, 1, 32},
    {"blocked_128_last", Granularity::blocked, 4096, 1, 128},
    {"blocked_32_middle", Granularity::blocked, 64, 256, 32},
};

Plan packed(Element x, Element y) {
  return {.input = x,
          .scale = y,
          .output = y,
          .has_zero_point = kind(x) != dequant::Kind::floating,
          .inner = kElements};
}

Plan packed(Element x, Element y, const Shape& shape) {
  Plan plan = packed(x, y);
  plan.granularity = shape.granularity;
  plan.outer = kElements / shape.axis / shape.inner;
  plan.axis = shape.axis;
  plan.inner = shape.inner;
  plan.block = shape.block;
  return plan;
}

Plan strided(Element x, Element y, std::vector<dequant::Dimension> dimensions) {
  Plan plan = packed(x, y);
  plan.granularity = Granularity::strided;
  plan.inner = 1;
  plan.dimensions = std::move(dimensions);
  return plan;
}

/// Buffers for any of the plans, aligned to 64 bytes as in frameworks.
struct Memory {
  static constexpr size_t kBytes = kElements * 8;
  alignas(64) std::byte x[kBytes];
  alignas(64) std::byte scale[kBytes];
  alignas(64) std::byte zero_point[kBytes];
  alignas(64) std::byte y[kBytes];
  int32_t group_index[256];  ///< two groups by turns, as with act-order

  Memory() {
    for (int32_t i = 0; i < 256; ++i) group_index[i] = i % 2;
    for (size_t i = 0; i < kBytes; ++i) {
      x[i] = static_cast<std::byte>(i * 2654435761U >> 8);
      scale[i] = std::byte{0x3C};  // near 1 in every type of scale
      zero_point[i] = std::byte{0x11};
      y[i] = std::byte{0};
    }
  }

  dequant::Buffers buffers(const Plan& plan) {
    const bool ranges = takes_ranges(plan.rule);
    dequant::Buffers b{.x = x, .scale = {}, .zero_point = {}, .y = y};
    (ranges ? b.max_range : b.scale) = scale;
    if (ranges) b.min_range = zero_point;
    if (plan.has_zero_point) b.zero_point = zero_point;
    if (plan.parameters.x_blocks) b.scale = {};
    if (plan.parameters.group_index.groups != 0) {
      b.group_index = std::as_bytes(std::span(group_index));
    }
    return b;
  }
};

[[noreturn]] void fail(const std::string& cell, const std::string& message) {
  std::fprintf(stderr, "instructions_bench: %s: %s\n", cell.c_str(), message.c_str());
  std::exit(1);
}

/// Counts the instructions of one call. A call before it initializes static data.
void count(const std::string& cell, const std::function<dequant::Status()>& call) {
  if (const auto status = call(); !status) fail(cell, status.error().message);
  CALLGRIND_ZERO_STATS;
  CALLGRIND_TOGGLE_COLLECT;
  const auto status = call();
  CALLGRIND_TOGGLE_COLLECT;
  CALLGRIND_DUMP_STATS_AT(cell.c_str());
  if (!status) fail(cell, status.error().message);
}

void count(Memory& memory, const std::string& cell, const Plan& plan,
           dequant::Stores stores = dequant::Stores::cached) {
  const dequant::RunOptions options{.executor = dequant::sequential_executor(), .stores = stores};
  const dequant::Buffers buffers = memory.buffers(plan);
  count(cell, [&] { return run(plan, buffers, options); });
}

std::string joined(std::string_view a, Element x, Element y, std::string_view b) {
  return std::string(a) + "/" + std::string(name(x)) + "/" + std::string(name(y)) + "/" +
         std::string(b);
}

void count_packed(Memory& memory) {
  for (const Element x : dequant::elements()) {
    if (!is_input(x)) continue;
    for (const Element y : {float32, float16, bfloat16}) {
      count(memory, joined("packed", x, y, "per_tensor"), packed(x, y));
    }
  }
  for (const Element x : {uint8, int16, int4, int2, float8e4m3fn, float6e2m3, float4e2m1}) {
    for (const Element y : {float32, float16, bfloat16}) {
      for (const Shape& shape : kShapes) {
        count(memory, joined("packed", x, y, shape.name), packed(x, y, shape));
      }
      count(memory, joined("streamed", x, y, "per_tensor"), packed(x, y),
            dequant::Stores::streaming);
    }
  }
}

void count_ranges(Memory& memory) {
  using enum Rule;
  for (const Element x : {uint8, int16, int32}) {
    for (const Rule rule : {min_combined, min_first, scaled, documented_min_combined,
                            documented_min_first, documented_scaled}) {
      count(memory, joined("ranges", x, float32, name(rule)),
            {.input = x, .rule = rule, .inner = kElements});
    }
    count(memory, joined("ranges", x, bfloat16, name(min_combined)),
          {.input = x, .output = bfloat16, .rule = min_combined, .inner = kElements});
  }
}

void count_strided(Memory& memory) {
  for (const auto& [x, y] : {std::pair{uint8, float32}, std::pair{int4, float16}}) {
    count(memory, joined("strided", x, y, "padded_x"),
          strided(x, y, {{64, 1088, 0, 0, 1024}, {1024, 1, 0, 0, 1}}));
    count(memory, joined("strided", x, y, "scale_per_column"),
          strided(x, y, {{64, 1088, 0, 0, 1024}, {1024, 1, 1, 1, 1}}));
    count(memory, joined("strided", x, y, "nhwc_to_nchw"),
          strided(x, y, {{64, 1, 1, 1, 1024}, {1024, 64, 0, 0, 1}}));
  }
}

struct Stored {
  const char* name;
  Element element;
  std::vector<int64_t> shape;
};

/// A weight of 256 by 256, as a scheme of checkpoints stores it.
void count_checkpoint(Memory& memory, const char* scheme, const std::vector<Stored>& stored,
                      const std::vector<dequant::SchemeOption>& options, const char* of = "") {
  std::vector<dequant::SchemeTensor> tensors;
  for (const Stored& s : stored) tensors.push_back({s.name, {s.element, s.shape}});
  for (const Element y : {float32, bfloat16}) {
    const std::string cell = std::string("checkpoint/") + scheme + of + "/" + std::string(name(y));
    const auto dense = dequant::plan_scheme({scheme, tensors, options, y});
    if (!dense) fail(cell, dense.error().message);
    count(memory, cell, dense->plan);
  }
}

void count_checkpoints(Memory& memory) {
  count_checkpoint(memory, "fp8",
                   {{"weight", float8e4m3fn, {256, 256}}, {"weight_scale", float32, {2, 2}}},
                   {{"block", "128,128"}});
  count_checkpoint(
      memory, "gptq",
      {{"qweight", int32, {32, 256}}, {"qzeros", int32, {2, 32}}, {"scales", float16, {2, 256}}},
      {{"group_size", "128"}});
  count_checkpoint(memory, "gptq",
                   {{"qweight", int32, {32, 256}},
                    {"qzeros", int32, {2, 32}},
                    {"scales", float16, {2, 256}},
                    {"g_idx", int32, {256}}},
                   {}, "_act_order");
  count_checkpoint(memory, "compressed_tensors",
                   {{"weight", int32, {256, 32}},
                    {"weight_scale", bfloat16, {256, 2}},
                    {"weight_g_idx", int32, {256}}},
                   {{"group_size", "128"}, {"weight_shape", "256,256"}}, "_act_order");
  count_checkpoint(
      memory, "awq",
      {{"qweight", int32, {256, 32}}, {"qzeros", int32, {2, 32}}, {"scales", float16, {2, 256}}},
      {{"group_size", "128"}});
  count_checkpoint(
      memory, "awq",
      {{"qweight", int32, {256, 32}}, {"qzeros", int32, {256, 1}}, {"scales", float16, {256, 8}}},
      {{"group_size", "128"}, {"version", "gemv"}}, "_gemv");
  count_checkpoint(memory, "modelopt",
                   {{"weight", uint8, {128, 256}}, {"weight_scale", float32, {256, 2}}},
                   {{"quant_algo", "W4A16_AWQ"}}, "_int4");
  count_checkpoint(memory, "mlx",
                   {{"weight", uint32, {256, 32}},
                    {"scales", bfloat16, {256, 4}},
                    {"biases", bfloat16, {256, 4}}},
                   {{"bits", "4"}, {"group_size", "64"}});
  count_checkpoint(
      memory, "hqq",
      {{"W_q", uint8, {512, 64}}, {"scale", float16, {1024, 1}}, {"zero", float16, {1024, 1}}},
      {{"bits", "4"}, {"group_size", "64"}, {"shape", "256,256"}});
  count_checkpoint(memory, "gptoss", {{"blocks", uint8, {256, 8, 16}}, {"scales", uint8, {256, 8}}},
                   {{"transposed", "true"}});
}

/// Rows of 4096 elements in blocks. With bits 5 to 7 of every byte fixed, scales are finite and
/// normal.
void count_blocks(Memory& memory) {
  for (std::byte& byte : memory.x) byte = (byte & std::byte{0x1F}) | std::byte{0x20};
  for (const dequant::BlockType type : dequant::block_types()) {
    for (const Element y : {float32, float16, bfloat16}) {
      Plan plan{.input = uint8, .output = y, .has_zero_point = false};
      plan.granularity = Granularity::blocked;
      plan.outer = kElements / 4096;
      plan.axis = 4096;
      plan.block = block_elements(type);
      plan.parameters.x_blocks = type;
      count(memory, "gguf/" + std::string(name(type)) + "/" + std::string(name(y)), plan);
    }
  }
}

/// Counts calls of 16 elements, with an existing plan and with a new plan.
void count_calls(Memory& memory) {
  const int64_t shape[] = {16};
  const auto node = [&](Element x) {
    dequant::onnx::DequantizeLinear n;
    n.x = {x, shape};
    n.x_scale = {float32, {}};
    n.x_zero_point = dequant::TensorType{x, {}};
    return n;
  };
  for (const Element x : {uint8, int4}) {
    const Plan plan = dequantize_linear(node(x)).value();
    const dequant::Buffers buffers = memory.buffers(plan);
    count(joined("call", x, float32, "run"), [&] { return run(plan, buffers); });
    count(joined("call", x, float32, "plan_and_run"), [&]() -> dequant::Status {
      DEQUANT_TRY(const Plan made, dequantize_linear(node(x)));
      return run(made, buffers);
    });
  }
}

}  // namespace

int main() {
  std::printf("compiler %s\ntarget %s\n", __VERSION__,
              std::string(dequant::active_target()).c_str());
  static Memory memory;
  count_packed(memory);
  count_ranges(memory);
  count_strided(memory);
  count_checkpoints(memory);
  count_calls(memory);
  count_blocks(memory);
  return 0;
}
