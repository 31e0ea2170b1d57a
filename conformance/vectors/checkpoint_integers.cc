// Nodes of schemes whose codes are integers, or indices of a table.
#include <array>

#include "conformance/vectors/checkpoint.h"

namespace dequant::conformance::vectors {
namespace {

using enum Element;
using Name = std::string_view;

/// The words of 32 bits of a stream of codes.
int64_t words_of(int64_t codes, int64_t bits) { return blocks_of(codes * bits, 32); }

CheckpointNode awq_gemv(Choices& c) {
  const int64_t out = c.in(2, 5);
  const int64_t size = c.each<int64_t>({32, 64, 128}, "_a_group");
  const bool one = c.each<Name>({"groups", "one_group"}) == "one_group";
  const int64_t groups = one ? 1 : c.in(2, 3);
  const int64_t words = 128 / size;  // of a row of zero points, for up to 8 groups
  return {{{"qweight", int32, {out, groups * size / 8}},
           {"qzeros", int32, {out, words}},
           {"scales", c.any({float16, bfloat16, float32}), {out, words * 8}}},
          {{"group_size", one ? -1 : size}, {"version", "gemv"}},
          one ? "one_group" : "groups"};
}

CheckpointNode awq(Choices& c) {
  if (c.each<Name>({"gemm", "gemv"}) == "gemv") return awq_gemv(c);
  const Name form = c.each<Name>({"groups", "short_group", "one_group"});
  const Element scale = c.each({float16, bfloat16, float32});
  const auto [in, size, groups] = groups_of(c, form);
  const int64_t words = c.in(1, 2);
  return {{{"qweight", int32, {in, words}},
           {"qzeros", int32, {groups, words}},
           {"scales", scale, {groups, words * 8}}},
          {{"group_size", form == "one_group" ? -1 : size}},
          std::string(form)};
}

CheckpointNode bitnet(Choices& c) {
  const Name linear_class = c.each<Name>({"bitlinear", "autobitlinear"});
  const Element type = c.each({bfloat16, float16, float32});
  CheckpointNode node{{{"weight", uint8, {c.in(8, 12), c.in(12, 18)}},
                       {"weight_scale", type, c.any<Sizes>({{1}, {}})}},
                      {{"linear_class", std::string(linear_class)}},
                      "per_tensor"};
  node.tensors[0].any_rows = true;
  return node;
}

CheckpointNode bitsandbytes(Choices& c) {
  const Element stored = c.each({uint8, int8, bfloat16, float32});
  const Name form = c.each<Name>({"blocks", "short_block"});
  const int64_t blocksize = c.each<int64_t>({64, 128}, "_a_block");
  const int64_t odd = stored == uint8 ? 1 : 0;  // other types hold whole pairs of codes
  const int64_t count = blocksize + (form == "blocks" ? blocksize : c.in(1, 4) * 8 - odd);
  const int64_t rows = count % 3 == 0 ? 3 : 1;
  return {{{"weight", stored, {blocks_of(count, 2) * 8 / bits(stored), 1}},
           {"absmax", float32, {blocks_of(count, blocksize)}},
           {"quant_map", float32, {16}}},
          {{"shape", Sizes{rows, count / rows}}, {"blocksize", blocksize}},
          std::string(form)};
}

CheckpointNode bitsandbytes_absmax(Choices& c) {
  const Name form = c.each<Name>({"blocks", "short_block"});
  const int64_t blocksize = c.each<int64_t>({64, 256}, "_a_block");
  const int64_t count = blocksize + (form == "blocks" ? 0 : c.in(1, blocksize / 2));
  return {{{"absmax", uint8, {count}},
           {"nested_absmax", float32, {blocks_of(count, blocksize)}},
           {"nested_quant_map", float32, {256}},
           {"nested_offset", float32, c.any<Sizes>({{}, {1}})}},
          {{"nested_blocksize", blocksize}},
          std::string(form)};
}

CheckpointNode bitsandbytes_int8(Choices& c) {
  const bool tall = c.each<Name>({"tall", "wide"}) == "tall";
  const Sizes shape{c.in(tall ? 16 : 2, 18), c.in(tall ? 16 : 130, tall ? 18 : 140)};
  return {{{"weight", int8, shape}, {"SCB", float32, {shape[0]}}}, {}, "per_row"};
}

CheckpointNode gptq(Choices& c) {
  const Name format = c.each<Name>({"gptq", "gptq_v2", "gptq_p"});
  const bool planes = format == "gptq_p";
  const int64_t width =
      planes ? c.each<int64_t>({3, 5, 6, 7}, "_bits") : c.each<int64_t>({4, 2, 3, 8}, "_bits");
  const Name form = c.each<Name>({"groups", "short_group", "one_group", "act_order"});
  const bool first = format == "gptq" && 32 % width == 0;
  const Name carry = first ? c.each<Name>({"field", "word"}) : "field";
  Groups g = groups_of(c, form);
  if (form == "groups") g = {32, 16, 2};  // whole words, which need no in_features
  const auto row = [&](int64_t codes) { return planes ? blocks_of(codes, 32) * 32 : codes; };
  const int64_t out = c.in(5, 12);
  const Element word = c.any({int32, uint32});
  CheckpointNode node{{{"qweight", word, {words_of(row(g.columns), width), out}},
                       {"qzeros", word, {g.count, words_of(row(out), width)}},
                       {"scales", c.any({float16, bfloat16, float32}), {g.count, out}}},
                      {{"bits", width}, {"format", std::string(format)}},
                      std::string(form)};
  if (first) node.attributes["carry"] = std::string(carry);
  if (form == "act_order") {
    node.tensors.push_back({"g_idx", int32, {g.columns}, g.count});
    return node;
  }
  node.attributes["group_size"] = form == "one_group" ? -1 : g.size;
  if (form != "groups") node.attributes["in_features"] = g.columns;
  return node;
}

CheckpointNode hqq(Choices& c) {
  const int64_t width = c.each<int64_t>({4, 1, 2, 3, 8}, "_bits");
  const int64_t axis = c.each<int64_t>({1, 0}, "_axis");
  const Element type = c.each({float16, bfloat16, float32});
  const int64_t codes = width == 3 ? 10 : 8 / width;  // of a word, one in each slab
  const int64_t slabs = width == 3 ? c.in(11, 19) : codes * c.in(1, 2);
  const int64_t other = c.in(9, 16);
  const Sizes matrix{slabs, other};
  const int64_t group = axis == 1 ? other : slabs;
  const Sizes shape = slabs % 2 == 0 ? Sizes{slabs / 2, other * 2} : matrix;
  const Sizes parameters = axis == 1 ? Sizes{slabs, 1} : Sizes{1, other};
  return {{{"W_q", width == 3 ? int32 : uint8, {blocks_of(slabs, codes), other}},
           {"scale", type, parameters},
           {"zero", type, parameters}},
          {{"bits", width}, {"axis", axis}, {"group_size", group}, {"shape", shape}},
          axis == 1 ? "groups_of_rows" : "groups_of_columns"};
}

CheckpointNode mlx(Choices& c) {
  const Name mode = c.each<Name>({"affine", "mxfp4", "mxfp8", "nvfp4"});
  const bool affine = mode == "affine";
  const int64_t width = affine            ? c.each<int64_t>({4, 1, 2, 3, 5, 6, 8}, "_bits")
                        : mode == "mxfp8" ? 8
                                          : 4;
  const int64_t group = affine            ? c.each<int64_t>({32, 64, 128}, "_a_group")
                        : mode == "nvfp4" ? 16
                                          : 32;
  const Element type = affine ? c.each({float16, bfloat16, float32}) : uint8;
  const int64_t groups = group == 128 ? 1 : c.in(1, 2) * 32 / (group == 16 ? 16 : 32);
  Sizes words{affine ? c.in(1, 2) : c.in(4, 6), groups * group * width / 32};
  Sizes scales{words[0], groups};
  if (c.in(0, 2) == 0) words.insert(words.begin(), 1), scales.insert(scales.begin(), 1);
  CheckpointNode node{{{"weight", uint32, words}, {"scales", type, scales}},
                      {{"mode", std::string(mode)}, {"bits", width}, {"group_size", group}},
                      std::string(affine ? "groups" : "blocks")};
  if (affine) node.tensors.push_back({"biases", type, scales});
  if (mode == "mxfp4" || mode == "mxfp8") node.tensors[1].as = float8e8m0;
  return node;
}

CheckpointNode quanto(Choices& c) {
  const int64_t width = c.each<int64_t>({4, 2, 8}, "_bits");
  const Element type = c.each({float16, bfloat16, float32});
  const Sizes rows{c.in(9, 18), c.in(12, 18)};
  if (width == 8) {
    const Element data = c.each({int8, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz});
    const Name form = c.each<Name>({"per_row", "per_column", "per_tensor"});
    const Sizes scale = form == "per_row"      ? Sizes{rows[0], 1}
                        : form == "per_column" ? Sizes{1, rows[1]}
                                               : Sizes{};
    return {{{"data", data, rows}, {"scale", type, scale}}, {{"bits", width}}, std::string(form)};
  }
  const Sizes scale{rows[0], 1};
  CheckpointNode node{{{"data", uint8, {blocks_of(rows[0], 8 / width), rows[1]}},
                       {"scale", type, scale},
                       {"shift", type, scale}},
                      {{"bits", width}},
                      "groups"};
  if (c.in(0, 1) == 0) node.attributes["shape"] = Sizes{rows[0] * rows[1], 1};
  return node;
}

CheckpointNode quark(Choices& c) {
  const Name dtype = c.each<Name>({"int8", "int4", "uint4"});
  const Element type = c.each({float32, float16, bfloat16});
  const Name zero = dtype == "uint4" ? "zero_points" : c.each<Name>({"", "zero_points"});
  CheckpointNode node{{}, {{"weight_dtype", std::string(dtype)}}, {}};
  if (dtype == "int8") {
    const Sizes shape{c.in(12, 18), c.in(16, 20)};
    node.granularity = c.each<Name>({"per_row", "per_tensor"});
    const Sizes scale = node.granularity == "per_row" ? Sizes{shape[0]} : c.any<Sizes>({{}, {1}});
    node.tensors = {{"weight", int8, shape}, {"weight_scale", type, scale}};
    if (!zero.empty()) node.tensors.push_back({"weight_zero_point", int8, scale});
    return node;
  }
  node.granularity = c.each<Name>({"groups", "short_group"});
  const auto [in, size, groups] = groups_of(c, node.granularity);
  const int64_t words = c.in(1, 2);
  node.attributes["group_size"] = size;
  node.tensors = {{"weight", int32, {in, words}}, {"weight_scale", type, {groups, words * 8}}};
  if (!zero.empty()) node.tensors.push_back({"weight_zero_point", int32, {groups, words}});
  return node;
}

}  // namespace

MakeNode integers_of(std::string_view scheme) {
  constexpr std::array<std::pair<Name, MakeNode>, 10> kNodes{{
      {"awq", awq},
      {"bitnet", bitnet},
      {"bitsandbytes", bitsandbytes},
      {"bitsandbytes_absmax", bitsandbytes_absmax},
      {"bitsandbytes_int8", bitsandbytes_int8},
      {"gptq", gptq},
      {"hqq", hqq},
      {"mlx", mlx},
      {"quanto", quanto},
      {"quark", quark},
  }};
  for (const auto& [name, make] : kNodes) {
    if (name == scheme) return make;
  }
  return nullptr;
}

}  // namespace dequant::conformance::vectors
