// The scalar kernels of the kernel table.
#pragma once

#include "kernel/kernel.h"

namespace dequant {

/// Fills the table with scalar kernels, except for entries that may be null.
void fill_reference_kernels(Table& table);

}  // namespace dequant
