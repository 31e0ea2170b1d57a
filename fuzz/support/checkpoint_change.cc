// Changes of checkpoints: each mostly contradicts something else that the checkpoint says.
#include <iterator>

#include "format/safetensors/dtype.h"
#include "fuzz/support/checkpoint.h"

namespace dequant::fuzz {
namespace {

using nlohmann::ordered_json;

/// Ends of names behind that of a module.
constexpr std::array<std::string_view, 40> kEnds{
    ".weight",
    ".weight_scale",
    ".weight_scale_inv",
    ".weight_scale_2",
    ".scale",
    ".scales",
    ".scale_weight",
    ".qscale_weight",
    ".qscale_act",
    ".input_scale",
    ".k_scale",
    ".qweight",
    ".qzeros",
    ".g_idx",
    ".bias",
    ".biases",
    ".weight_packed",
    ".weight_shape",
    ".weight_g_idx",
    ".W_q",
    ".zero",
    ".weight_zero_point",
    ".SCB",
    "_blocks",
    "_scales",
    ".blocks",
    ".weight._data",
    ".weight._scale",
    "_scale_inv",
    "_scale",
    ".weight.absmax",
    ".weight.quant_map",
    "._weight_qdata",
    ".meta",
    ".nbits",
    ".pre_quant_scale",
    ".global_scale",
    "",
    "\x1b[1m",
    "_packed",
};
constexpr std::array<std::string_view, 6> kModules{"w", "v",      "m.w", "model.layers.0.w",
                                                   "",  "lm_head"};

constexpr std::array<std::string_view, 51> kTexts{
    "",
    "fp8",
    "mxfp8",
    "gptq",
    "gptq_v2",
    "gptq_p",
    "awq",
    "gemv",
    "mxfp4",
    "bitnet",
    "bitlinear",
    "autobitlinear",
    "quanto",
    "qint2",
    "int8",
    "affine",
    "nvfp4",
    "hqq",
    "torchao",
    "quark",
    "modelopt",
    "NVFP4",
    "FP8",
    "MXFP4",
    "FP8_PB_WO",
    "W4A16_AWQ",
    "FP8_PER_CHANNEL_PER_TOKEN",
    "nf4",
    "fp4",
    "int4",
    "uint4",
    "fp8_e5m2",
    "bitsandbytes",
    "float16",
    "bfloat16",
    "float32",
    "int",
    "float",
    "compressed-tensors",
    "channel",
    "tensor",
    "group",
    "block",
    "int-quantized",
    "naive-quantized",
    "re:.*",
    "re:(",
    "*",
    "[!a-z]*",
    "w",
    "\x1b[31m\n",
};

ordered_json value(Cursor& cursor) {
  constexpr std::array<int64_t, 12> kNumbers{0, 1, 2, 3, 4, 5, 6, 8, 16, 32, 128, -1};
  switch (cursor.below(10)) {
    case 0: return nullptr;
    case 1: return cursor.coin();
    case 2: return ordered_json::array();
    case 3: return ordered_json::object();
    case 4: return ordered_json::array({cursor.pick(kNumbers), cursor.pick(kNumbers)});
    case 5: return ordered_json::array({cursor.pick(kTexts)});
    case 6: return cursor.extreme();
    case 7: return cursor.coin() ? 1.5 : 1e300;
    case 8: return cursor.pick(kNumbers);
    default: return cursor.pick(kTexts);
  }
}

/// Sets or removes a member somewhere in a document.
void change(ordered_json& at, Cursor& cursor) {
  const bool deeper = at.is_structured() && !at.empty() && cursor.byte() < 0xE0;
  if (!deeper) {
    at = value(cursor);
    return;
  }
  const auto member = std::next(at.begin(), cursor.below(at.size()));
  if (cursor.byte() < 0xD0) return change(*member, cursor);
  if (cursor.coin()) {
    at.erase(member);
  } else if (at.is_object()) {
    at[std::string(cursor.pick(kTexts))] = value(cursor);
  }
}

std::string name(Cursor& cursor) {
  return std::string(cursor.pick(kModules)) + std::string(cursor.pick(kEnds));
}

std::string dtype(Cursor& cursor) {
  const auto all = format::safetensors::dtypes();
  return std::string(all[cursor.below(all.size())].name);
}

void change(CheckpointTensor& tensor, Cursor& cursor) {
  switch (cursor.below(6)) {
    case 0: tensor.dtype = dtype(cursor); break;
    case 1:
      if (!tensor.shape.empty()) tensor.shape[cursor.below(tensor.shape.size())] = cursor.size();
      break;
    case 2: tensor.shape = cursor.shape(); break;
    case 3: tensor.name = name(cursor); break;
    case 4:
      if (!tensor.shape.empty()) tensor.shape.pop_back();
      break;
    default:
      if (!tensor.data.empty())
        tensor.data[cursor.below(tensor.data.size())] = std::byte{cursor.byte()};
  }
}

/// The tensors of all modules once more, under other names.
void copy(std::vector<CheckpointTensor>& tensors, Cursor& cursor) {
  const std::string prefix(cursor.pick(kModules));
  const size_t count = tensors.size();
  if (count > 32) return;
  for (size_t i = 0; i < count; ++i) {
    CheckpointTensor again = tensors[i];
    again.name.insert(0, prefix);
    tensors.push_back(std::move(again));
  }
}

}  // namespace

void change(Checkpoint& checkpoint, Cursor& cursor) {
  auto& tensors = checkpoint.tensors;
  for (uint32_t count = 1 + cursor.below(4); count > 0; --count) {
    const uint8_t kind = cursor.byte() % 16;
    if (kind < 5) {
      change(checkpoint.config, cursor);
    } else if (kind == 5) {
      change(checkpoint.said, cursor);
    } else if (kind == 6 && !checkpoint.metadata.empty()) {
      change(checkpoint.metadata.begin()->second, cursor);
    } else if (kind == 7 || tensors.empty()) {
      tensors.push_back({name(cursor), dtype(cursor), cursor.shape()});
    } else if (kind == 8) {
      copy(tensors, cursor);
    } else if (kind == 9) {
      tensors.erase(tensors.begin() + cursor.below(tensors.size()));
    } else {
      change(tensors[cursor.below(tensors.size())], cursor);
    }
  }
}

}  // namespace dequant::fuzz
