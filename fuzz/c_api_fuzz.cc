// The C API as a hostile C program uses it: structs of any size, any numbers where enumerators
// belong, buffers that are null, too short or too long, threads that give up.
#include <string_view>

#include "dequant.h"
#include "fuzz/support/c_program.h"

namespace dequant::fuzz {
namespace {

using Dims = std::vector<int64_t>;

class Nodes {
 public:
  explicit Nodes(Cursor& cursor) : cursor_(cursor) {}

  dequant_code plan(dequant_plan** plan, dequant_error* error) {
    x_ = cursor_.shape();
    scale_ = cursor_.coin() ? Dims{} : x_;
    // Two chunks, so that there is something to share among threads.
    if (cursor_.byte() == 0xFF) x_ = {70000};
    switch (cursor_.below(4)) {
      case 0: return onnx(plan, error);
      case 1: return microsoft(plan, error);
      case 2: return tensorflow(plan, error);
      default: return webnn(plan, error);
    }
  }

 private:
  dequant_tensor tensor(int32_t element, const Dims& shape) {
    dequant_tensor out{};
    set(out.element, cursor_.rarely() ? cursor_.raw<int32_t>() : element);
    out.rank = static_cast<uint32_t>(shape.size());
    out.shape = cursor_.rarely() ? nullptr : shape.data();
    if (cursor_.rarely()) out.rank = 65 + cursor_.raw<uint32_t>() % 0x7FFFFFFF;
    return out;
  }
  dequant_tensor absent() { return cursor_.coin() ? dequant_tensor{} : tensor(x_type_, scale_); }
  const int64_t* attribute(int64_t low, int64_t high) {
    if (cursor_.below(4) != 3) return nullptr;
    attributes_[used_] = cursor_.integer(low, high);
    return &attributes_[used_++];
  }

  dequant_code onnx(dequant_plan** plan, dequant_error* error) {
    Struct<dequant_onnx> node(cursor_);
    node->opset = cursor_.integer(10, 28);
    x_type_ = static_cast<int32_t>(2 + cursor_.below(25));
    node->x = tensor(x_type_, x_);
    node->x_scale = tensor(DEQUANT_FLOAT32, scale_);
    node->x_zero_point = absent();
    node->axis = attribute(-5, 5);
    node->block_size = attribute(0, 4);
    node->output_dtype = attribute(0, 26);
    return dequant_plan_onnx(node.get(), plan, error);
  }
  dequant_code microsoft(dequant_plan** plan, dequant_error* error) {
    Struct<dequant_microsoft> node(cursor_);
    node->version = cursor_.integer(1, 1);
    x_type_ = static_cast<int32_t>(2 + cursor_.below(5));
    node->x = tensor(x_type_, x_);
    node->x_scale = tensor(DEQUANT_FLOAT16, scale_);
    node->x_zero_point = absent();
    node->axis = attribute(-5, 5);
    return dequant_plan_microsoft(node.get(), plan, error);
  }
  dequant_code tensorflow(dequant_plan** plan, dequant_error* error) {
    Struct<dequant_tensorflow> node(cursor_);
    set(node->version, static_cast<int32_t>(cursor_.integer(0, 1)));
    node->input = tensor(static_cast<int32_t>(2 + cursor_.below(5)), x_);
    if (!x_.empty() && cursor_.coin()) scale_ = {x_.back()};
    node->min_range = tensor(DEQUANT_FLOAT32, scale_);
    node->max_range = tensor(DEQUANT_FLOAT32, scale_);
    set(node->mode, static_cast<int32_t>(cursor_.integer(0, 2)));
    node->narrow_range = static_cast<int>(cursor_.integer(0, 1));
    node->raw_axis = attribute(-1, 4);
    node->python_axis = attribute(-1, 0);
    set(node->dtype, static_cast<int32_t>(cursor_.integer(0, 1)));
    set(node->semantics, static_cast<int32_t>(cursor_.integer(0, 1)));
    return dequant_plan_tensorflow(node.get(), plan, error);
  }
  dequant_code webnn(dequant_plan** plan, dequant_error* error) {
    constexpr std::array<int32_t, 6> kInputs{DEQUANT_UINT8,  DEQUANT_INT8,  DEQUANT_INT32,
                                             DEQUANT_UINT32, DEQUANT_UINT4, DEQUANT_INT4};
    Struct<dequant_webnn> node(cursor_);
    x_type_ = cursor_.pick(kInputs);
    if (scale_.empty()) scale_.assign(x_.size(), 1);
    node->input = tensor(x_type_, x_);
    node->scale = tensor(DEQUANT_FLOAT32, scale_);
    node->zero_point = tensor(x_type_, scale_);
    return dequant_plan_webnn(node.get(), plan, error);
  }

