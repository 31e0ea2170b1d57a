// Where the tensors of a dense model come from.
#pragma once

#include <functional>
#include <string_view>

#include "dequant/plan.h"
#include "format/dense/layout.h"
#include "format/io/file.h"
#include "format/model/chunks.h"

namespace dequant::format::dense {

/// A stored tensor that a tensor of the output is made of.
struct Source {
  std::string_view name;
  std::string_view file;  ///< as audits have it
  const InputFile* input = nullptr;
  int64_t offset = 0;
  int64_t bytes = 0;
  /// Its bytes are all codes of the plan, or all that is copied, in the order of that.
  bool in_order = false;
};

/// The stored tensors of an input, for the writer of its dense model. A format derives from this
/// class. One function at a time is called.
class Sources {
 public:
  Sources() = default;
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;
  virtual ~Sources() = default;

  // Of a computed tensor:
  /// Its plan, for its type.
  virtual Plan plan(const OutputTensor& tensor) const = 0;
  virtual std::string_view scheme(const OutputTensor& tensor) const = 0;
  /// Opens the stored tensors of the plan. They may use `memory` bytes.
  virtual Result<RecipeReaders> open(const OutputTensor& tensor, int64_t memory) = 0;
  /// True where any range of the plan's inputs can be read by itself.
  virtual bool has_ranges(const OutputTensor& tensor) const {
    static_cast<void>(tensor);
    return true;
  }
  /// Called when the tensor is complete, also where an interrupted conversion had completed it.
  virtual Status complete(const OutputTensor& tensor, int64_t memory) {
    static_cast<void>(tensor);
    static_cast<void>(memory);
    return {};
  }

  /// Passes a range of the stored bytes of a tensor that is not computed, from front to back in
  /// parts of whole numbers.
  virtual Status read(const OutputTensor& tensor, Range bytes, const PartVisitor& visit,
                      Phases* phases) = 0;

  /// Calls the visitor for each stored tensor that the tensor is made of.
  virtual void for_each_source(const OutputTensor& tensor,
                               const std::function<void(const Source&)>& visit) const = 0;
};

}  // namespace dequant::format::dense
