// config.json of a checkpoint: how its tensors are quantized, and the same file for dense tensors.
// Other files that say how tensors are quantized, in checkpoints of some producers.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "dequant/element.h"
#include "format/checkpoint/shards.h"

namespace dequant::format::checkpoint {

/// The member of config.json that says how tensors are quantized, where its producer wrote one.
inline constexpr char kQuantizationConfig[] = "quantization_config";

/// Copies are of the same documents.
class Config {
 public:
  /// Reads config.json, kParams and the files of kQuantizationFiles from the folder of a
  /// checkpoint, if they are there. Fails with io, malformed or limit, and with unsupported where
  /// parts of the model are quantized in different ways.
  static Result<Config> read(const Shards& shards);

  /// The whole document; null where there is no config.json.
  const nlohmann::ordered_json& document() const;
  /// One of kQuantizationFiles; null: it is not there.
  const nlohmann::ordered_json* file(std::string_view name) const;
  /// The object quantization_config, or compression_config with a quant_method, of the document or
  /// of a part of the model: of an object in it whose key ends with "_config", as
  /// thinker_config.text_config. Or else what quantize_config.json, quant_config.json or
  /// hf_quant_config.json have; null: there is none.
  const nlohmann::ordered_json* quantization() const;
  /// The string quant_method of quantization(), or the method of those that write such a file;
  /// empty: there is none.
  std::string method() const;

  /// The type that the model computes in: `dtype` or `torch_dtype` of the document, or else of a
  /// part that has the language model or an object quantization().
  std::optional<Element> dtype() const;

  /// The document without what says that tensors are quantized, and with `dtype` as the type that
  /// the model computes in, if the document says one, also one of codes. Keys keep their order.
  nlohmann::ordered_json dense(Element dtype) const;
  /// The document of kParams likewise; null: nothing in it says that tensors are quantized.
  nlohmann::ordered_json dense_params() const;

 private:
  struct Documents;
  explicit Config(std::shared_ptr<const Documents> documents);

  /// The member of an object in one of kQuantizationFiles, or the whole object where the key is
  /// null; null: it is not there.
  const nlohmann::ordered_json* section_of(std::string_view name, const char* key) const;

  std::shared_ptr<const Documents> documents_;
};

}  // namespace dequant::format::checkpoint
