// The interface of every model file. `convert`, `extract`, `inspect` and Python's open() and
// convert() use a model file through this interface alone.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/model/audit.h"
#include "format/model/format.h"
#include "format/model/report.h"
#include "format/model/stored_reader.h"
#include "format/model/stream.h"
#include "format/model/tensor.h"
#include "format/model/write_options.h"

namespace dequant::format {

/// Functions that visit() calls: `dense` for a tensor that becomes floats, `left` for a tensor that
/// stays quantized. visit() ends at the first error of either, and returns that error.
struct TensorVisitor {
  std::function<Status(const DenseTensor&)> dense;
  std::function<Status(const LeftTensor&)> left;
};

/// A function that visit_others() calls, with the same meaning of an error.
using OtherVisitor = std::function<Status(const OtherTensor&)>;

/// One entry of the page's summary of a file: "Operator sets | ai.onnx 21 | IR version 10".
struct Headline {
  std::string title;
  std::string value;
  std::string more;
};

/// An end of the range of a value.
enum class End : uint8_t { low, high };

/// A stored float that is an end of the range of a value of a graph, and nothing else.
struct BoundTensor {
  std::string_view name;
  std::string_view value;
  End end = End::low;
};

/// An open model file. Any number of threads may call open() and use its readers at once. Of all
/// other functions only one may run at a time.
class ModelFile {
 public:
  virtual ~ModelFile() = default;
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  const Format& format() const { return format_; }
  const std::string& path() const { return path_; }  ///< as the caller gave it to open_model()

  /// Facts about the whole file: the first keys of the JSON object of `inspect`.
  virtual nlohmann::ordered_json facts() const = 0;
  /// The entry of the page's summary that only this format has.
  virtual Headline headline() const = 0;
  /// What the file says of itself, a line each: keys and values of metadata. Mostly nothing.
  virtual std::vector<Headline> details() const { return {}; }
  /// Calls the visitor for each key and text of the metadata that a file of the format safetensors
  /// has for programs. Returns whether the model is such a file, and has metadata.
  virtual bool visit_metadata(
      const std::function<void(std::string_view key, std::string_view text)>& visitor) const {
    (void)visitor;
    return false;
  }

  /// Calls the visitor for each tensor that a recipe computes and for each tensor that stays
  /// quantized, in the order of the file. Keeps none in memory: there may be very many. Tensors
  /// that are stored as floats are not visited. Fails with malformed, unsupported or io.
  virtual Status visit(const TensorVisitor& visitor) = 0;

  /// Calls the visitor for each stored tensor of a quantized type that is neither the codes nor the
  /// zero point of another tensor. Fails as visit() does.
  virtual Status visit_others(const OtherVisitor& visitor) {
    (void)visitor;
    return {};
  }

  /// Calls the visitor for each tensor that is stored as floats and is no parameter of another
  /// tensor: `dense` without a recipe, or `left` where dequant does not read the float type. Fails
  /// as visit() does.
  virtual Status visit_floats(const TensorVisitor& visitor) = 0;

  /// Calls the visitor for each stored tensor that is no part of a dense tensor, in formats whose
  /// Words have `folds`; of graphs only for tensors of which verify() compares the bytes. Fails
  /// with the error of the visitor.
  virtual Status visit_rest(const std::function<Status(const RestTensor&)>& visitor) const {
    (void)visitor;
    return {};
  }

  /// Calls the visitor for each tensor that only limits a value: a bound of a Clip. Fails as
  /// visit_floats() does.
  virtual Status visit_bounds(const std::function<Status(const BoundTensor&)>& visitor) {
    (void)visitor;
    return {};
  }

  /// The lowest or highest number that the quantization of a value of the graph leaves it, packed
  /// in a float type: the bound of the Clip that takes the place of the quantization. Nothing where
  /// no value of that name, or several, are quantized, and where there are several scales. Fails as
  /// visit() does.
  virtual Result<std::optional<std::vector<std::byte>>> bound_of(std::string_view value, End end,
                                                                 Element type) {
    (void)value, (void)end, (void)type;
    return std::optional<std::vector<std::byte>>();
  }

  /// The stored tensor of that name, without a recipe; nothing where no stored tensor has the name.
  /// Fails with invalid_argument where several tensors have the name, and with unsupported where
  /// dequant does not read the tensor's type.
  virtual Result<std::optional<DenseTensor>> stored(const std::string& name) = 0;

  /// Opens a stored tensor that this file handed out. Decoding may use `memory` bytes. Fails with
  /// malformed, unsupported, limit or io.
  virtual Result<std::unique_ptr<StoredReader>> open(const StoredTensor& tensor,
                                                     int64_t memory) = 0;

  /// Calls the visitor for each tensor of the file from which a stored tensor is computed. Mostly
  /// that is the stored tensor itself.
  virtual void for_each_source(const StoredTensor& tensor, const SourceVisitor& visitor) const {
    visitor(tensor.identity, tensor.bytes);
  }

  /// Fails with io where `output` is one of the files of this model: not even Overwrite::replace
  /// allows that.
  virtual Status check_output(const std::string& output) const = 0;

  /// Compares the tensors of the file with those of an audit that a conversion to this file wrote.
  /// `progress` gets the bytes that are compared. Fails as read_audit() does, with malformed where
  /// a line lacks a key or has a wrong value, with io, and with unsupported where the format has no
  /// audits.
  virtual Result<AuditReport> check_audit(const std::string& audit, const Progress& progress);

  /// For a message where visit() finds no dense tensor: what the file has instead, such as "its
  /// quantized operators are 3 MatMulNBits".
  virtual std::string instead() const { return "all tensors are stored as they are"; }

  /// Writes the float model to `output`, whole or not at all. Must be the last call on this object.
  /// The report lacks `cleaned` and the total of seconds; its `decide` counts from this call on.
  /// Fails with malformed, unsupported, limit or io, and with the error of options.progress.
  virtual Result<ConvertReport> write(const std::string& output, const WriteOptions& options) = 0;

 protected:
  ModelFile(const Format& format, std::string path) : format_(format), path_(std::move(path)) {}

 private:
  const Format& format_;
  const std::string path_;
};

/// Visits one tensor as ModelFile::visit_floats() does: `copied` makes it, `type` is the name that
/// the format gives its type. Does nothing where that is no float type.
Status visit_float(const TensorVisitor& visitor, std::string_view name, std::string_view type,
                   std::optional<Element> element, const std::function<DenseTensor()>& copied);

/// Opens the stored tensors of the tensor's recipe; the tensor must have one. Fails as
/// ModelFile::open() does.
Result<RecipeReaders> open_readers(ModelFile& file, const DenseTensor& tensor,
                                   const StreamOptions& options);

/// Computes or reads a dense tensor and hands its packed bytes to the sink, from front to back.
/// Uses no more than options.memory. Fails as ModelFile::open() does, and with the error of the
/// sink.
Status stream(ModelFile& file, const DenseTensor& tensor, const StreamOptions& options,
              const Sink& sink);

/// Computes or reads a dense tensor into `y`, which has its packed size. Fails as ModelFile::open()
/// does.
Status read(ModelFile& file, const DenseTensor& tensor, const StreamOptions& options,
            std::span<std::byte> y);

/// Reads a stored tensor into `bytes`, which have its packed size. Fails as ModelFile::open() does.
Status read(ModelFile& file, const StoredTensor& tensor, std::span<std::byte> bytes);

}  // namespace dequant::format
