// Hostile input: pointers, sizes, overlap, alignment, and the ends of memory.
#include "c_api/hostile.h"
#include "support/guarded_buffer.h"

namespace dequant::testing::c::hostile_memory_test {
namespace {

/// A buffer of dequant_buffers by its fields.
template <class Pointer>
struct Field {
  const char* name;
  Pointer dequant_buffers::*pointer;
  uint64_t dequant_buffers::*bytes;
};

using B = dequant_buffers;
constexpr Field<const void*> kInputs[] = {
    {"x", &B::x, &B::x_bytes},
    {"scale", &B::scale, &B::scale_bytes},
    {"zero_point", &B::zero_point, &B::zero_point_bytes},
    {"min_range", &B::min_range, &B::min_range_bytes},
    {"max_range", &B::max_range, &B::max_range_bytes},
};
constexpr Field<void*> kOutput{"y", &B::y, &B::y_bytes};

/// Calls body(case, view, field) for every buffer that a dialect takes.
template <class Body>
void for_every_input(Body body) {
  for (Case& c : every_dialect()) {
    for (const auto& field : kInputs) {
      const B view = c.buffers.view();
      if (view.*field.bytes == 0) continue;
      SCOPED_TRACE(c.dialect + ", " + field.name);
      body(c, view, field);
    }
  }
}

TEST(Hostile, NullInputsAreRefused) {
  for_every_input([](Case& c, B view, const auto& field) {
    view.*field.pointer = nullptr;
    EXPECT_TRUE(refused(c.planned, view, std::string(field.name) + ": null", c.buffers.y));
    view.*field.bytes = 0;
    EXPECT_TRUE(refused(c.planned, view, "", c.buffers.y));
  });
}

TEST(Hostile, AnEmptyTensorNeedsNoMemory) {
  auto nothing = sized<B>();
  EXPECT_TRUE(succeeds(run(plan(OnnxNode{.x_dims = {0}, .scale_dims = {0}, .axis = 0}), nothing)));
  const auto per_tensor = plan(OnnxNode{.x_dims = {0}});
  EXPECT_TRUE(succeeds(run(per_tensor, nothing)));
  // A scale that is given must still be whole.
  const float scale = 1;
  nothing.scale = &scale;
  nothing.scale_bytes = 3;
  EXPECT_TRUE(is_invalid(run(per_tensor, nothing), "scale: 3 bytes given, 4 needed"));
  nothing.scale_bytes = 4;
  EXPECT_TRUE(succeeds(run(per_tensor, nothing)));
}

TEST(Hostile, ANullOutputIsRefused) {
  for (Case& c : every_dialect()) {
    SCOPED_TRACE(c.dialect);
    B view = c.buffers.view();
    view.y = nullptr;
    EXPECT_TRUE(refused(c.planned, view, "y: null, with 24 bytes", c.buffers.y));
    view.y_bytes = 0;
    EXPECT_TRUE(refused(c.planned, view, "", c.buffers.y));
  }
}

TEST(Hostile, ANullZeroPointIsZeroIfTheNodeHasNone) {
  const auto y = dequantize<float, int8_t, float>(OnnxNode{.x_dims = {2}}, {-3, 3}, {2.0F});
  EXPECT_EQ(y, (std::vector<float>{-6, 6}));
  // Not if it has one: NullInputsAreRefused.
}

TEST(Hostile, OutputInPlaceIsRefused) {
  for_every_input([](Case& c, B view, const auto& field) {
    std::vector<float> memory(16, 1.0F);
    const Memory before = bytes_of(memory);
    view.y = memory.data();
    view.*field.pointer = memory.data();
    EXPECT_TRUE(refused(c.planned, view, "y: overlaps", before));
    EXPECT_EQ(bytes_of(memory), before);
  });
}

TEST(Hostile, OutputOverAnyInputByAByteIsRefused) {
  for_every_input([](Case& c, B view, const auto& field) {
    Memory memory(128, kUntouched);
    const auto bytes = static_cast<ptrdiff_t>(view.*field.bytes);
    view.y = memory.data() + 64;
    const ptrdiff_t head = 64 - bytes;
    const ptrdiff_t tail = 64 + 24;
    for (const ptrdiff_t over : {head + 1, tail - 1}) {
      view.*field.pointer = memory.data() + over;
      EXPECT_TRUE(refused(c.planned, view, "y: overlaps", memory)) << over;
    }
    for (const ptrdiff_t beside : {head, tail}) {
      view.*field.pointer = memory.data() + beside;
      EXPECT_TRUE(succeeds(run(c.planned, view))) << beside;
      std::fill(memory.begin(), memory.end(), kUntouched);
    }
  });
}

TEST(Hostile, InputsMayOverlap) {
  const auto planned = plan(OnnxNode{.x_dims = {4}, .has_zero = true});
  const float scale = 2.0F;  // 00 00 00 40
  Memory y(16);
  auto view = sized<B>();
  view.x = view.scale = view.zero_point = &scale;
  view.x_bytes = view.scale_bytes = 4;
  view.zero_point_bytes = 1;
  view.y = y.data();
  view.y_bytes = y.size();
  ASSERT_TRUE(succeeds(run(planned, view)));
  EXPECT_EQ(numbers_of<float>(y), (std::vector<float>{0, 0, 0, 128}));
}

TEST(Hostile, EveryAlignmentGivesTheSameBits) {
  constexpr size_t kCount = 333;
  const auto planned = plan(OnnxNode{.x = DEQUANT_UINT16,
                                     .x_dims = {1, int64_t{kCount}},
                                     .scale_dims = {int64_t{kCount}},
                                     .has_zero = true,
                                     .zero_dims = {int64_t{kCount}}});
  Memory memory(4 * 2048);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<unsigned char>(i * 7 % 61);
  Buffers b{.x = Memory(memory.begin(), memory.begin() + 2 * kCount),
            .scale = Memory(memory.begin(), memory.begin() + 4 * kCount),
            .zero_point = Memory(memory.begin() + 5, memory.begin() + 5 + 2 * kCount)};
  const Memory want = output_of(planned, b);
  on_every_target([&] {
    for (size_t offset = 0; offset < 64; ++offset) {
      unsigned char* const at[] = {memory.data() + offset, memory.data() + 2048 + (offset * 3) % 64,
                                   memory.data() + 4096 + (offset * 5) % 64,
                                   memory.data() + 6144 + (offset * 11) % 64};
      auto view = b.view();
      view.x = std::copy(b.x.begin(), b.x.end(), at[0]) - b.x.size();
      view.scale = std::copy(b.scale.begin(), b.scale.end(), at[1]) - b.scale.size();
      view.zero_point =
          std::copy(b.zero_point.begin(), b.zero_point.end(), at[2]) - b.zero_point.size();
      view.y = at[3];
      ASSERT_TRUE(succeeds(run(planned, view)));
      ASSERT_EQ(Memory(at[3], at[3] + want.size()), want) << offset;
    }
  });
}

TEST(Hostile, NothingIsReadOrWrittenBeyondTheEnds) {
  const GuardedBuffer x(4096), scale(4096), zero(4096), y(4096);
  for (const auto type : {DEQUANT_UINT2, DEQUANT_INT4, DEQUANT_INT8, DEQUANT_UINT16, DEQUANT_INT32,
                          DEQUANT_FLOAT8E5M2, DEQUANT_FLOAT4E2M1}) {
    for (const int64_t count : {1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 255, 301}) {
      const auto planned = plan(OnnxNode{.x = type,
                                         .x_dims = {count},
                                         .scale_dims = {count},
                                         .has_zero = true,
                                         .zero_dims = {count},
                                         .axis = 0});
      const auto sizes = sizes_of(planned);
      on_every_target([&] {
        for (const bool at_end : {true, false}) {
          const auto slot = [&](const GuardedBuffer& b, uint64_t bytes) {
            return at_end ? b.before_end(bytes) : b.begin();
          };
          auto view = sized<B>();
          view.x = slot(x, view.x_bytes = sizes.x_bytes);
          view.scale = slot(scale, view.scale_bytes = sizes.scale_bytes);
          view.zero_point = slot(zero, view.zero_point_bytes = sizes.zero_point_bytes);
          view.y = slot(y, view.y_bytes = sizes.y_bytes);
          ASSERT_TRUE(succeeds(run(planned, view))) << count;
        }
      });
    }
  }
}

TEST(Hostile, BuffersShorterThanTheShapeAreRefused) {
  for_every_input([](Case& c, B view, const auto& field) {
    view.*field.bytes -= 1;
    EXPECT_TRUE(
        refused(c.planned, view, std::to_string(view.*field.bytes) + " bytes", c.buffers.y));
  });
  for (Case& c : every_dialect()) {
    B view = c.buffers.view();
    view.*kOutput.bytes = 23;
    EXPECT_TRUE(refused(c.planned, view, "23 bytes", c.buffers.y)) << c.dialect;
  }
}

TEST(Hostile, BuffersThatReachBeyondTheEndOfMemoryAreRefused) {
  for_every_input([](Case& c, B view, const auto& field) {
    for (const uint64_t bytes : {UINT64_MAX, UINT64_MAX - 15}) {
      view.*field.bytes = bytes;
      EXPECT_TRUE(refused(c.planned, view, "reach beyond the end of memory", c.buffers.y));
    }
  });
}

TEST(Hostile, BitsAfterTheLastElementAreIgnored) {
  for (const unsigned garbage : {0x00u, 0xF0u, 0x50u, 0xA0u}) {
    const auto last = static_cast<uint8_t>(garbage | 0x09u);
    EXPECT_EQ((dequantize<float, uint8_t, float>(OnnxNode{.x = DEQUANT_INT4, .x_dims = {3}},
                                                 {0x21, last}, {1.0F})),
              (std::vector<float>{1, 2, -7}));
  }
  for (const unsigned garbage : {0x00u, 0xFCu, 0x54u}) {
    const auto last = static_cast<uint8_t>(garbage | 0x02u);
    EXPECT_EQ((dequantize<float, uint8_t, float>(OnnxNode{.x = DEQUANT_UINT2, .x_dims = {5}},
                                                 {0xE4, last}, {1.0F})),
              (std::vector<float>{0, 1, 2, 3, 2}));
  }
}

}  // namespace
}  // namespace dequant::testing::c::hostile_memory_test
