// The files of the dense model of a GGUF model: which tensors each has, and of which types.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/dense/layout.h"
#include "format/dense/options.h"
#include "format/gguf/names/config.h"
#include "format/gguf/tensors.h"
#include "format/model/write_options.h"

namespace dequant::format::gguf {

/// What is written.
enum class Target {
  folder,       ///< with files of safetensors
  safetensors,  ///< one file
  gguf,         ///< one file, or several by --max-shard-size
};

Target target_of(const std::string& output);

struct Options : dense::Options {
  bool split = false;  ///< max-shard-size is given
  Names names = Names::gguf;
};

/// The names of the options.
inline constexpr std::array<std::string_view, 5> kOptions{"audit", "max-shard-size", "names",
                                                          "others", "resume"};

/// Fails with invalid_argument for an option with a wrong value.
Result<Options> read_options(const FormatOptions& given);

/// The blocks of a computed tensor, and the stored tensor of another one.
inline const Blocks& blocks_of(const dense::OutputTensor& tensor) {
  return *static_cast<const Blocks*>(tensor.origin);
}
inline const Entry& entry_of(const dense::OutputTensor& tensor) {
  return *static_cast<const Entry*>(tensor.origin);
}

struct Layout {
  std::vector<dense::OutputShard> shards;
  std::vector<const Blocks*> not_selected;  ///< blocks that are copied
  std::optional<Config> config;             ///< of a folder with the names of transformers
};

/// Decides what the output has. The order of tensors is that of the input; a file ends before a
/// tensor that would make its data longer than Options::max_shard_bytes, where there may be several
/// files. So the same input and options give the same layout. Fails with unsupported where
/// safetensors files would have blocks, with io, and with limit or malformed as
/// safetensors::NewHeader does.
Result<Layout> plan_layout(const Parts& parts, const Uses& uses, const Options& own,
                           const std::string& output, const WriteOptions& options);

}  // namespace dequant::format::gguf
