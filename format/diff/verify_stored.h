// The part of verify() for tensors that both models only store: integers, booleans, and floats of
// types that dequant does not read. Their bytes are compared.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/diff/pairs.h"
#include "format/diff/verify.h"

namespace dequant::format {

/// A tensor that a float model has as the file stores it. Its texts and pointers are valid as long
/// as the file is open.
struct KeptTensor {
  std::string name;
  std::string type;  ///< as the format spells it: "I64"
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  int64_t offset = 0;
  int bits = 0;  ///< of an element
  const InputFile* file = nullptr;
  bool is_read = false;  ///< dequant reads its type: elements are compared, and not bytes
};

/// The kept tensors of a file.
class KeptTensors {
 public:
  /// `named` has the dense tensors of the same file. Fails as ModelFile::visit_rest() does.
  static Result<KeptTensors> of(const ModelFile& file, const NamedTensors& named);

  const std::vector<KeptTensor>& all() const { return tensors_; }
  /// The number of elements of the tensors of which the bytes are compared.
  int64_t elements() const;
  /// The tensor of that name, or null.
  const KeptTensor* find(std::string_view name) const;
  /// The same for tensors of which the bytes are compared.
  const KeptTensor* find_stored_only(std::string_view name) const;

 private:
  std::vector<KeptTensor> tensors_;
  std::unordered_map<std::string, size_t> by_name_;
};

/// One of the two models.
struct Side {
  const NamedTensors& named;
  const KeptTensors& kept;
};

/// True where verify_stored() reports on the tensors of that name.
bool is_stored_only(const Side& a, const Side& b, std::string_view name);

/// Compares the tensors that are stored only in a or in b, and adds to `out` what it finds. Needs
/// 2 MiB. Calls step(elements) after each part of 1 MiB with the number of elements of a that
/// are done since the last call. Fails as read_in_parts() does, with malformed where a file changed
/// since it was opened, and with the error of `step`.
Status verify_stored(const Side& a, const Side& b, const std::function<Status(int64_t)>& step,
                     Verification& out);

}  // namespace dequant::format
