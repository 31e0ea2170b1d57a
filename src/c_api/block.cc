// Block types in C, which have the numbers of GGUF.
#include "dequant/block.h"

#include <array>
#include <cstddef>
#include <optional>

#include "c_api/boundary.h"

namespace dequant::c_api {
namespace {

constexpr std::array kGgufNumbers{
#define DEQUANT_BLOCK(name, id, ...) id,
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
};

// The enumerators of dequant.h with the names of blocks.def, in its order: a row that dequant.h
// lacks does not compile.
constexpr std::array kNumbers{
#define DEQUANT_BLOCK(name, ...) DEQUANT_##name,
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
};

constexpr bool numbers_agree() {
  for (size_t i = 0; i < kNumbers.size(); ++i) {
    if (kNumbers[i] != kGgufNumbers[i]) return false;
  }
  return true;
}
static_assert(numbers_agree(), "dequant_block_type and blocks.def disagree");

std::optional<BlockType> to_block_type(const dequant_block_type& field) noexcept {
  return block_type_from_gguf(number_of(field));
}

}  // namespace
}  // namespace dequant::c_api

using dequant::c_api::to_block_type;

// Names are literals of blocks.def, so a NUL follows each.
const char* dequant_block_type_name(dequant_block_type type) {
  const auto known = to_block_type(type);
  return known ? dequant::name(*known).data() : nullptr;
}

dequant_block_type dequant_block_type_from_name(const char* name) {
  if (name == nullptr) return DEQUANT_NO_BLOCK_TYPE;
  const auto type = dequant::block_type_from_name(name);
  return type ? static_cast<dequant_block_type>(dequant::gguf_id(*type)) : DEQUANT_NO_BLOCK_TYPE;
}

int dequant_block_elements(dequant_block_type type) {
  const auto known = to_block_type(type);
  return known ? static_cast<int>(dequant::block_elements(*known)) : 0;
}

int dequant_block_bytes(dequant_block_type type) {
  const auto known = to_block_type(type);
  return known ? static_cast<int>(dequant::block_bytes(*known)) : 0;
}
