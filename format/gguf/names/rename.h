// The tensors of a GGUF model under the names, and in the order of rows, that transformers has.
#pragma once

#include "format/gguf/names/table.h"
#include "format/gguf/parts.h"

namespace dequant::format::gguf {

/// What `names` demands.
enum class Names : uint8_t {
  gguf,          ///< as they are stored
  transformers,  ///< "hf"
};

/// Replaces the entries of the model by those of transformers, in the order of the file: a stack of
/// experts becomes an entry for each expert. Fails with unsupported for kinds of models and tensors
/// that the table does not have, with malformed where shapes and metadata do not agree, with limit
/// beyond 262,144 tensors of experts, and with io.
Status rename_for_transformers(Parts& parts);

/// The kind of the model. Fails with unsupported where the table does not have it, and with io.
Result<const Architecture*> architecture_of(const Parts& parts);

}  // namespace dequant::format::gguf
