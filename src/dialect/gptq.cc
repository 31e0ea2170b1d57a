// GPTQ weights: codes in words down the columns of a transposed matrix.
#include "dequant/gptq.h"

#include "checked.h"
#include "dialect/linear.h"
#include "dialect/matrix.h"
#include "dialect/scheme.h"
#include "dialect/words.h"
#include "text.h"

namespace dequant::gptq {
namespace {

using enum Element;

constexpr ElementSet kWords{int32, uint32};
constexpr ElementSet kScales{float16, bfloat16, float32};
/// Codes of the smallest part of a row of planes.
constexpr int64_t kPlaneCodes = 32;

struct Sizes {
  int64_t out = 0;
  int64_t in = 0;
  int64_t groups = 0;
  int64_t in_row = 0;   ///< codes of an output, with what fills up planes
  int64_t out_row = 0;  ///< zero points of a group, likewise
};

bool is_planar(const Dequantize& node) { return node.format == Format::planar; }

Status check_types(const Dequantize& node) {
  const auto words = [](const TensorType& type, const char* what) -> Status {
    if (!kWords.contains(type.element)) {
      return invalid(what, ": element type ", name(type.element), " is neither int32 nor uint32");
    }
    if (type.shape.size() == 2 && checked_count(type.shape)) return {};
    return invalid(what, ": shape ", to_string(type.shape), " is not that of a matrix");
  };
  DEQUANT_CHECK(words(node.qweight, "qweight"));
  DEQUANT_CHECK(words(node.qzeros, "qzeros"));
  if (!kScales.contains(node.scales.element)) {
    return invalid("scales: element type ", name(node.scales.element),
                   " is not one of float16, bfloat16, float32");
  }
  if (node.scales.shape.size() != 2 || !checked_count(node.scales.shape)) {
    return invalid("scales: shape ", to_string(node.scales.shape), " is not that of a matrix");
  }
  if (node.g_idx && (node.g_idx->element != int32 || node.g_idx->shape.size() != 1)) {
    return invalid("g_idx: ", name(node.g_idx->element), to_string(node.g_idx->shape),
                   " is not an int32 for each input");
  }
  const int64_t b = node.bits;
  const bool known =
      is_planar(node) ? b == 3 || (b >= 5 && b <= 7) : b == 2 || b == 3 || b == 4 || b == 8;
  if (known) return check_output(node.output);
  return invalid("bits: ", b, " is not one of ", is_planar(node) ? "3, 5, 6, 7" : "2, 3, 4, 8");
}

/// Codes of a row with what fills up planes; nothing where these do not fit in 64 bits.
std::optional<int64_t> row_of(const Dequantize& node, int64_t codes) {
  if (!is_planar(node)) return codes;
  return checked_mul(ceil_div(codes, kPlaneCodes), kPlaneCodes);
}

std::optional<int64_t> words_of(const Dequantize& node, int64_t codes) {
  const auto row = row_of(node, codes);
  return row ? words_of_stream(*row, node.bits) : std::nullopt;
}

/// The inputs: as given, or as many as the words of qweight hold.
Result<int64_t> inputs_of(const Dequantize& node) {
  const int64_t words = node.qweight.shape[0];
  if (node.in_features < 0) return invalid("in_features: ", node.in_features, " is negative");
  int64_t in = node.in_features;
  if (node.g_idx) {
    const int64_t indexed = node.g_idx->shape[0];
    if (in != 0 && in != indexed) {
      return invalid("g_idx: ", indexed, " entries for the ", in, " of in_features");
    }
    in = indexed;
  } else if (in == 0) {
    const auto bits = checked_mul(words, 32);
    if (!bits || *bits % node.bits != 0) {
      return invalid("qweight: ", words, " words hold no whole number of codes of ", node.bits,
                     " bits, and neither g_idx nor in_features says how many these are");
    }
    return *bits / node.bits;
  }
  const auto needed = words_of(node, in);
  if (needed && *needed == words) return in;
  return invalid("qweight: ", words, " rows of words where ", in, " inputs of ", node.bits,
                 " bits need ", needed.value_or(INT64_MAX));
}

/// Demands that groups of the inputs are as many as the rows of scales.
Status check_groups(const Dequantize& node, int64_t in, int64_t groups) {
  if (node.g_idx) return {};  // its entries are checked where they are read
  if (node.group_size < 1 && node.group_size != -1) {
    return invalid("group_size: ", node.group_size, " is neither -1 nor a number of inputs");
  }
  const int64_t needed = node.group_size == -1 ? 1 : ceil_div(in, node.group_size);
  if (groups == needed || in == 0) return {};
  return invalid("scales: ", groups, " groups where ", in, " inputs in groups of ", node.group_size,
                 " need ", needed);
}

Result<Sizes> sizes_of(const Dequantize& node) {
  DEQUANT_CHECK(check_types(node));
  Sizes s{.out = node.scales.shape[1], .groups = node.scales.shape[0]};
  DEQUANT_TRY(s.in, inputs_of(node));
  if (node.qweight.shape[1] != s.out) {
    return invalid("scales: shape ", to_string(node.scales.shape), " has ", s.out,
                   " outputs where qweight, ", to_string(node.qweight.shape), ", has ",
                   node.qweight.shape[1]);
  }
  DEQUANT_CHECK(check_groups(node, s.in, s.groups));
  const auto words = words_of(node, s.out);
  if (node.qzeros.shape[0] != s.groups || !words || node.qzeros.shape[1] != *words) {
    return invalid("qzeros: shape ", to_string(node.qzeros.shape), " where ", s.out,
                   " zero points of ", node.bits, " bits for each of ", s.groups, " groups need [",
                   s.groups, ", ", words.value_or(INT64_MAX), "]");
  }
  s.in_row = *row_of(node, s.in);  // words_of() has a value for both
  s.out_row = *row_of(node, s.out);
  return s;
}

/// Zero points of 2, 4 and 8 bits are elements, others codes of a Packing. Returns the zero points
/// from a group to the next.
int64_t set_zero_points(const Dequantize& node, const Sizes& s, Plan& plan) {
  Parameters& p = plan.parameters;
  const auto bits = static_cast<int32_t>(node.bits);
  plan.has_zero_point = true;
  p.zero_point_overflow = ZeroPointOverflow::wrap;
  p.zero_point_offset = node.format == Format::v1 ? 1 : 0;
  if (32 % bits != 0) {
    p.zero_point = uint8;
    const CodeOrder order = is_planar(node) ? CodeOrder::planes : CodeOrder::stream;
    p.zero_point_packing = {order, bits, s.out_row, 0};
    return s.out_row;
  }
  p.zero_point = bits == 2 ? uint2 : bits == 4 ? uint4 : uint8;
  if (node.carry == Carry::word && node.format == Format::v1)
    p.zero_point_overflow = ZeroPointOverflow::carry;
  return node.qzeros.shape[1] * (32 / bits);
}

constexpr std::array kInputs{
    SchemeInput{"qweight", true, "int32 or uint32 [words, out]: codes down the columns"},
    SchemeInput{"qzeros", true, "int32 or uint32 [groups, words]: zero points along the rows"},
    SchemeInput{"scales", true, "float16, bfloat16 or float32 [groups, out]"},
    SchemeInput{"g_idx", false, "int32 [in]: the group of each input"},
};
constexpr std::array kSettings{
    SchemeSetting{"bits", "2, 3, 4 (the default) or 8; of gptq_p 3, 5, 6 or 7"},
    SchemeSetting{"group_size", "inputs that share a scale; -1, the default: all"},
    SchemeSetting{"in_features", "the inputs, where words have room for more"},
    SchemeSetting{"format", "gptq (the default: zero points minus 1), gptq_v2, gptq_p"},
    SchemeSetting{"carry", "of a zero point of all ones plus 1: field (the default) or word"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  constexpr std::array<std::string_view, 3> kFormats{"gptq", "gptq_v2", "gptq_p"};
  constexpr std::array<std::string_view, 2> kCarries{"field", "word"};
  Dequantize node{.qweight = arguments.type("qweight"),
                  .qzeros = arguments.type("qzeros"),
                  .scales = arguments.type("scales"),
                  .g_idx = arguments.optional_type("g_idx"),
                  .output = arguments.output()};
  DEQUANT_TRY(node.bits, arguments.integer("bits", 4));
  DEQUANT_TRY(node.group_size, arguments.integer("group_size", -1));
  DEQUANT_TRY(node.in_features, arguments.integer("in_features", 0));
  DEQUANT_TRY(const size_t format, arguments.one_of("format", kFormats, 0));
  node.format = static_cast<Format>(format);
  DEQUANT_TRY(const size_t carry, arguments.one_of("carry", kCarries, 0));
  node.carry = static_cast<Carry>(carry);
  DEQUANT_TRY(Plan plan, dequantize(node));
  DEQUANT_TRY(const auto shape, dense_shape(node));
  return SchemePlan{.plan = std::move(plan),
                    .shape = {shape.begin(), shape.end()},
                    .x = *arguments.index("qweight"),
                    .scale = *arguments.index("scales"),
                    .zero_point = arguments.index("qzeros"),
                    .group_index = arguments.index("g_idx")};
}

}  // namespace

Result<std::array<int64_t, 2>> dense_shape(const Dequantize& node) {
  DEQUANT_TRY(const Sizes s, sizes_of(node));
  return std::array{s.out, s.in};
}

Result<Plan> dequantize(const Dequantize& node) {
  DEQUANT_TRY(const Sizes s, sizes_of(node));
  Plan plan{.input = uint8, .scale = node.scales.element, .output = node.output};
  plan.parameters.x_packing = {is_planar(node) ? CodeOrder::planes : CodeOrder::stream,
                               static_cast<int32_t>(node.bits), s.in_row, s.out};
  const int64_t zero_group = set_zero_points(node, s, plan);
  const int64_t size = node.group_size == -1 ? s.in : node.group_size;
  return matrix_plan(std::move(plan), {.rows = s.out,
                                       .columns = s.in,
                                       .x_row = s.in_row,
                                       .scale = {1, s.out},
                                       .zero_point = {1, zero_group},
                                       .group = std::max<int64_t>(size, 1),
                                       .indexed = node.g_idx ? s.groups : 0});
}

}  // namespace dequant::gptq

namespace dequant {

const SchemeEntry kGptqScheme{
    {"gptq", "GPTQModel, AutoGPTQ, AutoRound", gptq::kInputs, gptq::kSettings}, &gptq::plan_of};

}  // namespace dequant
