// compressed-tensors in the list of schemes.
#include <array>

#include "dialect/compressed_tensors.h"
#include "dialect/scheme.h"

namespace dequant::compressed_tensors {
namespace {

constexpr std::array kInputs{
    SchemeInput{"weight", true,
                "int8 or float8e4m3fn, or weight_packed: int32 [out, words] or uint8 [out, bytes]"},
    SchemeInput{"weight_scale", true, "a float, float8e4m3fn or uint8, as the strategy demands"},
    SchemeInput{"weight_zero_point", false, "int8 as weight_scale, or int32 [words, groups]"},
    SchemeInput{"weight_global_scale", false, "of nvfp4: one float32"},
    SchemeInput{"weight_g_idx", false, "int32 [in]: the group of each column"},
};

/// In the order of Format.
constexpr std::array<std::string_view, 8> kFormats{
    "int-quantized",        "float-quantized",      "naive-quantized",      "pack-quantized",
    "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mxfp6-pack-quantized", "mxfp8-quantized",
};
/// In the order of Strategy.
constexpr std::array<std::string_view, 4> kStrategies{"tensor", "channel", "group", "block"};
/// In the order of Words.
constexpr std::array<std::string_view, 2> kWords{"padded", "dense"};

constexpr std::array kSettings{
    SchemeSetting{"format", "as the configuration names it: pack-quantized is the default"},
    SchemeSetting{"strategy", "tensor, channel, group (the default) or block"},
    SchemeSetting{"num_bits", "of pack-quantized: 1 to 8, the default is 4"},
    SchemeSetting{"group_size", "columns that share a scale"},
    SchemeSetting{"block_structure", "rows and columns that share a scale: 128,128"},
    SchemeSetting{"weight_shape", "of pack-quantized: the numbers of that tensor: 64,256"},
    SchemeSetting{"words", "of 3, 5, 6 and 7 bits: padded (up to 0.17.1) or dense"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  Dequantize node;
  DEQUANT_TRY(const size_t format, arguments.one_of("format", kFormats, 3));
  DEQUANT_TRY(const size_t strategy, arguments.one_of("strategy", kStrategies, 2));
  DEQUANT_TRY(const size_t words, arguments.one_of("words", kWords, kWords.size()));
  node.format = static_cast<Format>(format);
  node.strategy = static_cast<Strategy>(strategy);
  if (words < kWords.size()) node.words = static_cast<Words>(words);
  DEQUANT_TRY(node.num_bits, arguments.integer("num_bits", 4));
  DEQUANT_TRY(node.group_size, arguments.integer("group_size", 0));
  DEQUANT_TRY(const auto block, arguments.integers("block_structure"));
  DEQUANT_TRY(const auto shape, arguments.integers("weight_shape"));
  node.weight = arguments.type("weight");
  node.weight_scale = arguments.type("weight_scale");
  node.weight_zero_point = arguments.optional_type("weight_zero_point");
  node.weight_global_scale = arguments.optional_type("weight_global_scale");
  node.weight_g_idx = arguments.optional_type("weight_g_idx");
  node.weight_shape = shape;
  node.block_structure = block;
  node.output = arguments.output();
  DEQUANT_TRY(auto dense, dense_of(node));
  return SchemePlan{.plan = std::move(dense.plan),
                    .shape = std::move(dense.shape),
                    .x = *arguments.index("weight"),
                    .scale = *arguments.index("weight_scale"),
                    .zero_point = arguments.index("weight_zero_point"),
                    .tensor_scale = arguments.index("weight_global_scale"),
                    .group_index = arguments.index("weight_g_idx")};
}

}  // namespace

Result<Plan> dequantize(const Dequantize& node) {
  DEQUANT_CHECK(check_output(node.output));
  DEQUANT_TRY(auto dense, dense_of(node));
  return std::move(dense.plan);
}

}  // namespace dequant::compressed_tensors

namespace dequant {

const SchemeEntry kCompressedTensorsScheme{
    {"compressed_tensors", "LLM Compressor, compressed-tensors, vLLM", compressed_tensors::kInputs,
     compressed_tensors::kSettings},
    &compressed_tensors::plan_of};

}  // namespace dequant
