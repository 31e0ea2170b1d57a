// Pairing the tensors of two model files by their names.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/model/model_file.h"

namespace dequant::format {

/// The dense tensors of a file, by all their names in it. A name that several tensors have is
/// "GRAPH/NAME" in graphs other than the main one, and "GRAPH/NAME#2" and so on where graphs have
/// one name, too.
class NamedTensors {
 public:
  /// Collects tensors that become floats and tensors that are stored as floats, but for inner ones:
  /// where the quantization that reads them is gone, so are they. Fails as ModelFile::visit() does.
  static Result<NamedTensors> of(ModelFile& file);

  /// Each name once, in the order of the file.
  const std::vector<std::string_view>& names() const { return names_; }

  /// The tensor of one of names(). Null where several tensors have the name, or where dequant
  /// cannot read the tensor.
  const DenseTensor* find(std::string_view name) const;

  /// Why find() returns null.
  std::string reason(std::string_view name) const;

  /// True for each of names().
  bool has(std::string_view name) const { return by_name_.contains(name); }

  /// The name in this file of a tensor that another file has by `name`: `name` itself, or else the
  /// tensor whose node or codes have that name, or else the tensor that had it before it was
  /// quantized. Nothing where no tensor or more than one is meant.
  std::optional<std::string_view> known_as(std::string_view name) const;

  /// The name that one of names() had before it was quantized; empty where nothing shows it.
  std::string_view original_of(std::string_view name) const;

  /// Names of tensors by another kind of name; nothing where several tensors share that.
  using Index = std::unordered_map<std::string_view, std::optional<std::string_view>>;

  /// By the names that tensors had before they were quantized.
  const Index& by_original() const { return by_original_; }
  /// By the names of codes.
  const Index& by_source() const { return by_source_; }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  /// A tensor of the file; `dense` is an index in tensors_, or kNone for one that is not readable.
  struct Found {
    TensorFacts facts;
    size_t dense;
    std::string reason;
  };
  void name_all(std::vector<Found> found);
  void add(Found found, std::string_view name);

  std::vector<DenseTensor> tensors_;
  std::deque<std::string> texts_;  ///< of names with a graph
  std::vector<std::string_view> names_;
  std::unordered_map<std::string_view, size_t> by_name_;  ///< the index in tensors_, or kNone
  std::unordered_map<std::string_view, std::string> reasons_;
  Index by_node_;
  Index by_source_;
  Index by_original_;
  std::unordered_map<std::string_view, std::string_view> originals_;  ///< by the name
};

/// The names of one tensor in both files.
struct NamePair {
  std::string_view a;
  std::string_view b;
};

/// What paired() returns.
struct Pairing {
  std::vector<NamePair> pairs;  ///< in the order of file a
  std::vector<std::string_view> only_in_a;
  std::vector<std::string_view> only_in_b;
};

/// Pairs each name of a with b.known_as(name), then each name of b that is left with
/// a.known_as(name), then tensors that are left by their original names, and by those of their
/// codes. Tensors of one file that are left, and have the same original name, are then paired each
/// with the tensor that has this name in the other file: a tied weight may have several nodes.
Pairing paired(const NamedTensors& a, const NamedTensors& b);

}  // namespace dequant::format
