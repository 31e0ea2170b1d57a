// Model files: opens a file of any format that dequant reads, lists its tensors, reads dense
// tensors whole or in bands, and converts the file to a float model.
//
// These functions are in a library of their own, libdequant_model (CMake: dequant::model;
// pkg-config: dequant-model), which needs fmt, RE2 and Nettle beside libdequant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/element.h"
#include "dequant/executor.h"
#include "dequant/export.h"
#include "dequant/status.h"

namespace dequant {

/// An option of one format, by its name on the command line without dashes: {"names", "hf"} of
/// GGUF, {"strip-qdq", ""} of ONNX. The value of a flag is empty; any other is refused.
struct ModelOption {
  std::string name;
  std::string value = {};
};

/// A tensor of the float model: computed from quantized ones, or stored as floats.
struct ModelTensor {
  std::string name;   ///< of the dense tensor
  std::string codes;  ///< the name of the stored tensor that has its codes; empty: none, or unnamed
  std::string node;   ///< the node that dequantizes it, in formats with a graph; else empty
  std::string scheme;  ///< the specification: a domain of ONNX, "gptq", a block type; empty: floats
  std::string stored;  ///< the type of the codes, "uint4" or "Q4_K"; of floats their type
  Element element = Element::float32;  ///< the float type that the specification gives
  std::vector<int64_t> shape;          ///< outermost dimension first; empty for a scalar
  int64_t bytes = 0;                   ///< of the dense tensor of that type, packed
  int64_t stored_bytes = 0;            ///< in files, of its codes and their parameters
  bool quantized = false;              ///< false: stored as floats
};

/// A tensor that cannot be read as floats, and why.
struct LeftModelTensor {
  std::string name;
  std::string node;
  std::string scheme;
  std::string reason;  ///< a sentence that names the rule
};

/// How a model file is opened.
struct OpenModelOptions {
  std::vector<ModelOption> options = {};
  /// Bytes of memory for the structure of the file, which is all but tensor data. Only counts where
  /// it is more than the limit of the format.
  int64_t structure_memory = 0;
};

/// How a dense tensor is read. Neither memory nor threads change a bit of it.
struct ReadModelOptions {
  /// float32, float16 or bfloat16; none: ModelTensor::element. A quantized tensor is computed as by
  /// a node of that output type; one that is stored as floats is widened, or rounded once, ties to
  /// even.
  std::optional<Element> output = std::nullopt;
  int64_t memory = int64_t{1} << 30;  ///< bytes of buffers at most; never less than about 8 MiB
  Executor executor = default_executor();
};

/// Receives the packed bytes [offset, offset + bytes.size()) of a dense tensor, whole elements.
/// Bands follow one another from front to back, on the calling thread. An error ends the read,
/// which returns the error.
using ModelBand = std::function<Status(int64_t offset, std::span<const std::byte> bytes)>;

/// An open model file. Any number of threads may use one at the same time. Its files stay open
/// until it is destroyed, and must not change meanwhile.
class DEQUANT_EXPORT Model {
 public:
  /// Opens a file or a folder. Fails with io, malformed, limit or unsupported, and with
  /// invalid_argument for an option that the format does not have, or a wrong value.
  static Result<Model> open(const std::string& path, const OpenModelOptions& options = {});

  Model(Model&& other) noexcept;
  Model& operator=(Model&& other) noexcept;
  ~Model();

  /// The key of the format: "onnx", "safetensors", "gguf", "tflite". Valid until the process ends.
  std::string_view format() const noexcept;

  /// The tensors of the float model: first the quantized ones, in the order of the file, then those
  /// that are stored as floats. Valid as long as this object.
  std::span<const ModelTensor> tensors() const noexcept;

  /// The tensors that cannot be read as floats. Valid as long as this object.
  std::span<const LeftModelTensor> left() const noexcept;

  /// The index in tensors() of the tensor with that name, or whose node or codes have it. Fails
  /// with invalid_argument where none or several have it; the message has the reason if it is one
  /// of left().
  Result<size_t> find(const std::string& name) const;

  /// The packed bytes of tensors()[tensor] as that output type. Fails with invalid_argument.
  Result<int64_t> bytes(size_t tensor, std::optional<Element> output = std::nullopt) const;

  /// Reads tensors()[tensor] into `y`, row-major and packed, little-endian, at any alignment.
  /// y.size() must be bytes(tensor, options.output). Fails with invalid_argument before the first
  /// write, and with io, malformed, limit or unsupported, when y is incomplete.
  Status read(size_t tensor, std::span<std::byte> y, const ReadModelOptions& options = {}) const;

  /// Reads tensors()[tensor] in bands of bounded memory. Fails as the other read() does, and with
  /// the error of `band`.
  Status read(size_t tensor, const ModelBand& band, const ReadModelOptions& options = {}) const;

 private:
  struct Contents;
  explicit Model(std::unique_ptr<Contents> contents) noexcept;

  std::unique_ptr<Contents> contents_;
};

/// How a model file is converted. The defaults are those of `dequant convert`.
struct ConvertModelOptions {
  std::vector<ModelOption> options = {};
  /// Globs of the names of tensors that are dequantized. Empty `include`: all.
  std::vector<std::string> include = {};
  std::vector<std::string> exclude = {};
  std::optional<Element> dtype = std::nullopt;  ///< of the floats; none: as each tensor says
  bool require_float = false;         ///< fail with unsupported where anything stays quantized
  bool dry_run = false;               ///< make the report, write nothing
  bool overwrite = false;             ///< replace an output that is there; else fail with io
  int64_t structure_memory = 0;       ///< as in OpenModelOptions
  int64_t memory = int64_t{1} << 30;  ///< as in ReadModelOptions
  Executor executor = default_executor();
  /// Called with the bytes of output that are done and their total, on any thread, one call at a
  /// time. An error ends the conversion, which returns the error and leaves no output, but for the
  /// complete files of an output folder. May be null.
  std::function<Status(int64_t done, int64_t total)> progress = nullptr;
};

/// What a conversion did.
struct ModelConversion {
  size_t converted = 0;               ///< tensors that became floats
  size_t left = 0;                    ///< tensors and nodes that stay quantized
  std::vector<std::string> warnings;  ///< a sentence each
  std::string json;  ///< everything, as `dequant convert --json` prints it without the paths: UTF-8
};

/// Converts the model file `input` to the float model `output`, which appears whole or not at all.
/// Fails as Model::open() does, with io where the output is there or cannot be written, and with
/// the error of `progress`.
DEQUANT_EXPORT Result<ModelConversion> convert_model(const std::string& input,
                                                     const std::string& output,
                                                     const ConvertModelOptions& options = {});

}  // namespace dequant
