// Nodes of schemes whose tensors are blocks of bytes, with scales among the codes.
#include "conformance/vectors/checkpoint.h"
#include "dequant/block.h"

namespace dequant::conformance::vectors {
namespace {

using enum BlockType;
using Name = std::string_view;

/// The bytes of all blocks step by one odd number, which decides how many blocks have every scale:
/// MXFP4 has its scale in one of 17 bytes, NVFP4 four scales in 36.
int64_t blocks_with_every_scale(BlockType type) { return type == MXFP4 ? 256 : 64; }

/// The points of the grid of a type.
int64_t points_of(BlockType type) {
  if (type == IQ1_S || type == IQ1_M) return 2048;
  if (type == IQ2_S) return 1024;
  return type == IQ2_XS || type == IQ3_S ? 512 : 256;
}

/// The indices of points in a block.
int64_t indices_of(BlockType type) { return type == IQ3_XXS || type == IQ3_S ? 64 : 32; }

/// Sets bytes of blocks of a type with a grid, so that all indices follow one another. The high
/// bits are the same for all indices of a block.
std::vector<std::pair<size_t, uint64_t>> consecutive_indices(BlockType type) {
  std::vector<std::pair<size_t, uint64_t>> out;
  int64_t block = 0;  // where it begins
  const auto set = [&](int64_t at, int64_t byte) {
    out.emplace_back(static_cast<size_t>(block + at), static_cast<uint64_t>(byte & 0xFF));
  };
  const int64_t count = indices_of(type);
  for (int64_t first = 0; first < points_of(type); first += count, block += block_bytes(type)) {
    const int64_t high = first >> 8;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = type == IQ2_XXS  ? 2 + i / 4 * 8 + i % 4
                         : type == IQ2_XS ? 2 + 2 * i
                         : type == IQ1_M  ? i
                                          : 2 + i;
      set(at, first + i);
      if (type == IQ2_XS) set(at + 1, high | i << 1);  // above the bit of the index are signs
    }
    for (int64_t i = 0; i < 8; ++i) {
      if (type == IQ2_S) set(66 + i, high * 0x55);
      if (type == IQ3_S) set(66 + i, high * 0xFF);
      if (type == IQ1_M) set(32 + 2 * i, high * 0x11);
      if (type == IQ1_M) set(33 + 2 * i, high * 0x11 | 0x88);  // shifted down
      if (type == IQ1_S) set(34 + 2 * i, high * 0x249);
      if (type == IQ1_S) set(35 + 2 * i, high * 0x249 >> 8 | i << 5);  // a scale and the shift
    }
  }
  return out;
}

BlockType chosen_type(Choices& c, Name form) {
  const auto of = [&](std::initializer_list<Name> names) {
    return *block_type_from_name(c.each(names));
  };
  if (form == "scaled") return of({"NVFP4", "Q6_K"});
  if (form == "every_scale") return of({"MXFP4", "NVFP4"});
  if (form == "every_index")
    return of({"IQ1_M", "IQ1_S", "IQ2_S", "IQ2_XS", "IQ2_XXS", "IQ3_S", "IQ3_XXS"});
  return of({
#define DEQUANT_BLOCK(name, ...) #name,
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
  });
}

CheckpointNode gguf(Choices& c) {
  const Name form = c.systematic()
                        ? c.each<Name>({"scaled", "blocks", "every_scale", "every_index"})
                        : c.any<Name>({"scaled", "blocks"});
  const BlockType type = chosen_type(c, form);
  const bool every = form.starts_with("every");
  const int64_t rows = form == "every_scale"   ? blocks_with_every_scale(type)
                       : form == "every_index" ? points_of(type) / indices_of(type)
                                               : c.in(3, 4);
  const int64_t blocks = every ? 1 : 256 / block_elements(type);
  const Sizes stored{rows, blocks * block_bytes(type)};
  CheckpointNode node{{{"data", Element::uint8, stored}}, {}, "blocks"};
  if (form == "every_index") {
    node.attributes.emplace("dtype", std::string("float32"));
    node.tensors[0].set = consecutive_indices(type);
  }
  if (form == "scaled")
    node.tensors.push_back({"scale", Element::float32, c.any<Sizes>({{}, {1}, {rows}})});
  if (form == "scaled" || c.any({0, 1}) == 1) {
    node.attributes["shape"] = Sizes{rows, blocks * block_elements(type)};
    node.tensors[0].shape = c.any<Sizes>({stored, {stored[0] * stored[1]}});
  }
  node.attributes["type"] = std::string(name(type));
  if (c.in(0, 3) == 0) node.attributes["type"] = int64_t{gguf_id(type)};
  return node;
}

}  // namespace

MakeNode block_types_of(std::string_view scheme) { return scheme == "gguf" ? gguf : nullptr; }

}  // namespace dequant::conformance::vectors
