// The public functions of block types: lookups in their list.
#include "dequant/block.h"

#include <algorithm>

#include "block/traits.h"

namespace dequant {
namespace {

constexpr std::array kAll{
#define DEQUANT_BLOCK(name, ...) BlockType::name,
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
};

template <class Accepts>
std::optional<BlockType> first(const Accepts& accepts) {
  const auto found = std::find_if(kAll.begin(), kAll.end(), accepts);
  if (found == kAll.end()) return std::nullopt;
  return *found;
}

}  // namespace

std::span<const BlockType> block_types() noexcept { return kAll; }

std::string_view name(BlockType type) noexcept { return traits(type).name; }

std::optional<BlockType> block_type_from_name(std::string_view name) noexcept {
  return first([=](BlockType type) { return traits(type).name == name; });
}

int gguf_id(BlockType type) noexcept { return traits(type).gguf_id; }

std::optional<BlockType> block_type_from_gguf(int64_t id) noexcept {
  return first([=](BlockType type) { return traits(type).gguf_id == id; });
}

int64_t block_elements(BlockType type) noexcept { return traits(type).elements; }

int64_t block_bytes(BlockType type) noexcept { return traits(type).bytes; }

}  // namespace dequant
