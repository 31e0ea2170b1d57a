// Nodes of schemes whose codes are floats, and of tools that store both floats and integers.
#include <array>

#include "conformance/vectors/checkpoint.h"

namespace dequant::conformance::vectors {
namespace {

using enum Element;
using Name = std::string_view;

constexpr std::initializer_list<Element> kFloat8{float8e4m3fn, float8e4m3fnuz, float8e5m2,
                                                 float8e5m2fnuz};

/// A matrix that has every code of 8 bits, and blocks of a part of it.
struct Grid {
  Sizes size;
  Sizes block;
  Sizes blocks;
};

/// Blocks on both axes: whole ones, or short last ones.
Grid grid_of(Choices& c, bool whole) {
  const Sizes block{c.in(3, 6), c.in(5, 8)};
  const Sizes size{block[0] * 3 - (whole ? 0 : c.in(1, 2)),
                   block[1] * 3 - (whole ? 0 : c.in(1, 4))};
  return {size, block, {blocks_of(size[0], block[0]), blocks_of(size[1], block[1])}};
}

CheckpointNode fp8(Choices& c) {
  const Element weight = c.each(kFloat8);
  const Element scale = c.each({float32, float16, bfloat16, float8e8m0, uint8});
  const Name form = c.each<Name>({"blocks", "short_blocks", "per_row", "per_column", "per_tensor"});
  const Grid g = grid_of(c, form == "blocks");
  CheckpointNode node{
      {{"weight", weight, g.size}, {"weight_scale", scale, g.blocks}}, {}, std::string(form)};
  if (scale == uint8) node.tensors[1].as = float8e8m0;
  Sizes& shape = node.tensors[1].shape;
  if (form == "per_row") shape = c.any<Sizes>({{g.size[0]}, {g.size[0], 1}});
  if (form == "per_column") shape = {1, g.size[1]};
  if (form == "per_tensor") shape = c.any<Sizes>({{}, {1}, {1, 1}});
  if (form.ends_with("blocks")) node.attributes["block"] = g.block;
  return node;
}

CheckpointNode gptoss(Choices& c) {
  const Name layout = c.each<Name>({"transposed", "as_stored"});
  const Element scale = c.each({uint8, float8e8m0});
  const Sizes groups{2, c.in(3, 4), 2};
  return {{{"blocks", uint8, {groups[0], groups[1], groups[2], 16}},
           {"scales", scale, groups, 0, float8e8m0}},
          {{"transposed", layout == "transposed"}},
          "blocks"};
}

CheckpointNode modelopt(Choices& c) {
  const Name algorithm =
      c.each<Name>({"NVFP4", "MXFP4", "MXFP8", "FP8", "FP8_PER_CHANNEL_PER_TOKEN",
                    "W8A8_SQ_PER_CHANNEL", "FP8_PB_WO", "W4A16_AWQ"});
  CheckpointNode node{{}, {{"quant_algo", std::string(algorithm)}}, "per_row"};
  const Element code = algorithm.starts_with("W8A8") ? int8 : float8e4m3fn;
  const Sizes size{c.in(13, 16), c.in(20, 24)};
  if (algorithm == "NVFP4") {
    node.granularity = "blocks";
    const Sizes shape{c.in(4, 8), c.in(1, 2)};
    const bool transposed = c.each<Name>({"rows", "columns"}) == "columns";
    const Sizes columns{2, shape[1], shape[0]};
    node.tensors = {{"weight", uint8,
                     transposed ? Sizes{2, shape[1] * 8, shape[0]} : Sizes{shape[0], shape[1] * 8}},
                    {"weight_scale", float8e4m3fn, transposed ? columns : shape},
                    {"weight_scale_2", float32, c.any<Sizes>({{}, {1}})}};
    if (transposed) node.attributes["transposed"] = true;
  } else if (algorithm.starts_with("MX")) {
    node.granularity = "blocks";
    const Element scale = c.each({uint8, float8e8m0});
    const int64_t width = algorithm == "MXFP4" ? 16 : 32;
    const Sizes shape{c.in(4, 6), c.in(1, 2)};
    node.tensors = {{"weight", algorithm == "MXFP4" ? uint8 : code, {shape[0], shape[1] * width}},
                    {"weight_scale", scale, shape, 0, float8e8m0}};
  } else if (algorithm == "W4A16_AWQ") {
    node.granularity = c.each<Name>({"groups", "one_group"});
    const Sizes shape{c.in(4, 6), node.granularity == "groups" ? c.in(2, 3) : 1};
    const int64_t group = c.in(8, 20);
    node.tensors = {{"weight", uint8, {shape[0], shape[1] * group}},
                    {"weight_scale", float32, {2 * shape[0], shape[1]}}};
    if (c.in(0, 1) == 0) node.attributes["group_size"] = group;
  } else if (algorithm == "FP8_PB_WO") {
    node.granularity = "blocks";
    const bool tall = c.each<Name>({"tall", "wide"}) == "tall";
    const int64_t length = 128 + c.in(1, 20);
    const Sizes grid = tall ? Sizes{2, 1} : Sizes{1, 2};
    node.tensors = {{"weight", code, tall ? Sizes{length, 2} : Sizes{2, length}},
                    {"weight_scale", float32, grid}};
    if (c.in(0, 1) == 0) node.tensors[1].shape = {grid[0], 1, grid[1], 1};
  } else {
    const bool one = algorithm == "FP8";
    if (one) node.granularity = "per_tensor";
    node.tensors = {{"weight", code, size},
                    {"weight_scale", float32, one ? c.any<Sizes>({{}, {1}}) : Sizes{size[0]}}};
  }
  return node;
}

CheckpointNode mx(Choices& c) {
  const Element element = c.each({float4e2m1, float6e2m3, float6e3m2, float8e4m3fn, float8e4m3fnuz,
                                  float8e5m2, float8e5m2fnuz});
  const Name stored = c.each<Name>({"", "as_uint8", "as_int8"});
  const Name form = c.each<Name>({"blocks", "short_block"});
  const int64_t columns = form == "blocks" ? 32 * c.in(1, 2) : 32 + 4 * c.in(1, 7);
  const int64_t rows = c.in(4, 5);
  const Element scale = c.any({float8e8m0, uint8});
  const int64_t row = stored.empty() ? columns : columns * bits(element) / 8;
  const Element type = stored.empty() ? element : stored == "as_uint8" ? uint8 : int8;
  return {{{"weight", type, {rows, row}},
           {"scale", scale, {rows, blocks_of(columns, 32)}, 0, float8e8m0}},
          {{"element", std::string(name(element))}},
          std::string(form)};
}

CheckpointNode torchao(Choices& c) {
  const Element qdata = c.each({int8, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz});
  const Element type = c.each({float32, float16, bfloat16});
  const Name form = c.each<Name>({"blocks", "short_blocks", "groups", "per_row"});
  Grid g = grid_of(c, form != "short_blocks");
  if (form == "groups") g.block[0] = 1;
  if (form == "per_row") g.block = {1, g.size[1]};
  g.blocks = {blocks_of(g.size[0], g.block[0]), blocks_of(g.size[1], g.block[1])};
  CheckpointNode node{{{"qdata", qdata, g.size}, {"scale", type, g.blocks}},
                      {{"block_size", g.block}},
                      std::string(form)};
  if (qdata == int8 && c.each<Name>({"", "zero_points"}) != "")
    node.tensors.push_back({"zero_point", int8, g.blocks});
  return node;
}

/// Words of compressed-tensors: padded where codes do not fill these, or dense.
CheckpointNode packed(Choices& c) {
  const int64_t width = c.each<int64_t>({4, 2, 3, 5, 6, 7, 8}, "_bits");
  const Name words = 32 % width == 0 ? "" : c.each<Name>({"padded", "dense"});
  const Name form = c.each<Name>({"groups", "short_group", "act_order", "channel", "tensor"});
  const Name zero = form == "tensor" ? c.each<Name>({"", "int8_zero_points"})
                                     : c.each<Name>({"", "int8_zero_points", "packed_zero_points"});
  const auto row = [&](int64_t codes) {
    return words == "padded" ? blocks_of(codes, 32 / width) : blocks_of(codes * width, 32);
  };
  const auto [columns, size, groups] = groups_of(c, form);
  const int64_t rows = c.in(5, 12);
  const bool grouped = form != "channel" && form != "tensor";
  const Sizes scale = form == "tensor" ? Sizes{1} : Sizes{rows, groups};
  CheckpointNode node{{{"weight", int32, {rows, row(columns)}},
                       {"weight_scale", c.any({float32, float16, bfloat16}), scale}},
                      {{"num_bits", width},
                       {"strategy", std::string(grouped ? "group" : form)},
                       {"weight_shape", Sizes{rows, columns}}},
                      std::string(form)};
  if (grouped) node.attributes["group_size"] = size;
  if (!words.empty()) node.attributes["words"] = std::string(words);
  if (zero.starts_with("int8")) node.tensors.push_back({"weight_zero_point", int8, scale});
  if (zero.starts_with("packed"))
    node.tensors.push_back({"weight_zero_point", int32, {row(rows), scale[1]}});
  if (form == "act_order") node.tensors.push_back({"weight_g_idx", int32, {columns}, groups});
  return node;
}

/// Floats in blocks of compressed-tensors.
CheckpointNode float_blocks(Choices& c, Name format) {
  const bool nvfp4 = format.starts_with("nvfp4");
  const int64_t width = format.starts_with("mxfp8") ? 8 : format.starts_with("mxfp6") ? 6 : 4;
  const Sizes blocks{c.in(4, 6), c.in(1, 2)};
  const int64_t bytes = blocks[1] * (nvfp4 ? 16 : 32) * width / 8;
  CheckpointNode node{{{"weight", width == 8 ? float8e4m3fn : uint8, {blocks[0], bytes}},
                       {"weight_scale", nvfp4 ? float8e4m3fn : c.any({uint8, float8e8m0}), blocks}},
                      {},
                      "blocks"};
  if (nvfp4) node.tensors.push_back({"weight_global_scale", float32, {1}});
  if (!nvfp4) node.tensors[1].as = float8e8m0;
  return node;
}

/// An element for each code.
CheckpointNode code_elements(Choices& c, Name format) {
  const Element weight = format == "int-quantized"     ? int8
                         : format == "float-quantized" ? float8e4m3fn
                                                       : c.each({int8, float8e4m3fn});
  const Name form = c.each<Name>({"group", "channel", "tensor", "block"});
  const Element type = c.each({float32, float16, bfloat16});
  Grid g = grid_of(c, form != "block");
  if (form == "group") g.blocks[0] = g.size[0];
  if (form == "channel") g.blocks = {g.size[0], 1};
  if (form == "tensor") g.blocks = {1};
  CheckpointNode node{{{"weight", weight, g.size}, {"weight_scale", type, g.blocks}},
                      {{"strategy", std::string(form)}},
                      std::string(form)};
  if (form == "group") node.attributes["group_size"] = g.block[1];
  if (form == "block") node.attributes["block_structure"] = g.block;
  if (weight == int8 && c.each<Name>({"", "zero_points"}) != "")
    node.tensors.push_back({"weight_zero_point", int8, g.blocks});
  if (form == "group" && c.any({0, 1}) == 1)
    node.tensors.push_back({"weight_g_idx", int32, {g.size[1]}, g.blocks[1]});
  return node;
}

CheckpointNode compressed_tensors(Choices& c) {
  const Name format = c.each<Name>(
      {"pack-quantized", "int-quantized", "float-quantized", "naive-quantized",
       "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mxfp6-pack-quantized", "mxfp8-quantized"});
  CheckpointNode node = format == "pack-quantized"    ? packed(c)
                        : format.starts_with("nvfp4") ? float_blocks(c, format)
                        : format.starts_with("mx")    ? float_blocks(c, format)
                                                      : code_elements(c, format);
  node.attributes["format"] = std::string(format);
  return node;
}

}  // namespace

MakeNode floats_of(std::string_view scheme) {
  constexpr std::array<std::pair<Name, MakeNode>, 6> kNodes{{
      {"compressed_tensors", compressed_tensors},
      {"fp8", fp8},
      {"gptoss", gptoss},
      {"modelopt", modelopt},
      {"mx", mx},
      {"torchao", torchao},
  }};
  for (const auto& [name, make] : kNodes) {
    if (name == scheme) return make;
  }
  return nullptr;
}

}  // namespace dequant::conformance::vectors
