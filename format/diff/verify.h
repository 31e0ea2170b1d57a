// Verifying that a float model holds what a quantized model is worth, to the bit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/diff/mistakes.h"
#include "format/diff/models.h"

namespace dequant::format {

/// A tensor of the quantized model whose floats differ, or cannot be compared.
struct WrongTensor {
  std::string name;
  int64_t elements = 0;
  int64_t different = 0;    ///< elements with other bits, NaN with any NaN counting as equal
  std::string reason = {};  ///< why it cannot be compared; empty: it differs
  std::string type = {};    ///< as the file spells it, where bytes were compared; else empty
  std::optional<int64_t> first = {};  ///< the row-major index of the first element that differs
  float right = 0;                    ///< of floats: what that element should be
  float found = 0;                    ///< of floats: what it is
  Explained explained = {};
};

/// What verify() returns.
struct Verification {
  int64_t verified = 0;     ///< tensors that were compared
  int64_t dequantized = 0;  ///< of these, tensors that a recipe computes
  int64_t stored = 0;       ///< of these, tensors of which the bytes were compared
  int64_t quantized = 0;    ///< of these, tensors that are quantized in the float model, too
  int64_t other_type = 0;   ///< of these, floats that both store, in different types
  int64_t elements = 0;
  std::vector<WrongTensor> wrong;
  std::vector<std::string> missing;     ///< tensors that the float model lacks
  std::vector<std::string> unexpected;  ///< tensors that only the float model has

  bool good() const { return wrong.empty() && missing.empty() && unexpected.empty(); }
};

struct VerifyOptions {
  StreamOptions stream;
  Progress progress;  ///< counts elements of the quantized model
};

/// Computes every tensor of `quantized` in the type that `floats` has it in, and compares bits;
/// floats that are stored in another type are rounded to that type once. Looks for the mistake that
/// explains a tensor that differs. Compares the bytes of tensors of ModelFile::visit_rest() that
/// both models only store, unless one of the formats has a graph. Fails as ModelFile::visit() and
/// stream() do.
Result<Verification> verify(ModelFile& quantized, ModelFile& floats, const VerifyOptions& options);

}  // namespace dequant::format
