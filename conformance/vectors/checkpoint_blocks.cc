// Nodes of schemes whose tensors are blocks of bytes, with scales among the codes.
#include "conformance/vectors/checkpoint.h"
#include "dequant/block.h"

namespace dequant::conformance::vectors {
namespace {

using enum Element;
using Name = std::string_view;

/// The bytes of all blocks step by one odd number, which decides how many blocks have every scale:
/// MXFP4 has its scale in one of 17 bytes, NVFP4 four scales in 36.
int64_t blocks_with_every_scale(BlockType type) { return type == BlockType::MXFP4 ? 256 : 64; }

CheckpointNode gguf(Choices& c) {
  const Name form = c.each<Name>({"scaled", "blocks", "every_scale"});
  const Name chosen = form == "scaled"        ? c.each<Name>({"NVFP4", "Q6_K"})
                      : form == "every_scale" ? c.each<Name>({"MXFP4", "NVFP4"})
                                              : c.each<Name>({
#define DEQUANT_BLOCK(name, ...) #name,
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
                                                });
  const BlockType type = *block_type_from_name(chosen);
  const int64_t rows = form == "every_scale" ? blocks_with_every_scale(type) : c.in(3, 4);
  const int64_t blocks = form == "every_scale" ? 1 : 256 / block_elements(type);
  const Sizes stored{rows, blocks * block_bytes(type)};
  CheckpointNode node{{{"data", uint8, stored}}, {}, "blocks"};
  if (form == "scaled") node.tensors.push_back({"scale", float32, c.any<Sizes>({{}, {1}, {rows}})});
  if (form == "scaled" || c.any({0, 1}) == 1) {
    node.attributes["shape"] = Sizes{rows, blocks * block_elements(type)};
    node.tensors[0].shape = c.any<Sizes>({stored, {stored[0] * stored[1]}});
  }
  node.attributes["type"] = std::string(chosen);
  if (c.in(0, 3) == 0) node.attributes["type"] = int64_t{gguf_id(type)};
  return node;
}

}  // namespace

MakeNode block_types_of(std::string_view scheme) { return scheme == "gguf" ? gguf : nullptr; }

}  // namespace dequant::conformance::vectors
