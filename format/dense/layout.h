// The files of a dense model: which tensors each file has, and where.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/element.h"
#include "dequant/plan.h"
#include "dequant/tensor.h"
#include "format/model/tensor.h"
#include "format/safetensors/writer.h"

namespace dequant::format::dense {

/// One tensor of the output. Texts and shapes are those of the input.
struct OutputTensor {
  std::string_view name;
  const void* origin = nullptr;  ///< only for its format, which opens the tensor by this
  bool computed = false;         ///< by a plan; else stored numbers are copied
  /// The type of the stored floats, where these are rounded to `output`.
  std::optional<Element> from = {};
  std::string_view change = {};         ///< of stored numbers, beside these; for audits, a literal
  Element output = Element::float32;    ///< the type of floats that are not copied
  std::string_view type = {};           ///< as the output spells it: "BF16"
  std::optional<Element> element = {};  ///< of the type; nothing: dequant computes with no such
  BorrowedShape shape = {};
  int64_t bytes = 0;
  int64_t offset = 0;   ///< in its file
  int64_t padding = 0;  ///< zeros behind its bytes
};

/// One file of the output.
struct OutputShard {
  std::string name;
  std::vector<OutputTensor> tensors;  ///< in the order of the file
  std::string header;                 ///< all bytes before the data
  int64_t bytes = 0;                  ///< of the whole file
};

/// The bytes of the stored tensor that a range of bytes of a tensor comes from which is not
/// computed.
Range stored_part(const OutputTensor& tensor, Range bytes);

/// Identifies what is written, by names and tensors, which the options and the input decide on.
std::string hash_of_output(const std::vector<OutputShard>& shards);

/// The type in safetensors files of a tensor that is not copied.
void set_type(OutputTensor& tensor, const safetensors::DType& dtype);

/// The beginning of the names by which transformers looks for files.
inline constexpr std::string_view kStem = "model";
/// The beginning by which a loader looks for files like this one: "diffusion_pytorch_model" of
/// diffusers, "consolidated" of Mistral, or else kStem.
std::string_view stem_of(std::string_view file);

/// Demands names of files that are UTF-8. Fails with unsupported; `why` is the end of the sentence.
Status check_names(const std::vector<OutputShard>& shards, std::string_view why);

/// Names of the files of a folder as transformers gives them: model.safetensors, or
/// model-00001-of-00002.safetensors and so on, or with another stem than kStem.
void name_shards(std::vector<OutputShard>& shards, std::string_view stem = kStem);

/// Decides on the header of a safetensors file, and on the order and the offsets of its tensors.
/// Fails as safetensors::NewHeader does.
Status place(OutputShard& shard, const safetensors::NewMetadata& metadata);

/// The name of the index of a folder with several files, by the stem of the first, and its text.
std::string index_name(const std::vector<OutputShard>& shards);
std::string index_text(const std::vector<OutputShard>& shards);

}  // namespace dequant::format::dense
