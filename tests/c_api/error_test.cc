// The caller's dequant_error: what is written there, and what is not.
#include <algorithm>

#include "c_api/call.h"

namespace dequant::testing::c::error_test {
namespace {

/// Fails with a message that quotes the name.
Outcome fail_with(const std::string& name) {
  return call([&](auto* error) { return dequant_force_target(name.c_str(), error); });
}

const std::string kStart = "target: \"";

TEST(CError, IsOptional) {
  EXPECT_EQ(dequant_force_target("none such", nullptr), DEQUANT_INVALID_ARGUMENT);
  dequant_plan* plan = nullptr;
  EXPECT_EQ(dequant_plan_onnx(nullptr, &plan, nullptr), DEQUANT_INVALID_ARGUMENT);
}

TEST(CError, IsClearedBySuccess) {
  const auto outcome =
      call([](auto* error) { return dequant_force_target(dequant_active_target(), error); });
  EXPECT_EQ(outcome.code, DEQUANT_OK);
  EXPECT_EQ(outcome.message, "");
}

TEST(Hostile, AnErrorOfAWrongSizeIsNotTouchedAndTheCallRefused) {
  for (const size_t size :
       {size_t{0}, size_t{1}, sizeof(dequant_error) - 1, size_t{4097}, SIZE_MAX}) {
    auto error = sized<dequant_error>();
    error.struct_size = size;
    error.code = DEQUANT_IO;
    error.message[0] = 'x';
    EXPECT_EQ(dequant_force_target(dequant_active_target(), &error), DEQUANT_INVALID_ARGUMENT);
    EXPECT_EQ(error.struct_size, size);
    EXPECT_EQ(error.code, DEQUANT_IO);
    EXPECT_STREQ(error.message, "x");
  }
}

TEST(CError, OfAWrongSizeStopsPlansAndRuns) {
  const OnnxNode owner;
  const auto node = owner.view();
  const auto planned = plan(node);
  ASSERT_TRUE(succeeds(planned));
  auto error = sized<dequant_error>();
  error.struct_size -= 1;
  auto* none = reinterpret_cast<dequant_plan*>(&error);
  EXPECT_EQ(dequant_plan_onnx(&node, &none, &error), DEQUANT_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr) << "on failure there is no plan";

  Buffers b{.x = Memory(6), .scale = Memory(4), .y = Memory(24, kUntouched)};
  const auto view = b.view();
  EXPECT_EQ(dequant_run(planned.plan.get(), &view, nullptr, &error), DEQUANT_INVALID_ARGUMENT);
  EXPECT_EQ(b.y, Memory(24, kUntouched));
}

TEST(CError, OfALaterVersionIsAcceptedWhileItsTailIsZero) {
  struct Later {
    dequant_error error;
    unsigned char tail[24];
  } later{};
  later.error.struct_size = sizeof later;
  EXPECT_EQ(dequant_force_target("none such", &later.error), DEQUANT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(later.error.message), "");
  later.error.message[0] = 'x';
  later.tail[23] = 1;
  EXPECT_EQ(dequant_force_target("none such", &later.error), DEQUANT_INVALID_ARGUMENT);
  EXPECT_EQ(later.error.message[0], 'x') << "not understood, so not written";
}

TEST(CError, MessageThatFitsIsWhole) {
  const Outcome outcome = fail_with("none such");
  EXPECT_TRUE(outcome.message.starts_with(kStart + "none such\" is not one of "));
  EXPECT_TRUE(outcome.message.ends_with("reference"));
}

TEST(CError, MessageIsCutBetweenCharacters) {
  for (const std::string character : {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    for (size_t shift = 0; shift < 4; ++shift) {
      std::string name(shift, '-');
      for (int i = 0; i < 400; ++i) name += character;
      const Outcome outcome = fail_with(name);
      const size_t whole = (DEQUANT_MESSAGE_SIZE - 1 - kStart.size() - shift) / character.size();
      if (whole >= 400) continue;
      EXPECT_EQ(outcome.message,
                (kStart + name).substr(0, kStart.size() + shift + whole * character.size()))
          << character << " after " << shift;
    }
  }
}

TEST(CError, MessageIsCutAtEveryLengthOfItsLastCharacter) {
  for (size_t length = 480; length < 520; ++length) {
    const Outcome outcome = fail_with(std::string(length, 'a') + "\xE2\x82\xAC");
    const size_t room = DEQUANT_MESSAGE_SIZE - 1 - kStart.size();
    std::string want = kStart + std::string(std::min(length, room), 'a');
    if (length + 3 <= room) want += "\xE2\x82\xAC";
    EXPECT_TRUE(outcome.message.starts_with(want)) << length;
    EXPECT_LT(outcome.message.size(), size_t{DEQUANT_MESSAGE_SIZE});
    if (length + 3 > room) {
      EXPECT_EQ(outcome.message, want) << length;
    }
  }
}

TEST(CError, MessageShowsBytesThatAreNoTextByTheirNumbers) {
  const std::pair<std::string, std::string> cases[] = {
      {"\n", "\\x0a"},
      {"\x1B[31m", "\\x1b[31m"},
      {"\x7F", "\\x7f"},
      {"\x80", "\\x80"},                    // continues nothing
      {"\xC3", "\\xc3"},                    // cut off by the quote
      {"\xC0\xAF", "\\xc0\\xaf"},           // overlong
      {"\xE0\x80\xAF", "\\xe0\\x80\\xaf"},  // overlong
      {"\xE2\x82", "\\xe2\\x82"},
      {"\xF0\x9F\x98", "\\xf0\\x9f\\x98"},           // cut off
      {"\xED\xA0\x80", "\\xed\\xa0\\x80"},           // a surrogate
      {"\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // above 0x10FFFF
      {"\xF0\x8F\x80\x80", "\\xf0\\x8f\\x80\\x80"},  // overlong
      {"\xC2\x9B\xC2\xA0",
       "\\xc2\\x9b\xC2\xA0"},  // a control character, and the first that is none
      {"\xFF\xFE", "\\xff\\xfe"},
      {"\xED\x9F\xBF\xEE\x80\x80", "\xED\x9F\xBF\xEE\x80\x80"},  // around the surrogates
      {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},                  // the last one
  };
  for (const auto& [name, shown] : cases) {
    EXPECT_TRUE(fail_with(name).message.starts_with(kStart + shown + "\" is not")) << shown;
  }
}

TEST(CError, EscapesAreNotCutApart) {
  const size_t room = DEQUANT_MESSAGE_SIZE - 1 - kStart.size();
  for (size_t length = room - 12; length <= room; ++length) {
    const std::string message = fail_with(std::string(length, 'a') + "\n\n\n\n\n\n").message;
    EXPECT_EQ(message.size() - kStart.size() - length, (room - length) / 4 * 4) << message;
  }
}

}  // namespace
}  // namespace dequant::testing::c::error_test
