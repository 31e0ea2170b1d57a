// The parts of a plan of blocks, and what their kernels count with.
#include "cuda/plan/blocks.h"

#include <numeric>

#include "block/traits.h"
#include "cuda/plan/aligned.h"

namespace dequant::cuda {
namespace {

/// Addresses of elements that a range may not have are numbers, not pointers.
template <class Byte>
Byte* moved(Byte* from, int64_t bytes) {
  return reinterpret_cast<Byte*>(reinterpret_cast<uintptr_t>(from) + static_cast<uintptr_t>(bytes));
}

int64_t blocks_of_row(const Computation& p) {
  return p.row_elements / traits(p.block_type).elements;
}

}  // namespace

Range elements_in_vectors(const Computation& p) noexcept {
  const int64_t count = vector_elements(p.output);
  const int64_t at_once = block_elements_at_once(p.output);
  const int64_t begin = (p.elements.begin + count - 1) / count * count;
  const BlockTraits& type = traits(p.block_type);
  const bool is_aligned_there =
      is_aligned(moved(p.x.data, begin / type.elements * type.bytes), std::gcd(type.bytes, 16)) &&
      is_aligned(moved(p.y, begin * (16 / count)), 16);
  const bool has_factors = p.tensor_scale_use != TensorScale::none;
  const bool can_have_factors = is_aligned(p.tensor_scale, 4) && blocks_of_row(p) < INT32_MAX / 2;
  if (begin + at_once > p.elements.end || !is_aligned_there || (has_factors && !can_have_factors)) {
    return {p.elements.end, p.elements.end};
  }
  return {begin, begin + (p.elements.end - begin) / at_once * at_once};
}

BlockPlan block_plan(const Computation& p, Range elements) noexcept {
  const int64_t count = vector_elements(p.output);
  const BlockTraits& type = traits(p.block_type);
  const int64_t block = elements.begin / type.elements;
  BlockPlan out{.type = p.block_type, .output = p.output};
  out.x = moved(p.x.data, block * type.bytes);
  out.y = moved(p.y, elements.begin * (16 / count));
  out.first = static_cast<uint32_t>(elements.begin % type.elements / count);
  out.threads =
      static_cast<uint32_t>((elements.end - elements.begin) / count / kBlockVectorsOfThread);
  if (p.tensor_scale_use != TensorScale::none) {
    const int64_t row = blocks_of_row(p);
    out.factors = moved(p.tensor_scale, block / row * 4);
    out.by_row = SmallDivisor(static_cast<uint32_t>(row));
    out.in_row = static_cast<uint32_t>(block % row);
  }
  return out;
}

Computation single_elements(const Computation& p, Range elements) noexcept {
  Computation out = p;
  out.elements = elements;
  out.threads = elements.end - elements.begin;
  return out;
}

}  // namespace dequant::cuda
