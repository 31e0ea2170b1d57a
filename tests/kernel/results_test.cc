// What surrounds products, and the kernels of codebooks: every target against the scalar
// definition, on guarded memory.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "dequant/isa.h"
#include "element/reference.h"
#include "kernel/targets.h"
#include "support/float_bits.h"
#include "support/guarded_buffer.h"
#include "support/packed.h"
#include "support/print.h"

namespace dequant::results_test {
namespace {

using testing::bits_of;
using testing::float_of;
using testing::GuardedBuffer;
using testing::Random;
using testing::random_scale;

constexpr size_t kMost = 300;

class Results : public ::testing::Test {
 protected:
  float* floats(GuardedBuffer& buffer, size_t count) {
    auto* values = reinterpret_cast<float*>(buffer.before_end(count * sizeof(float)));
    for (size_t i = 0; i < count; ++i) values[i] = float_of(random_scale(random_));
    return values;
  }

  /// One parameter for each element, for kShortResultGroup or kResultGroup elements, or for all.
  size_t random_group(size_t count) {
    if (random_.coin()) return random_.coin() ? 1 : kShortResultGroup;
    return random_.coin() ? kResultGroup * static_cast<size_t>(random_.in(1, 3)) : count;
  }

  Random random_{12};
  GuardedBuffer products_{kMost * 4};
  GuardedBuffer zeros_{kMost * 4};
  GuardedBuffer scales_{kMost * 4};
  GuardedBuffer y_{kMost * 4};
};

TEST_F(Results, FollowTheProductAsDefined) {
  for (const std::string_view target : targets()) {
    for (const Element rounding : kOutputElements) {
      for (const Element output : kOutputElements) {
        const AfterFn after =
            table_of(target)->helpers.after_product[output_index(rounding)][output_index(output)];
        const size_t size = static_cast<size_t>(bits(output)) / 8;
        for (size_t count = 1; count <= kMost; ++count) {
          AfterArgs args{.products = floats(products_, count),
                         .y = y_.before_end(count * size),
                         .count = count};
          const bool has_zeros = random_.coin();
          args.group = random_group(count);
          args.subtracts = random_.coin();
          if (random_.coin()) args.factor = float_of(random_scale(random_));
          if (has_zeros) {
            args.zero =
                reinterpret_cast<int32_t*>(floats(zeros_, (count + args.group - 1) / args.group));
          }
          args.stream = reinterpret_cast<uintptr_t>(args.y) % 64 == 0 && count * size % 64 == 0;
          after(args);
          flush_streams();
          for (size_t i = 0; i < count; ++i) {
            const AfterProduct defined{args.factor, rounding, has_zeros && args.subtracts};
            const float zero = has_zeros ? std::bit_cast<float>(args.zero[i / args.group]) : -0.0F;
            const uint32_t want = reference_after_product(args.products[i], defined, zero, output);
            uint32_t got = 0;
            std::memcpy(&got, args.y + i * size, size);
            ASSERT_EQ(got, want) << target << ": " << args.products[i] << " * " << args.factor
                                 << " with " << zero << ", " << name(rounding) << " to "
                                 << name(output);
          }
        }
      }
    }
  }
}

// Every number at which the rounding to 16 bits may go wrong.
TEST_F(Results, RoundEveryMidpointAndItsNeighbours) {
  for (const std::string_view target : targets()) {
    const Helpers& helpers = table_of(target)->helpers;
    for (const Element type : {Element::float16, Element::bfloat16}) {
      const auto round =
          type == Element::float16 ? helpers.round_to_float16 : helpers.round_to_bfloat16;
      const uint32_t half = type == Element::float16 ? 1U << 12 : 1U << 15;
      for (uint32_t code = 0; code < 0x10000; code += 100) {
        float values[300];
        size_t count = 0;
        for (uint32_t i = code; i < std::min(code + 100, 0x10000U); ++i) {
          const uint32_t bits = bits_of(static_cast<float>(value_of(type, i)));
          for (const uint32_t off : {0U, half - 1, half}) values[count++] = float_of(bits + off);
        }
        float got[300];
        std::copy_n(values, count, got);
        round(got, count);
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(bits_of(got[i]), bits_of(reference_round(type, values[i])))
              << target << " " << name(type) << " of " << bits_of(values[i]);
        }
      }
    }
  }
}

TEST_F(Results, SubtractFloatsAsDefined) {
  for (const std::string_view target : targets()) {
    for (const Element type : kOutputElements) {
      const FloatZeroFn subtract = table_of(target)->helpers.subtract_floats[output_index(type)];
      for (size_t count = 1; count <= kMost; ++count) {
        FloatZeroArgs args{.values = floats(products_, count), .count = count};
        args.group = random_group(count);
        const size_t params = (count + args.group - 1) / args.group;
        args.scale = floats(scales_, params);
        args.zero = reinterpret_cast<int32_t*>(floats(zeros_, params));
        std::vector<float> x(args.values, args.values + count);
        subtract(args);
        for (size_t i = 0; i < count; ++i) {
          const size_t p = i / args.group;
          const float want = std::bit_cast<float>(reference_float_zero_point(
              x[i], type, std::bit_cast<float>(args.zero[p]), args.scale[p], Element::float32));
          const bool same = bits_of(args.values[i]) == bits_of(want);
          ASSERT_TRUE(same || (std::isnan(args.values[i]) && std::isnan(want))) << target;
        }
      }
    }
  }
}

TEST_F(Results, AreLookedUpByTheCodesOfTheirGroups) {
  GuardedBuffer codes(kMost);
  GuardedBuffer tables(kMost * 8);
  for (const std::string_view target : targets()) {
    const Helpers& helpers = table_of(target)->helpers;
    for (size_t count = 1; count <= kMost; ++count) {
      const size_t in_bytes = random_.coin() ? 0 : 1;
      const size_t size = random_.coin() ? 2 : 4;
      const LookUpFn look_up =
          (size == 2 ? helpers.look_up_words : helpers.look_up_floats)[in_bytes];
      const size_t group = random_.coin() ? 32 : random_group(count);
      if (group < 32 || look_up == nullptr) continue;
      const testing::Bytes x = testing::random_bytes(random_, in_bytes ? count : (count + 1) / 2);
      const testing::Bytes entries =
          testing::random_bytes(random_, (count + group - 1) / group * 16 * size);
      uint8_t* from = codes.before_end(x.size());
      uint8_t* table = tables.before_end(entries.size());
      for (size_t i = 0; i < x.size(); ++i) {
        from[i] = std::to_integer<uint8_t>(in_bytes ? x[i] & std::byte{15} : x[i]);
      }
      std::memcpy(table, entries.data(), entries.size());
      LookUpArgs args{from, y_.before_end(count * size), count, group, table};
      args.stream = reinterpret_cast<uintptr_t>(args.y) % 64 == 0;
      look_up(args);
      flush_streams();
      for (size_t i = 0; i < count; ++i) {
        const int code = in_bytes ? from[i] : from[i / 2] >> i % 2 * 4 & 15;
        const uint8_t* want = table + (i / group * 16 + static_cast<size_t>(code)) * size;
        ASSERT_EQ(std::memcmp(args.y + i * size, want, size), 0)
            << target << ": " << i << " of " << count << " in groups of " << group;
      }
    }
  }
}

TEST_F(Results, CodebooksAreScaledAsDefined) {
  GuardedBuffer codes(kMost);
  alignas(64) float table[Table::kCodebook];
  for (const std::string_view target : targets()) {
    for (const Element output : kOutputElements) {
      const size_t size = static_cast<size_t>(bits(output)) / 8;
      for (const bool small : {true, false}) {
        for (const ScaleLayout layout : {ScaleLayout::per_group, ScaleLayout::per_element}) {
          for (size_t count = 1; count <= kMost; ++count) {
            const bool edges = random_.coin();
            for (float& value : table) {
              value = edges ? float_of(random_scale(random_))
                            : 1.5F - 0.01F * static_cast<float>(&value - table);
            }
            const size_t group = static_cast<size_t>(random_.in(1, 70));
            const size_t params =
                layout == ScaleLayout::per_group ? (count + group - 1) / group : count;
            float* scale = floats(scales_, params);
            std::memset(zeros_.begin(), 0, zeros_.capacity());
            uint8_t* x = codes.before_end(count);
            for (size_t i = 0; i < count; ++i) {
              x[i] = static_cast<uint8_t>(random_.bits() % (small ? 16 : 256));
            }
            bool finite_normal = true;
            for (size_t i = 0; i < params; ++i) {
              finite_normal = finite_normal && is_finite_normal(scale[i], true);
            }
            for (const float value : table) {
              finite_normal = finite_normal && is_finite_normal_value(value);
            }
            uint8_t* y = y_.before_end(count * size);
            const auto* zero =
                reinterpret_cast<int32_t*>(zeros_.before_end(params * sizeof(int32_t)));
            table_of(target)->codebook_at(small, output, layout)({.x = x,
                                                                  .y = y,
                                                                  .count = count,
                                                                  .group = group,
                                                                  .scale = scale,
                                                                  .zero = zero,
                                                                  .lut = table,
                                                                  .finite_normal = finite_normal});
            for (size_t i = 0; i < count; ++i) {
              const size_t p = layout == ScaleLayout::per_group ? i / group : i;
              const uint32_t want = reference_scaled_value(table[x[i]], scale[p], output);
              uint32_t got = 0;
              std::memcpy(&got, y + i * size, size);
              ASSERT_EQ(got, want)
                  << target << ": " << table[x[i]] << " * " << scale[p] << " to " << name(output);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dequant::results_test
