// The shapes of checkpoints: layouts of codes, and arithmetic after the product.
#include <algorithm>
#include <array>

#include "bench/measure/shapes.h"

namespace dequant::bench {
namespace {
namespace checkpoints {

using enum CodeOrder;

constexpr int64_t kRow = 4096;  // columns of a matrix

int64_t rows(int64_t elements) { return std::max<int64_t>(elements / kRow, 1); }

/// [rows, kRow] in blocks along the columns.
void blocked(Plan& plan, int64_t elements, int64_t block) {
  plan.granularity = Granularity::blocked;
  plan.outer = rows(elements);
  plan.axis = kRow;
  plan.block = block;
}

/// Rows of so many bits for each code.
template <CodeOrder kOrder, int32_t kBits, int64_t kBlock>
void in_rows(Plan& plan, int64_t elements) {
  blocked(plan, elements, kBlock);
  plan.parameters.x_packing = {.order = kOrder, .bits = kBits, .row = kRow};
}

/// MLX: the bias of a group is added to the rounded product. Codes are a stream of kBits each; 0:
/// elements of x.
template <int32_t kBits, int64_t kBlock>
void with_bias(Plan& plan, int64_t elements) {
  if (kBits == 0) {
    blocked(plan, elements, kBlock);
  } else {
    in_rows<stream, kBits, kBlock>(plan, elements);
  }
  plan.parameters.zero_point = plan.output;
  plan.parameters.zero_point_role = ZeroPointRole::add_after;
  if (plan.output != Element::float32) plan.parameters.result_rounding = plan.output;
}

/// bitsandbytes: a table of 16 values.
template <int64_t kBlock>
void with_codebook(Plan& plan, int64_t elements) {
  blocked(plan, elements, kBlock);
  plan.has_zero_point = false;
  plan.parameters.codebook = true;
  plan.parameters.x_packing = {.order = high_first, .bits = 4};
}

/// HQQ: zero points are fractions in float16.
template <int32_t kBits, int64_t kBlock>
void in_slabs(Plan& plan, int64_t elements) {
  blocked(plan, elements, kBlock);
  const int64_t codes_of_word = (8 % kBits == 0 ? 8 : 32) / kBits;
  const int64_t words = (element_count(plan) + codes_of_word - 1) / codes_of_word;
  plan.parameters.zero_point = Element::float16;
  plan.parameters.x_packing = {.order = slabs_high_first, .bits = kBits, .columns = words};
}

void make_strided(Plan& plan, std::vector<Dimension> dimensions) {
  plan.granularity = Granularity::strided;
  plan.dimensions = std::move(dimensions);
}

/// GPTQ: words of a row run down a column of the stored matrix.
template <CodeOrder kOrder, int32_t kBits, int64_t kBlock>
void down_columns(Plan& plan, int64_t elements) {
  const int64_t n = rows(elements);
  make_strided(
      plan, {{n, kRow, 1, 1, kRow}, {kRow / kBlock, kBlock, n, n, kBlock}, {kBlock, 1, 0, 0, 1}});
  plan.parameters.x_packing = {.order = kOrder, .bits = kBits, .row = kRow, .columns = n};
  plan.parameters.zero_point_packing = {.order = stream, .bits = kBits, .row = n};
}

/// The same with a group index. One group: all entries are 0, so a tile is in one group, as in an
/// index without act-order. More groups: entries are random, as with act-order.
template <int64_t kGroups>
void indexed(Plan& plan, int64_t elements) {
  const int64_t n = rows(elements);
  make_strided(plan, {{n, kRow, 1, 1, kRow}, {kRow, 1, 0, 0, 1, 1, 1}});
  plan.parameters.x_packing = {.order = stream, .bits = 4, .row = kRow, .columns = n};
  plan.parameters.zero_point_packing = {.order = stream, .bits = 4, .row = n};
  plan.parameters.group_index = {.groups = kGroups, .scale = n, .zero_point = n};
}

/// compressed-tensors with act-order: rows of codes, and a group index of random entries.
template <int64_t kGroups>
void in_rows_indexed(Plan& plan, int64_t elements) {
  const int64_t n = rows(elements);
  make_strided(plan, {{n, kRow, kGroups, kGroups, kRow}, {kRow, 1, 0, 0, 1, 1, 1}});
  plan.has_zero_point = false;
  plan.parameters.x_packing = {.order = stream, .bits = 4, .row = kRow};
  plan.parameters.group_index = {.groups = kGroups, .scale = 1, .zero_point = 1};
}

/// AWQ: rows of x are columns of y.
template <int64_t kBlock>
void as_columns(Plan& plan, int64_t elements) {
  const int64_t n = rows(elements);
  make_strided(
      plan, {{n, 1, 1, 1, kRow}, {kRow / kBlock, kBlock * n, n, n, kBlock}, {kBlock, n, 0, 0, 1}});
  const Packing packing{.order = interleaved, .bits = 4, .row = n};
  plan.parameters.x_packing = plan.parameters.zero_point_packing = packing;
}

/// compressed-tensors: zero points are packed along the rows.
template <int32_t kBits, int64_t kBlock>
void with_packed_zeros(Plan& plan, int64_t elements) {
  const int64_t n = rows(elements);
  const int64_t groups = kRow / kBlock;
  make_strided(plan,
               {{n, kRow, groups, 1, kRow}, {groups, kBlock, 1, n, kBlock}, {kBlock, 1, 0, 0, 1}});
  plan.parameters.x_packing = {.order = stream, .bits = kBits, .row = kRow};
  plan.parameters.zero_point_packing = {
      .order = stream, .bits = kBits, .row = n, .columns = groups};
}

/// Results rounded to the other type of 16 bits, or to bfloat16.
template <int64_t kBlock>
void rounded(Plan& plan, int64_t elements) {
  using enum Element;
  blocked(plan, elements, kBlock);
  plan.parameters.result_rounding = plan.output == bfloat16 ? float16 : bfloat16;
}

/// bitsandbytes: a second factor.
void with_factor(Plan& plan, int64_t elements) {
  plan.granularity = Granularity::per_axis;
  plan.has_zero_point = false;
  plan.axis = rows(elements);
  plan.inner = kRow;
  plan.parameters.result_factor = 0.007874015718698502F;
}

/// gpt-oss: rows of x in blocks are columns of y, of about the sizes of its experts. Many columns
/// fill whole cache lines of y.
template <int64_t kBlock>
void columns_of_blocks(Plan& plan, int64_t elements) {
  constexpr int64_t kRows = 2880;
  constexpr int64_t kBlocks = kRows / kBlock;
  const int64_t experts = std::max<int64_t>(elements / (kRows * 2 * kRows), 1);
  const int64_t each = std::max<int64_t>(elements / experts / kRows, 1);
  const int64_t columns = each > kRows ? each / 64 * 64 : each;
  const int64_t matrix = kRows * columns;
  make_strided(plan, {{experts, matrix, matrix / kBlock, matrix / kBlock, matrix},
                      {kBlocks, kBlock, 1, 1, kBlock * columns},
                      {kBlock, 1, 0, 0, columns},
                      {columns, kRows, kBlocks, kBlocks, 1}});
}

/// AWQ's layout GEMV: rows of scales are longer than their groups.
template <int64_t kBlock>
void padded_groups(Plan& plan, int64_t elements) {
  constexpr int64_t kGroups = kRow / kBlock;
  constexpr int64_t kPadded = kGroups + 8;
  make_strided(plan, {{rows(elements), kRow, kPadded, kPadded, kRow},
                      {kGroups, kBlock, 1, 1, kBlock},
                      {kBlock, 1, 0, 0, 1}});
}

/// ModelOpt: a byte has the codes of two rows.
template <int64_t kBlock>
void row_pairs(Plan& plan, int64_t elements) {
  constexpr int64_t kGroups = kRow / kBlock;
  make_strided(plan,
               {{std::max<int64_t>(rows(elements) / 2, 1), 2 * kRow, 2 * kGroups, 0, 2 * kRow},
                {2, 1, kGroups, 0, kRow},
                {kGroups, 2 * kBlock, 1, 0, kBlock},
                {kBlock, 2, 0, 0, 1}});
  plan.has_zero_point = false;
}

constexpr std::array kLayouts{
    Shape{"stream_3_of_32", in_rows<stream, 3, 32>},
    Shape{"stream_4_of_32", in_rows<stream, 4, 32>},
    Shape{"stream_5_of_64", in_rows<stream, 5, 64>},
    Shape{"stream_6_of_64", in_rows<stream, 6, 64>},
    Shape{"words_3_of_32", in_rows<words, 3, 32>},
    Shape{"words_5_of_32", in_rows<words, 5, 32>},
    Shape{"planes_5_of_128", in_rows<planes, 5, 128>},
    Shape{"bias_3_of_64", with_bias<3, 64>},
    Shape{"bias_6_of_64", with_bias<6, 64>},
    Shape{"codebook_of_64", with_codebook<64>},
    Shape{"slabs_3_of_64", in_slabs<3, 64>},
    Shape{"slabs_4_of_64", in_slabs<4, 64>},
    Shape{"packed_zeros_3_of_32", with_packed_zeros<3, 32>},
    Shape{"down_columns_4_of_128", down_columns<stream, 4, 128>},
    Shape{"down_columns_3_of_32", down_columns<stream, 3, 32>},
    Shape{"down_columns_8_of_128", down_columns<stream, 8, 128>},
    Shape{"planes_down_columns_5_of_128", down_columns<planes, 5, 128>},
    Shape{"rows_4_indexed", in_rows_indexed<32>},
    Shape{"down_columns_4_indexed", indexed<32>},
    Shape{"down_columns_4_in_order", indexed<1>},
    Shape{"as_columns_4_of_128", as_columns<128>},
    Shape{"as_columns_4_of_32", as_columns<32>},
};

constexpr std::array kArithmetic{
    Shape{"rounded_of_32", rounded<32>},
    Shape{"rounded_of_128", rounded<128>},
    Shape{"factor_of_rows", with_factor},
};

constexpr std::array kTransposed{
    Shape{"columns_of_32", columns_of_blocks<32>},
};

constexpr std::array kOfUint4{
    Shape{"bias_of_64", with_bias<0, 64>},
    Shape{"padded_groups_of_128", padded_groups<128>},
};

constexpr std::array kOfInt4{
    Shape{"row_pairs_of_128", row_pairs<128>},
};

}  // namespace checkpoints
}  // namespace

std::span<const Shape> layout_shapes() noexcept { return checkpoints::kLayouts; }
std::span<const Shape> arithmetic_shapes() noexcept { return checkpoints::kArithmetic; }
std::span<const Shape> transposed_shapes() noexcept { return checkpoints::kTransposed; }
std::span<const Shape> uint4_shapes() noexcept { return checkpoints::kOfUint4; }
std::span<const Shape> int4_shapes() noexcept { return checkpoints::kOfInt4; }

}  // namespace dequant::bench
