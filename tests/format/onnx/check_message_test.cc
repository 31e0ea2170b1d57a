// Which files are protobuf messages. tests/python/test_malformed_protobuf.py holds the same against
// protobuf itself.
#include "format/onnx/check_message.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "message.h"
#include "support/expect_error.h"
#include "support/random.h"

namespace dequant::format::onnx {
namespace {

using testing::fails;
using testing::key;
using testing::num;
using testing::random_cases;
using testing::source_of;
using testing::sub;
using testing::succeeds;

Status check(std::string_view bytes) {
  Source source = source_of(bytes);
  return check_message(source);
}

const std::string kBroken = key(9, 7);

/// Bytes that this process has read from files so far.
int64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  int64_t count = -1;
  io >> name >> count;
  return count;
}

TEST(CheckMessageTest, LooksIntoMessagesAndNotIntoTexts) {
  EXPECT_TRUE(succeeds(check("")));
  EXPECT_TRUE(succeeds(check(sub(2, kBroken) + sub(99, kBroken) + sub(7, sub(2, kBroken)))));
  EXPECT_TRUE(fails(check(sub(14, kBroken)), ErrorCode::malformed, "unknown wire type at byte 2"));
  EXPECT_TRUE(
      fails(check(sub(7, sub(1, sub(5, sub(14, kBroken))))), ErrorCode::malformed, "byte 8"));
}

TEST(CheckMessageTest, NumbersMayLieAcrossTheEndsOfWindows) {
  const std::string tail = num(1, -1) + sub(14, num(1, 300)) + key(3, 1) + "abcdefgh" + num(5, 7);
  const size_t longest = static_cast<size_t>(random_cases(16)) << 14;  // 256 or 64 KiB
  for (size_t window = size_t{4} << 10; window <= longest; window *= 4) {
    std::string ones;
    while (ones.size() < window - 44) ones += num(1, 1);  // in small steps, so that windows grow
    for (size_t before = window - 40; before <= window + 3; ++before) {
      std::string head = ones;
      head += sub(2, std::string(before - head.size(), 'x'));
      EXPECT_TRUE(succeeds(check(head + tail))) << before;
      EXPECT_TRUE(fails(check(head + tail + key(1, 0)), ErrorCode::malformed, "truncated varint"));
      EXPECT_TRUE(
          fails(check(head + sub(14, key(1, 0)) + tail), ErrorCode::malformed, "truncated"));
    }
  }
}

TEST(CheckMessageTest, PackedIntegersAreLookedAtOneByOne) {
  const auto dims = [](const std::string& packed) { return check(sub(7, sub(5, sub(7, packed)))); };
  const std::string longest = std::string(9, '\xFF') + '\1';
  for (size_t before = 0; before < 20; ++before) {
    const std::string ones(before, '\1');
    EXPECT_TRUE(succeeds(dims(ones)));
    EXPECT_TRUE(succeeds(dims(ones + longest + ones + longest)));
    EXPECT_TRUE(fails(dims(ones + "\xFF" + longest + ones), ErrorCode::malformed, "too long"));
    EXPECT_TRUE(fails(dims(ones + "\x80"), ErrorCode::malformed, "truncated"));
  }
  const std::string window((size_t{256} << 10) - 5, '\1');
  EXPECT_TRUE(succeeds(dims(window + longest + window)));
  EXPECT_TRUE(fails(dims(window + "\xFF" + longest), ErrorCode::malformed, "too long"));
}

TEST(CheckMessageTest, TensorDataIsNotRead) {
  std::string graph;
  for (int i = 0; i < 20; ++i)
    graph += sub(5, sub(9, std::string(size_t{1} << 20, '\xFF')) + num(2, 3));
  Source source = source_of(sub(7, graph));
  const int64_t before = bytes_read();
  EXPECT_TRUE(succeeds(check_message(source)));
  ASSERT_GT(before, 0);
  EXPECT_LT(bytes_read() - before, int64_t{1} << 20);
}

TEST(CheckMessageTest, NestsAsDeepAsProtobufReads) {
  const auto nested = [](int depth) {  // a graph, a node, an attribute ...
    std::string message;
    for (int level = depth; level > 0; --level) {
      message = sub(level == 1 ? 7 : level % 3 == 1 ? 6 : level % 3 == 2 ? 1 : 5, message);
    }
    return message;
  };
  EXPECT_TRUE(succeeds(check(nested(100))));
  EXPECT_TRUE(fails(check(nested(101)), ErrorCode::limit, "more than 100 deep"));
  const auto groups = [](size_t depth) {
    std::string begins;
    std::string ends;
    for (size_t i = 0; i < depth; ++i) begins += key(99, 3), ends += key(99, 4);
    return begins + ends;
  };
  EXPECT_TRUE(succeeds(check(groups(100))));
  EXPECT_TRUE(fails(check(groups(101)), ErrorCode::limit, "more than 100 deep"));
  EXPECT_TRUE(fails(check(groups(1'000'000)), ErrorCode::limit, "more than 100 deep"));
}

}  // namespace
}  // namespace dequant::format::onnx
