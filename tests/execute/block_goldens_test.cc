// GGUF tensors of every block type, from ggml's quantizer and of any bytes: the floats are those of
// ggml's own functions, bit for bit.
#include <gtest/gtest.h>

#include "dequant/gguf.h"
#include "support/checkpoint.h"
#include "support/gguf.h"

namespace dequant::block_goldens_test {
namespace {

using testing::Bytes;
using testing::CheckpointGoldens;
using testing::Folder;
using testing::ForcedTarget;
using testing::GgufFile;
using testing::GgufTensor;
using testing::succeeds;

void expect_floats(const GgufTensor& tensor, BlockType type, const std::byte* data,
                   const Bytes& want) {
  const auto plan = gguf::dequantize({.type = type, .shape = tensor.shape});
  ASSERT_TRUE(succeeds(plan));
  const Extents e = extents(*plan);
  ASSERT_EQ(want.size(), testing::bytes_for(Element::float32, e.y));
  Bytes y(want.size());
  const Buffers buffers{{data, static_cast<size_t>(e.x)}, {}, {}, y};
  ASSERT_TRUE(succeeds(run(*plan, buffers)));
  for (int64_t i = 0; i < e.y; ++i) {
    const uint32_t got = testing::code_at(Element::float32, y, i);
    const uint32_t code = testing::code_at(Element::float32, want, i);
    ASSERT_TRUE(testing::same(Element::float32, got, code, testing::Zeros::differ))
        << tensor.name << ": element " << i;
  }
}

TEST_F(CheckpointGoldens, GgmlGivesTheSameFloatsForAllBlockTypes) {
  const GgufFile file(testing::checkpoints() / "gguf_all_types" / "model.gguf");
  const Folder expected("gguf_all_types", "expected");
  for (const std::string_view target : targets()) {
    const ForcedTarget forced(target);
    size_t tensors = 0;
    for (const GgufTensor& tensor : file.tensors()) {
      const auto type = block_type_from_gguf(tensor.type);
      if (!type) continue;
      SCOPED_TRACE(target);
      ASSERT_NO_FATAL_FAILURE(
          expect_floats(tensor, *type, file.data(tensor), expected[tensor.name]));
      ++tensors;
    }
    EXPECT_GE(tensors, 75U) << "three of each type but Q8_1 and Q8_K, which no file has";
  }
}

}  // namespace
}  // namespace dequant::block_goldens_test
