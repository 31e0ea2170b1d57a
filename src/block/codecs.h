// The scalar definition of every block type: Codec<type> has, for a block of any alignment and any
// bytes,
//   int code(const uint8_t* block, int i)       the code of element i, within int8
//   float scale(const uint8_t* block, int g)    the scale of group g
//   float offset(const uint8_t* block, int g)   its offset, if the type has offsets
// The scalar reference and the kernels of devices share these functions.
#pragma once

#include "block/codec.h"
#include "block/fp4.h"
#include "block/iq.h"
#include "block/k.h"
#include "block/legacy.h"
#include "block/ternary.h"
