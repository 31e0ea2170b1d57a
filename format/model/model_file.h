// The interface of every model file: what `convert`, `extract`, `inspect` and Python's open() and
// convert() see of it.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "format/model/format.h"
#include "format/model/report.h"
#include "format/model/stored_reader.h"
#include "format/model/stream.h"
#include "format/model/tensor.h"
#include "format/model/write_options.h"

namespace dequant::format {

/// Takes what visit() finds. The first error ends the visit and comes out of it.
struct TensorVisitor {
  std::function<Status(const DenseTensor&)> dense;
  std::function<Status(const LeftTensor&)> left;
};

using OtherVisitor = std::function<Status(const OtherTensor&)>;

/// What a page says of the whole file in one box: "Operator sets | ai.onnx 21 | IR version 10".
struct Headline {
  std::string title;
  std::string value;
  std::string more;
};

/// An open model file. Readers and open() work on any thread, several at a time; all else one call
/// at a time.
class ModelFile {
 public:
  virtual ~ModelFile() = default;
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  const Format& format() const { return format_; }
  const std::string& path() const { return path_; }  ///< as it was given

  /// Facts of the whole: the first keys of the JSON object of `inspect`.
  virtual nlohmann::ordered_json facts() const = 0;
  virtual Headline headline() const = 0;

  /// Calls the visitor for each tensor that a recipe computes and for each that stays quantized, in
  /// the order of the file, and holds none of them: there may be very many. Tensors that are stored
  /// as floats are not visited. Fails with malformed, unsupported or io.
  virtual Status visit(const TensorVisitor& visitor) = 0;

  /// The same for stored tensors of quantized types that are nobody's codes or zero points.
  virtual Status visit_others(const OtherVisitor& visitor) {
    (void)visitor;
    return {};
  }

  /// The same for tensors that are stored as floats and are no parameters of others: dense ones
  /// without a recipe, and left ones of float types that dequant does not read.
  virtual Status visit_floats(const TensorVisitor& visitor) = 0;

  /// The tensor that the file stores by that name, as it is stored; nothing where it has none.
  /// Fails with invalid_argument where several tensors have the name, with unsupported where
  /// dequant does not read its type.
  virtual Result<std::optional<DenseTensor>> stored(const std::string& name) = 0;

  /// Opens a stored tensor of a tensor of this file. What it takes to decode it may take `memory`
  /// bytes. Fails with malformed, unsupported, limit or io.
  virtual Result<std::unique_ptr<StoredReader>> open(const StoredTensor& tensor,
                                                     int64_t memory) = 0;

  /// Calls the function for what a stored tensor is computed from, which is mostly itself:
  /// identity, and bytes in files.
  virtual void for_each_source(const StoredTensor& tensor, const SourceVisitor& visitor) const {
    visitor(tensor.identity, tensor.bytes);
  }

  /// Fails with io where `output` is the file itself or another one that it consists of: not even
  /// Overwrite::replace allows that.
  virtual Status check_output(const std::string& output) const = 0;

  /// What there is instead, where visit() finds no dense tensor: "its quantized operators are 3
  /// MatMulNBits".
  virtual std::string instead() const { return "all tensors are stored as they are"; }

  /// Writes the float model, whole or not at all. Once, and nothing else after it. The report has
  /// all but `cleaned` and the total of seconds; `decide` counts from this call on.
  virtual Result<ConvertReport> write(const std::string& output, const WriteOptions& options) = 0;

 protected:
  ModelFile(const Format& format, std::string path) : format_(format), path_(std::move(path)) {}

 private:
  const Format& format_;
  const std::string path_;
};

/// The stored tensors of a recipe, which the tensor must have.
Result<RecipeReaders> open_readers(ModelFile& file, const DenseTensor& tensor,
                                   const StreamOptions& options);

/// Hands the packed bytes of a dense tensor to the sink in order, in bounded memory.
Status stream(ModelFile& file, const DenseTensor& tensor, const StreamOptions& options,
              const Sink& sink);

/// Reads a whole dense tensor into memory of just its packed size.
Status read(ModelFile& file, const DenseTensor& tensor, const StreamOptions& options,
            std::span<std::byte> y);

/// Reads a whole stored tensor into memory of just its packed size.
Status read(ModelFile& file, const StoredTensor& tensor, std::span<std::byte> bytes);

}  // namespace dequant::format
