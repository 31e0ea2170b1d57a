// What becomes of each tensor of a GGUF model: blocks are dequantized, plain numbers are copied.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dequant/plan.h"
#include "format/gguf/parts.h"
#include "format/model/stored_reader.h"

namespace dequant::format::gguf {

/// A tensor of blocks.
struct Blocks {
  const Entry* entry = nullptr;
  const Entry* scale = nullptr;      ///< a factor of all elements; null: there is none
  bool experts = false;              ///< a factor for each index of the first dimension instead
  std::vector<int64_t> bytes_shape;  ///< of its bytes: rows of blocks
  Plan plan;
};

/// A tensor that the float model does not have.
struct Dropped {
  const Entry* entry;
  std::string_view reason;  ///< a literal
};

/// The uses of all tensors. Addresses of blocks are valid as long as this object.
class Uses {
 public:
  /// The parts must outlive the object. Fails with unsupported for blocks of a big-endian file that
  /// have numbers of several bytes, as writers of such files differ on their order, for a tensor
  /// with other factors, and under the names of transformers for a factor of plain numbers; with
  /// malformed for a factor that is no float32, or that two tensors have.
  static Result<Uses> of(const Parts& parts);

  const std::deque<Blocks>& blocks() const { return blocks_; }
  const std::vector<Dropped>& dropped() const { return dropped_; }

  /// The blocks that a factor, or the scale of an activation, belongs to; null for other tensors.
  const Blocks* user_of(const Entry& entry) const;
  /// The blocks of a tensor, or null.
  const Blocks* blocks_of(const Entry& entry) const;
  /// True for a tensor that the float model has as it is stored.
  bool is_copied(const Entry& entry) const { return !uses_.contains(&entry); }

 private:
  Uses() = default;
  Status add(const Parts& parts, const Entry& entry);
  Status add_factor(const Parts& parts, Blocks& blocks);
  Status check_factor(const Entry& entry) const;

  std::deque<Blocks> blocks_;
  std::vector<Dropped> dropped_;
  /// Of blocks themselves, and of the tensors that belong to them; null for tensors that are
  /// dropped for another reason.
  std::unordered_map<const Entry*, const Blocks*> uses_;
};

/// The axis along which scales of blocks change; nothing where the rows of the file are not those
/// of the model.
inline std::optional<int64_t> axis_of(const Entry& entry) {
  if (entry.original != nullptr) return {};
  return static_cast<int64_t>(entry.shape().size()) - 1;
}

/// Opens a stored tensor: its numbers of plain types that are elements, else its bytes. Bytes come
/// little-endian. The parts must outlive the reader.
std::unique_ptr<StoredReader> open_entry(const Parts& parts, const Entry& entry);

}  // namespace dequant::format::gguf
