// config.json of a checkpoint: how its tensors are quantized, and the same file for dense tensors.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "dequant/element.h"
#include "format/checkpoint/shards.h"

namespace dequant::format::checkpoint {

class Config {
 public:
  /// Reads config.json from the folder of a checkpoint, if it is there. Fails with io, malformed or
  /// limit.
  static Result<Config> read(const Shards& shards);

  /// The whole document; null where there is no config.json.
  const nlohmann::ordered_json& document() const { return document_; }
  /// The object quantization_config, at the top level or in text_config; null: there is none.
  const nlohmann::ordered_json* quantization() const;
  /// The string quant_method of quantization(); empty: there is none.
  std::string method() const;

  /// The type that the model computes in: `dtype` or `torch_dtype`, at the top level or in
  /// text_config.
  std::optional<Element> dtype() const;

  /// The document without what says that tensors are quantized, and with `dtype` as the type that
  /// the model computes in, if the document says one. Keys keep their order.
  nlohmann::ordered_json dense(Element dtype) const;

 private:
  nlohmann::ordered_json document_;
};

}  // namespace dequant::format::checkpoint
