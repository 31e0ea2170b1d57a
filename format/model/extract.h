// Finding the tensors of a model file by name, and reading them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/model/model_file.h"

namespace dequant::format {

/// The names of a tensor that stays quantized, valid as long as the file is open, and why.
struct LeftFacts : TensorFacts {
  std::string reason;
  bool unread = false;  ///< as LeftTensor has it
};

/// The tensors of an open model file. Any number of threads may use it after open().
class Extractor {
 public:
  /// Collects the tensors of the file. Fails as ModelFile::visit() does.
  static Result<std::unique_ptr<Extractor>> open(std::unique_ptr<ModelFile> file);

  ModelFile& file() const { return *file_; }

  /// All tensors that a recipe computes, in the order of the file.
  const std::vector<DenseTensor>& tensors() const { return tensors_; }

  /// All tensors that stay quantized, in the order of the file.
  const std::vector<LeftFacts>& left() const { return left_; }

  /// The index in tensors() of the tensor whose name, node or source is `name`. Fails with
  /// invalid_argument where no tensor or more than one has the name, and where the tensor is stored
  /// as floats.
  Result<size_t> index_of(const std::string& name) const;

  /// The tensor of a name: one of tensors(), or else the stored tensor of that name. With `raw` its
  /// codes as a tensor of their own; several tensors of the name are then allowed if they have the
  /// same codes. Fails as index_of() does.
  Result<DenseTensor> find(const std::string& name, bool raw) const;

  /// All of tensors(); with `raw` the stored tensors of their codes instead, each once. Fails with
  /// unsupported where there are none; the message says what the file has instead.
  Result<std::vector<DenseTensor>> all(bool raw) const;

  /// Computes a tensor into `y`, which has its packed size. `tensor` may be a copy whose plan has
  /// another output. Fails as format::read() does.
  Status read(const DenseTensor& tensor, const StreamOptions& options,
              std::span<std::byte> y) const {
    return format::read(*file_, tensor, options, y);
  }

 private:
  /// Indices of tensors_ by a name.
  using Index = std::unordered_map<std::string_view, std::vector<size_t>>;

  explicit Extractor(std::unique_ptr<ModelFile> file) : file_(std::move(file)) {}
  Status collect();
  void add(const DenseTensor& tensor);
  void add(const LeftTensor& tensor);
  /// The indices of the tensors whose name, node or source is `name`.
  std::vector<size_t> named(const std::string& name) const;
  Error several(const std::string& name, const std::vector<size_t>& found) const;
  Error missing(const std::string& name) const;

  std::unique_ptr<ModelFile> file_;
  std::vector<DenseTensor> tensors_;
  std::vector<LeftFacts> left_;
  Index by_name_;
  Index by_node_;
  Index by_source_;
  /// Indices of left_ by each of the names.
  std::unordered_map<std::string_view, size_t> left_by_name_;
};

}  // namespace dequant::format
