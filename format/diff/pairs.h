// Which tensors of two model files are the same ones, by their names.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/model/model_file.h"

namespace dequant::format {

/// The dense tensors of a file by all names that it knows them by.
class NamedTensors {
 public:
  /// Collects computed tensors and those stored as floats. Fails as ModelFile::visit() does.
  static Result<NamedTensors> of(ModelFile& file);

  /// Names in the order of the file, each once.
  const std::vector<std::string_view>& names() const { return names_; }

  /// The tensor of one of names(); null where several have the name, or where it is not read.
  const DenseTensor* find(std::string_view name) const;

  /// Why find() gives nothing.
  std::string reason(std::string_view name) const;

  /// What the file calls a tensor that somebody else knows by a name: that name itself, or else the
  /// tensor whose node or codes have the name, or else the one that had it before it was quantized.
  /// Empty where none is or several are.
  std::string_view known_as(std::string_view name) const;

 private:
  /// Tensors by one kind of name; several of one name count as none.
  using Index = std::unordered_map<std::string_view, std::string_view>;

  void add(const TensorFacts& facts);

  std::vector<DenseTensor> tensors_;
  std::vector<std::string_view> names_;
  std::unordered_map<std::string_view, size_t> by_name_;  ///< index, or one of the two below
  std::unordered_map<std::string_view, std::string> reasons_;
  Index by_node_;
  Index by_source_;
  Index by_original_;
};

/// The names of one tensor in both files.
struct NamePair {
  std::string_view a;
  std::string_view b;
};

struct Pairing {
  std::vector<NamePair> pairs;  ///< in the order of a
  std::vector<std::string_view> only_in_a;
  std::vector<std::string_view> only_in_b;
};

Pairing paired(const NamedTensors& a, const NamedTensors& b);

}  // namespace dequant::format
