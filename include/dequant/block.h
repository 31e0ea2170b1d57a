// Block types: layouts in which the codes and the scales of some neighbours lie side by side, as
// in GGUF files. docs/numerics.md has the arithmetic of each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "dequant/export.h"

namespace dequant {

/// All block types, with GGUF's names: Q4_0, Q4_K, IQ2_XXS, ... blocks.def lists them.
enum class BlockType : uint8_t {
#define DEQUANT_BLOCK(name, ...) name,
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
};

/// All block types in the order of the enumeration.
DEQUANT_EXPORT std::span<const BlockType> block_types() noexcept;

/// The name as in the enumeration; "unknown" for a number that is no enumerator.
DEQUANT_EXPORT std::string_view name(BlockType type) noexcept;

/// The block type of a name; none for other texts.
DEQUANT_EXPORT std::optional<BlockType> block_type_from_name(std::string_view name) noexcept;

/// The number of the type in GGUF files.
DEQUANT_EXPORT int gguf_id(BlockType type) noexcept;

/// The block type of a number in GGUF files; none for numbers of plain, removed and unknown types.
DEQUANT_EXPORT std::optional<BlockType> block_type_from_gguf(int64_t id) noexcept;

/// The elements of a block, a multiple of 32.
DEQUANT_EXPORT int64_t block_elements(BlockType type) noexcept;

/// The bytes of a block.
DEQUANT_EXPORT int64_t block_bytes(BlockType type) noexcept;

}  // namespace dequant
