// Operators of DirectML, compiled and executed: what descriptions read from JSON and those made of
// numbers have in common.
#pragma once

#include "dequant/directml.h"
#include "fuzz/support/cursor.h"

namespace dequant::fuzz {

/// Compiles the description at the level and, if it is accepted and small, executes it on every
/// target and compares with the documents' words on sizes, strides and blocks. Pointers must be
/// sound.
void check_description(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level, Cursor& cursor);

/// Compares buffer_tensor_size() with the same count in wider numbers.
void check_tensor_size(DML_TENSOR_DATA_TYPE type, const std::vector<UINT>& sizes,
                       const std::vector<UINT>& strides);

}  // namespace dequant::fuzz
