// The tensors of a model file by their names.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/model/model_file.h"

namespace dequant::format {

/// A model file open for taking tensors out. After open() any number of threads may do so.
class Extractor {
 public:
  /// Collects the tensors of an open file. Fails as ModelFile::visit() does.
  static Result<std::unique_ptr<Extractor>> open(std::unique_ptr<ModelFile> file);

  ModelFile& file() const { return *file_; }

  /// All tensors that a recipe computes, in the order of the file.
  const std::vector<DenseTensor>& tensors() const { return tensors_; }

  /// The index among them of that whose name, node or source is the name. Fails with
  /// invalid_argument when nothing, or more than one thing, has that name, and for tensors that are
  /// stored as floats.
  Result<size_t> index_of(const std::string& name) const;

  /// The tensor that a name means: one of tensors(), or else one that the file stores by that name.
  /// With `raw` the codes, which several tensors of the name may share. Fails as index_of() does.
  Result<DenseTensor> find(const std::string& name, bool raw) const;

  /// All of tensors(); with `raw` what they are computed from, each once. Fails with unsupported
  /// where there are none, and says what there is instead.
  Result<std::vector<DenseTensor>> all(bool raw) const;

  /// Computes a tensor into memory of just its size. `tensor` may be a copy whose plan has another
  /// output.
  Status read(const DenseTensor& tensor, const StreamOptions& options,
              std::span<std::byte> y) const {
    return format::read(*file_, tensor, options, y);
  }

 private:
  /// Of each name, indices of tensors_.
  using Index = std::unordered_map<std::string_view, std::vector<size_t>>;

  explicit Extractor(std::unique_ptr<ModelFile> file) : file_(std::move(file)) {}
  Status collect();
  void add(const DenseTensor& tensor);
  void add(const LeftTensor& tensor);
  /// The indices of those that a name means.
  std::vector<size_t> named(const std::string& name) const;
  Error several(const std::string& name, const std::vector<size_t>& found) const;
  Error missing(const std::string& name) const;

  std::unique_ptr<ModelFile> file_;
  std::vector<DenseTensor> tensors_;
  Index by_name_;
  Index by_node_;
  Index by_source_;
  /// Of the names of a tensor that stays quantized, why.
  std::unordered_map<std::string_view, std::string> reasons_;
};

}  // namespace dequant::format
