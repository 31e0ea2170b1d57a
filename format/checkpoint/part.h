// The inputs of plans: stored tensors, numbers that only a configuration has, and floats that a
// plan of their own computes from stored tensors.
#pragma once

#include <memory>

#include "format/checkpoint/shards.h"
#include "format/model/bytes_reader.h"
#include "format/model/stream.h"

namespace dequant::format::checkpoint {

struct Computed;

/// One input of a plan: `count` packed elements.
struct Part {
  /// The stored tensor, which may have another type than `element`; of computed floats, their
  /// codes. Null: the elements are in memory.
  const Entry* entry = nullptr;
  Element element = Element::float32;
  int64_t count = 0;
  SharedBytes bytes = nullptr;                         ///< the elements, where no file has them
  std::shared_ptr<const Computed> computed = nullptr;  ///< how they are computed, if so

  explicit operator bool() const { return entry != nullptr || bytes != nullptr; }
  /// The name of the stored tensor; empty: there is none.
  std::string_view name() const { return entry == nullptr ? std::string_view() : entry->name(); }
  /// True where a file has the elements, in whatever type.
  bool is_stored() const { return entry != nullptr && computed == nullptr; }
  /// The shape of the stored tensor, or one dimension; valid as long as the part.
  Shape shape() const { return is_stored() ? entry->shape() : Shape(&count, 1); }
  /// The type and the shape that the file gives the stored tensor: 32-bit words of codes are int32.
  /// Valid as long as the part.
  TensorType stored_type() const;
  /// Equal for parts with the same elements.
  const void* identity() const;
};

/// A stored tensor as a part, with its own type or another one. Fails with unsupported where
/// dequant has no element for its type.
Result<Part> part_of(const Entry& entry);
Part part_of(const Entry& entry, Element element);

/// Floats, or bytes, in memory.
Part part_of(std::span<const float> floats);

/// The inputs of one plan.
struct Inputs {
  Part codes = {};
  Part scale = {};
  Part zero_point = {};
  Part tensor_scale = {};
  Part group_index = {};
  Part codebook = {};
  /// Stored tensors that belong to these inputs and that no plan reads, such as the shape of codes.
  std::vector<const Entry*> also = {};

  /// Calls visit(const Part&) for the inputs that the plan has.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Part* part : {&codes, &scale, &zero_point, &tensor_scale, &group_index, &codebook}) {
      if (*part) visit(*part);
    }
  }
};

/// Floats that a plan computes, as the scales of bitsandbytes that are quantized themselves.
struct Computed {
  Plan plan;
  Inputs inputs;
};

/// Demands that the inputs have the elements that the plan reads. Fails with malformed.
Status check_inputs(const Plan& plan, const Inputs& inputs);

/// The floats of a plan as a part. Fails as check_inputs() does.
Result<Part> computed_part(Plan plan, Inputs inputs);

/// Calls visit(const Entry&) for each stored tensor that a part needs.
template <class Visit>
void for_each_entry(const Part& part, Visit visit) {
  if (part.computed != nullptr) {
    part.computed->inputs.for_each([&](const Part& p) { for_each_entry(p, visit); });
  } else if (part.entry != nullptr) {
    visit(*part.entry);
  }
}
template <class Visit>
void for_each_entry(const Inputs& inputs, Visit visit) {
  inputs.for_each([&](const Part& part) { for_each_entry(part, visit); });
  for (const Entry* entry : inputs.also) visit(*entry);
}

/// Bytes in files of all that the part needs.
int64_t stored_bytes(const Part& part);

/// Opens a part; the shards must outlive the reader. Computed floats are computed here, and held in
/// memory. Fails with limit where they need more than `memory` bytes, and as fill() does.
Result<std::unique_ptr<StoredReader>> open_part(const Shards& shards, const Part& part,
                                                int64_t memory);

/// Opens all inputs.
Result<RecipeReaders> open_inputs(const Shards& shards, const Inputs& inputs, int64_t memory);

}  // namespace dequant::format::checkpoint
