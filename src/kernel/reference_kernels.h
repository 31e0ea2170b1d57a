// The scalar kernels of the kernel table.
#pragma once

#include "kernel/kernel.h"

namespace dequant {

/// Fills the table with scalar kernels, except for entries that may be null.
void fill_reference_kernels(Table& table);

/// The parts of fill_reference_kernels() in files of their own.
void fill_reference_unpacking(Helpers& helpers);
void fill_reference_results(Table& table);

}  // namespace dequant
