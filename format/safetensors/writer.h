// The header of a safetensors file that is to be written, and where its data go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/safetensors/dtype.h"

namespace dequant::format::safetensors {

/// A tensor to be written.
struct NewTensor {
  std::string name;
  const DType* dtype = nullptr;
  std::vector<int64_t> shape;
};

/// Keys and values of __metadata__, in the order in which they are written. The texts belong to the
/// caller: a header may have ten million of them.
using NewMetadata = std::vector<std::pair<std::string_view, std::string_view>>;

/// A header as the reference writer makes it: the same tensors always give the same bytes, in
/// whatever order they come. Data are in the order of types, later ones of dtypes() first, and then
/// of names, and begin at a multiple of 8: each value is aligned.
class NewHeader {
 public:
  /// Fails with invalid_argument where names or keys are equal or no UTF-8, where a tensor has the
  /// name __metadata__ or a shape without a number of bytes, and where the file would have more
  /// than 2^63 - 1 bytes; with limit beyond kMaxHeader and kMaxRank.
  static Result<NewHeader> make(std::span<const NewTensor> tensors, const NewMetadata& metadata);

  /// The first bytes of the file: the length of the text and the text.
  const std::string& bytes() const { return bytes_; }

  /// The indices of the tensors in the order of their data, which follow each other without gaps.
  std::span<const size_t> order() const { return order_; }

  /// The offset in the file of the data of tensor `i` of those given to make().
  int64_t offset(size_t i) const { return offsets_[i]; }

  int64_t file_size() const { return file_size_; }

 private:
  NewHeader() = default;

  std::string bytes_;
  std::vector<size_t> order_;
  std::vector<int64_t> offsets_;
  int64_t file_size_ = 0;
};

}  // namespace dequant::format::safetensors
