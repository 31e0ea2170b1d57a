// Recipes with known mistakes.
#include "format/diff/variants.h"

#include <algorithm>
#include <cstring>

#include "dequant/codes.h"
#include "format/io/errors.h"
#include "format/model/floats.h"

namespace dequant::format {
namespace {

std::vector<std::byte> bytes_of_floats(const std::vector<float>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// The recipe with these float32 scales in place of the stored ones.
RecipeData with_scales(const RecipeData& right, const std::vector<float>& scales) {
  RecipeData out = right;
  out.plan.scale = Element::float32;
  out.plan.parameters.tensor_scale = TensorScale::none;
  out.plan.parameters.infinite_e8m0 = false;
  out.plan.parameters.reciprocal_scale = false;
  out.scale = bytes_of_floats(scales);
  out.tensor_scale.clear();
  return out;
}

template <class Change>
RecipeData with_each_scale(const RecipeData& right, Change change) {
  std::vector<float> scales = right.scales();
  for (float& s : scales) s = change(s);
  return with_scales(right, scales);
}

Status visit_scales(const RecipeData& right, const VariantVisitor& visitor) {
  DEQUANT_CHECK(visitor("scale_not_applied", with_each_scale(right, [](float) { return 1.0F; })));
  DEQUANT_CHECK(visitor("scale_inverted", with_each_scale(right, [](float s) { return 1 / s; })));
  DEQUANT_CHECK(
      visitor("scale_applied_twice", with_each_scale(right, [](float s) { return s * s; })));
  for (const Element element : {Element::bfloat16, Element::float16}) {
    std::vector<float> scales = right.scales();
    widen(element, rounded(scales, element), scales);
    DEQUANT_CHECK(visitor("scale_rounded_first", with_scales(right, scales)));
  }
  const TensorScale second = right.plan.parameters.tensor_scale;
  if (second == TensorScale::none) return {};
  RecipeData wrong = right;
  wrong.plan.parameters.tensor_scale =
      second == TensorScale::multiply ? TensorScale::divide : TensorScale::multiply;
  DEQUANT_CHECK(visitor("second_scale_inverted", wrong));
  wrong.plan.parameters.tensor_scale = TensorScale::none;
  wrong.tensor_scale.clear();
  return visitor("second_scale_missing", wrong);
}

Status visit_zero_points(const RecipeData& right, const VariantVisitor& visitor) {
  if (kind(right.plan.input) == Kind::floating) return {};
  RecipeData wrong = right;
  const bool stored = right.plan.has_zero_point &&
                      kind(zero_point_element(right.plan)) != Kind::floating &&
                      bits(zero_point_element(right.plan)) <= 8;
  if (!stored && right.plan.has_zero_point) return {};
  int32_t& zero = stored ? wrong.plan.parameters.zero_point_offset : wrong.plan.implicit_zero_point;
  const int32_t was = zero;
  for (const int32_t by : {1, -1}) {
    zero = was + by;
    DEQUANT_CHECK(visitor("zero_point_off_by_one", wrong));
  }
  if (!stored) return {};
  wrong = right;
  const Range all{0, element_count(right.plan)};
  using enum ZeroPointOverflow;
  for (const ZeroPointOverflow overflow : {keep, wrap, carry}) {
    if (overflow == right.plan.parameters.zero_point_overflow) continue;
    wrong.plan.parameters.zero_point_overflow = overflow;
    // A carry needs words, and a zero point of a byte may be all that is stored.
    const Range zeros = zero_point_bytes_of(wrong.plan, slices_of(wrong.plan, all).zero_point);
    if (zeros.end > static_cast<int64_t>(right.zero_point.size())) continue;
    DEQUANT_CHECK(visitor("zero_point_overflow", wrong));
  }
  return {};
}

/// Codes of a word one after another where they are interleaved: of x alone, and of all.
Status visit_order(const RecipeData& right, const VariantVisitor& visitor) {
  if (right.plan.parameters.x_packing.order != CodeOrder::interleaved) return {};
  RecipeData wrong = right;
  wrong.plan.parameters.x_packing.order = CodeOrder::stream;
  DEQUANT_CHECK(visitor("order_not_undone", wrong));
  CodeOrder& of_zeros = wrong.plan.parameters.zero_point_packing.order;
  if (of_zeros != CodeOrder::interleaved) return {};
  of_zeros = CodeOrder::stream;
  return visitor("order_not_undone", wrong);
}

Status visit_codes(const RecipeData& right, const VariantVisitor& visitor) {
  const int64_t code_bits =
      has_packed_codes(right.plan) ? right.plan.parameters.x_packing.bits : bits(right.plan.input);
  if (code_bits != 4) return {};
  RecipeData wrong = right;
  for (std::byte& b : wrong.x) b = b << 4 | b >> 4;
  return visitor("nibbles_swapped", wrong);
}

/// Groups in order, as of a checkpoint without act-order.
Status visit_groups(const RecipeData& right, const VariantVisitor& visitor) {
  const int64_t groups = right.plan.parameters.group_index.groups;
  if (groups == 0) return {};
  RecipeData wrong = right;
  const auto count = static_cast<int64_t>(right.group_index.size() / sizeof(int32_t));
  const int64_t length = (count + groups - 1) / groups;
  for (int64_t i = 0; i < count; ++i) {
    const auto group = static_cast<int32_t>(i / length);
    std::memcpy(wrong.group_index.data() + i * static_cast<int64_t>(sizeof group), &group,
                sizeof group);
  }
  return visitor("group_index_ignored", wrong);
}

/// Blocks spread evenly over a dimension whose last block is short.
Status visit_blocks(const RecipeData& right, const VariantVisitor& visitor) {
  RecipeData wrong = right;
  bool changed = false;
  for (Dimension& d : wrong.plan.dimensions) {
    if (d.block <= 1 || d.size % d.block == 0) continue;
    const int64_t blocks = (d.size + d.block - 1) / d.block;
    d.block = std::max<int64_t>(d.size / blocks, 1);
    changed = true;
    if (d.block * blocks < d.size) return {};  // such a loader would fail
  }
  return changed ? visitor("other_block_size", wrong) : Status{};
}

}  // namespace

Result<RecipeData> RecipeData::read(ModelFile& file, const DenseTensor& tensor, int64_t memory) {
  DEQUANT_TRY(RecipeReaders readers, open_readers(file, tensor, {.memory = memory}));
  RecipeData data;
  data.plan = tensor.recipe->plan;
  const auto whole = [&](std::unique_ptr<StoredReader>& reader,
                         std::vector<std::byte>& out) -> Status {
    if (!reader) return {};
    DEQUANT_TRY(out, reader->whole(memory));
    return {};
  };
  DEQUANT_CHECK(whole(readers.codes, data.x));
  DEQUANT_CHECK(whole(readers.scale, data.scale));
  DEQUANT_CHECK(whole(readers.zero_point, data.zero_point));
  DEQUANT_CHECK(whole(readers.tensor_scale, data.tensor_scale));
  DEQUANT_CHECK(whole(readers.group_index, data.group_index));
  DEQUANT_CHECK(whole(readers.codebook, data.codebook));
  return data;
}

Result<std::vector<std::byte>> RecipeData::compute(Range elements, Element output) const {
  Plan typed = plan;
  typed.output = output;
  DEQUANT_TRY(const int64_t size, packed_bytes(output, elements.end - elements.begin));
  std::vector<std::byte> y(static_cast<size_t>(size));
  const Slices slices = slices_of(plan, elements);
  const auto part = [](const std::vector<std::byte>& all, Range bytes) {
    return std::span(all).subspan(static_cast<size_t>(bytes.begin),
                                  static_cast<size_t>(bytes.end - bytes.begin));
  };
  const Buffers buffers{
      .x = part(x, x_bytes_of(plan, slices.x)),
      .scale = part(scale, bytes_of(plan.scale, slices.scale)),
      .zero_point = part(zero_point, zero_point_bytes_of(plan, slices.zero_point)),
      .y = y,
      .tensor_scale = tensor_scale,
      .group_index = part(group_index, bytes_of(Element::int32, slices.group_index)),
      .codebook = codebook};
  DEQUANT_CHECK(run_range(typed, elements, buffers));
  return y;
}

std::vector<float> RecipeData::scales() const {
  const auto count = static_cast<int64_t>(scale.size()) * 8 / bits(plan.scale);
  float second = 1;
  if (!tensor_scale.empty()) std::memcpy(&second, tensor_scale.data(), sizeof second);
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) {
    auto s = static_cast<float>(value_of(plan.scale, load_code(plan.scale, scale, i)));
    if (plan.parameters.reciprocal_scale) s = 1 / s;
    if (plan.parameters.tensor_scale == TensorScale::multiply) s *= second;
    if (plan.parameters.tensor_scale == TensorScale::divide) s /= second;
    out.push_back(s);
  }
  return out;
}

Status for_each_variant(const RecipeData& right, const VariantVisitor& visitor) {
  if (takes_ranges(right.plan.rule) || right.plan.parameters.x_blocks) return {};
  DEQUANT_CHECK(visit_scales(right, visitor));
  DEQUANT_CHECK(visit_zero_points(right, visitor));
  DEQUANT_CHECK(visit_codes(right, visitor));
  DEQUANT_CHECK(visit_order(right, visitor));
  DEQUANT_CHECK(visit_groups(right, visitor));
  return visit_blocks(right, visitor);
}

/// The library rounds: each number is the scale of one code 1.
std::vector<std::byte> rounded(const std::vector<float>& numbers, Element element) {
  const auto count = static_cast<int64_t>(numbers.size());
  const Plan plan{.input = Element::int8,
                  .output = element,
                  .granularity = Granularity::per_axis,
                  .axis = count};
  const std::vector<std::byte> ones(numbers.size(), std::byte{1});
  std::vector<std::byte> y(numbers.size() * static_cast<size_t>(bits(element)) / 8);
  if (count != 0) run(plan, {ones, std::as_bytes(std::span(numbers)), {}, y}).value();
  return y;
}

}  // namespace dequant::format