  Cursor& cursor_;
  Dims x_, scale_;
  int32_t x_type_ = DEQUANT_UINT8;
  std::array<int64_t, 4> attributes_{};
  size_t used_ = 0;
};

int gives_up(void*, size_t count, dequant_task task, void* context) {
  for (size_t i = 0; i < count / 2; ++i) task(context, i);
  return 7;
}
int in_reverse(void*, size_t count, dequant_task task, void* context) {
  while (count-- > 0) task(context, count);
  return 0;
}

void run_plan(const dequant_plan* plan, const dequant_sizes& sizes, Cursor& cursor) {
  Memory x, scale, zero, low, high, y;
  Struct<dequant_buffers> b(cursor);
  b->x = x.make(sizes.x_bytes, b->x_bytes, cursor);
  b->scale = scale.make(sizes.scale_bytes, b->scale_bytes, cursor);
  b->zero_point = zero.make(sizes.zero_point_bytes, b->zero_point_bytes, cursor);
  b->min_range = low.make(sizes.min_range_bytes, b->min_range_bytes, cursor);
  b->max_range = high.make(sizes.max_range_bytes, b->max_range_bytes, cursor);
  b->y = y.make(sizes.y_bytes, b->y_bytes, cursor);
  Struct<dequant_options> options(cursor);
  options->threads = static_cast<int>(cursor.rarely() ? -cursor.byte() : cursor.below(2));
  if (cursor.rarely() || sizes.y_bytes > 4096) {
    options->threads = 0;
    options->parallel_for = cursor.coin() ? gives_up : in_reverse;
  }
  set(options->stores, static_cast<int32_t>(cursor.integer(0, 2)));
  const dequant_options* how = cursor.coin() ? options.get() : nullptr;
  const dequant_buffers* given = b.get();
  const Exact before = copy(*y.bytes);
  const auto run = [&](dequant_error* error) { return dequant_run(plan, given, how, error); };
  if (!succeeds(cursor, run)) {
    const bool incomplete = how != nullptr && options->parallel_for == gives_up;
    return require(incomplete || *y.bytes == before, "y is written to on failure");
  }
  const Exact first = copy(*y.bytes);
  std::ranges::copy(before.bytes(), y.bytes->bytes().begin());
  require(dequant_force_target("reference", nullptr) == DEQUANT_OK, "no reference");
  require(dequant_run(plan, given, how, nullptr) == DEQUANT_OK, "the reference refuses");
  require(*y.bytes == first, "the reference differs");
  require(dequant_force_target(dequant_target_name(0), nullptr) == DEQUANT_OK, "no target");
}

/// Every number gets an answer.
void ask_names(Cursor& cursor) {
  const auto number = cursor.below(32);
  const char* name = dequant_element_name(static_cast<dequant_element>(number));
  const int bits = dequant_element_bits(static_cast<dequant_element>(number));
  require((name == nullptr) == (bits == 0), "an element without a name or without bits");
  if (name != nullptr) {
    require(dequant_element_from_name(name) == static_cast<dequant_element>(number),
            "another name");
  }
  const auto type = static_cast<dequant_block_type>(number);
  const char* block = dequant_block_type_name(type);
  require((block == nullptr) == (dequant_block_bytes(type) == 0) &&
              (block == nullptr) == (dequant_block_elements(type) == 0),
          "a block type without a name or without a size");
  require(block == nullptr || dequant_block_type_from_name(block) == type, "another block type");
  require(dequant_code_name(static_cast<dequant_code>(number % 8))[0] != '\0', "no name of a code");
  const size_t target = cursor.byte();
  require((dequant_target_name(target) == nullptr) == (target >= dequant_target_count()),
          "a target beyond the last");
}

/// Tensors of several chunks take a thousand times as long, so only long inputs may ask for them.
constexpr size_t kLongInput = 192;

void fuzz(Cursor cursor, bool is_long) {
  ask_names(cursor);
  dequant_plan* plan = nullptr;
  Nodes nodes(cursor);
  const bool made =
      succeeds(cursor, [&](dequant_error* error) { return nodes.plan(&plan, error); });
  require(made == (plan != nullptr), "a plan of a failure, or none of a success");
  Struct<dequant_sizes> sizes(cursor);
  dequant_sizes* out = sizes.get();
  const auto ask = [&](dequant_error* error) { return dequant_plan_sizes(plan, out, error); };
  if (succeeds(cursor, ask)) {
    require(made && std::string_view(dequant_plan_text(plan)).size() > 0, "a plan without a text");
    // Only what is larger than a chunk is for several threads.
    const uint64_t most = is_long && cursor.below(64) == 63 ? kMostBufferBytes : 1024;
    if (std::max({out->x_bytes, out->y_bytes, out->scale_bytes}) <= most) {
      run_plan(plan, *out, cursor);
    }
  }
  dequant_plan_free(plan);
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dequant::fuzz::fuzz({data, size}, size > dequant::fuzz::kLongInput);
  return 0;
}
