// The scalar layer of the kernel table.
#pragma once

#include "kernel/row.h"

namespace dequant {

/// Fills every entry.
void fill_reference_rows(Table& table);

}  // namespace dequant
