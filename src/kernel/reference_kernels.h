// The scalar layer of the kernel table.
#pragma once

#include "kernel/kernel.h"

namespace dequant {

/// Fills every entry.
void fill_reference_kernels(Table& table);

}  // namespace dequant
