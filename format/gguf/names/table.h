// The kinds of models whose tensors have names of transformers as well: a table of data.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dequant::format::gguf {

/// What llama.cpp's converter does to a tensor of transformers beside giving it a name.
enum class Change : uint8_t {
  none,
  query_rows,  ///< rows of each head of attention.head_count are interleaved
  key_rows,    ///< the same for attention.head_count_kv
  plus_one,    ///< 1 is added
  stacked,     ///< tensors of all experts are one, the expert its first dimension
  flattened,   ///< a first dimension of 1 is omitted
  transposed,  ///< a part of a matrix, in part transposed before it was quantized: not undone
  computed,    ///< it is no tensor of transformers, which computes it from config.json
};

/// A tensor. Names are without their last part, ".weight" or ".bias", unless transformers has
/// another one. A tensor of each layer has "{}" for the number of the layer; a stack of experts has
/// a second "{}" in the name of transformers, for the expert.
struct TensorName {
  std::string_view gguf;
  std::string_view transformers;
  Change change = Change::none;
};

/// A number of the metadata that config.json has too.
struct ConfigKey {
  std::string_view gguf;  ///< behind "llama."; empty: no key says what transformers has to know
  std::string_view config;
};

/// A key of config.json that is true where tensors with a part of a name have biases.
struct BiasKey {
  std::string_view part;
  std::string_view config;
};

/// A kind of models.
struct Architecture {
  std::string_view name;        ///< general.architecture
  std::string_view model_type;  ///< of config.json
  std::string_view model_class;
  std::span<const TensorName> tensors;     ///< that most kinds do not have, or have otherwise
  std::span<const ConfigKey> config = {};  ///< the same of config.json
  std::span<const BiasKey> biases = {};
};

std::span<const Architecture> architectures();

/// Null for a kind that the table does not have.
const Architecture* find_architecture(std::string_view name);

/// Null for a tensor that models of the kind do not have. `name` has "{}" for the layer.
const TensorName* find_tensor(const Architecture& architecture, std::string_view name);

/// The keys that all kinds have.
std::span<const ConfigKey> common_config();

}  // namespace dequant::format::gguf
