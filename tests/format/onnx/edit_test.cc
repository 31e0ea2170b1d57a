// Edits of nested messages: against a model of the same tree that is written out from scratch.
#include "format/onnx/edit.h"

#include <gtest/gtest.h>

#include <memory>

#include "message.h"
#include "support/random.h"

namespace dequant::format::onnx {
namespace {

using testing::num;
using testing::Random;
using testing::source_of;
using testing::sub;

/// A message, or a field without fields of its own.
struct Part {
  std::string plain;    ///< the whole field; empty for a message
  uint32_t number = 0;  ///< of a message
  std::vector<std::unique_ptr<Part>> parts;
  // Where the model file has it, and what an edit makes of it.
  Span whole;
  Span payload;
  int frame = -1;
  bool changed = false;
  std::string instead;
  std::string appended;
};

std::string written(const Part& part, bool edited, bool root = false) {
  if (edited && part.changed) return part.instead;
  if (!part.plain.empty()) return part.plain;
  std::string inner;
  for (const auto& p : part.parts) inner += written(*p, edited);
  if (edited) inner += part.appended;
  return root ? inner : sub(part.number, inner);
}

std::unique_ptr<Part> random_message(Random& random, int depth) {
  auto part = std::make_unique<Part>();
  part->number = static_cast<uint32_t>(random.in(1, random.coin() ? 15 : 5000));
  for (int64_t n = random.in(0, 4); n > 0; --n) {
    if (depth > 0 && random.coin()) {
      part->parts.push_back(random_message(random, depth - 1));
    } else {
      auto field = std::make_unique<Part>();
      field->plain = random.coin()
                         ? num(3, random.in(0, 1 << 20))
                         : sub(4, std::string(static_cast<size_t>(random.in(0, 200)), 'l'));
      part->parts.push_back(std::move(field));
    }
  }
  return part;
}

/// Notes where each part of the tree stands in its file, with a frame for each message.
void note_positions(Part& part, int64_t begin, int parent, Model& model, bool root) {
  const auto size = static_cast<int64_t>(written(part, false, root).size());
  part.whole = {begin, begin + size};
  if (!part.plain.empty()) return;
  int64_t inner = 0;
  for (const auto& p : part.parts) inner += static_cast<int64_t>(written(*p, false).size());
  part.payload = {part.whole.end - inner, part.whole.end};
  if (!root) {
    part.frame = static_cast<int>(model.frames.size());
    model.frames.emplace_back(part.number, part.whole, part.payload, parent);
  }
  int64_t at = part.payload.begin;
  for (auto& p : part.parts) {
    note_positions(*p, at, part.frame, model, false);
    at = p->whole.end;
  }
}

/// Changes some parts, in the tree and in the edit.
void change(Part& part, Random& random, Edit& edit) {
  for (auto& p : part.parts) {
    const int64_t what = random.in(0, 5);
    if (what == 0) {
      p->changed = true;
      edit.remove(part.frame, p->whole);
    } else if (what == 1) {
      p->changed = true;
      p->instead = std::string(static_cast<size_t>(random.in(1, 300)), 'n');
      edit.replace(part.frame, p->whole, {p->instead.substr(0, 1), p->instead.substr(1)});
    }
    // Also within what is replaced: nothing of it must show.
    if (p->plain.empty()) change(*p, random, edit);
  }
  if (random.in(0, 3) == 0) {
    part.appended = std::string(static_cast<size_t>(random.in(1, 300)), 'a');
    edit.append(part.frame, {part.appended});
  }
}

std::string assembled(const Pieces& pieces, std::string_view file) {
  std::string out;
  for (const Piece& p : pieces) {
    if (const auto* span = std::get_if<Span>(&p)) {
      out += file.substr(static_cast<size_t>(span->begin), static_cast<size_t>(span->size()));
    } else if (const auto* text = std::get_if<std::string>(&p)) {
      out += *text;
    } else {
      out += std::string(static_cast<size_t>(std::get<Computed>(p).bytes), 'c');
    }
  }
  return out;
}

TEST(EditTest, RandomChangesAtAnyDepthGiveTheMessageOfTheChangedTree) {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    auto tree = random_message(random, static_cast<int>(random.in(0, 6)));
    const std::string file = written(*tree, false, true);
    Model model(source_of(file));
    note_positions(*tree, 0, -1, model, true);
    Edit edit(model);
    change(*tree, random, edit);
    const Pieces pieces = edit.render();
    const std::string expected = written(*tree, true, true);
    ASSERT_EQ(assembled(pieces, file), expected) << round;
    ASSERT_EQ(size_of(pieces), static_cast<int64_t>(expected.size()));
    ASSERT_EQ(assembled(edit.render(), file), expected) << "the second time";
  }
}

class OneMessageTest : public ::testing::Test {
 protected:
  OneMessageTest() { model_.frames.emplace_back(7, Span{0, 8}, Span{2, 8}, -1); }

  std::string result() const { return assembled(edit_.render(), kFile); }

  /// Field 7 with three fields, and one behind it.
  static constexpr std::string_view kFile{"\x3A\x06\x08\x01\x10\x02\x18\x03\x40\x04", 10};
  Model model_{source_of(kFile)};
  Edit edit_{model_};
};

TEST_F(OneMessageTest, WithoutChangesIsOneSpanOfTheFile) {
  EXPECT_TRUE(edit_.empty());
  const Pieces pieces = edit_.render();
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(std::get<Span>(pieces[0]), (Span{0, 10}));
}

TEST_F(OneMessageTest, TheLaterReplacementOfTheSameBytesCounts) {
  edit_.replace(0, {4, 6}, {std::string("xx")});
  edit_.replace(0, {4, 6}, {std::string("yyy")});
  EXPECT_FALSE(edit_.empty());
  EXPECT_EQ(result(), std::string("\x3A\x07\x08\x01yyy\x18\x03\x40\x04"));
}

TEST_F(OneMessageTest, AReplacedMessageTakesChangesWithinItAlong) {
  edit_.append(0, {std::string("lost")});
  edit_.replace(-1, {0, 8}, {std::string("zz")});
  EXPECT_EQ(result(), "zz\x40\x04");
}

TEST_F(OneMessageTest, LengthsAreThoseOfComputedPieces) {
  edit_.append(0, {Computed{3, 294}});
  edit_.append(0, {std::string("e")});
  EXPECT_EQ(result(), std::string("\x3A\xAD\x02\x08\x01\x10\x02\x18\x03") + std::string(294, 'c') +
                          "e\x40\x04");
  EXPECT_EQ(size_of(edit_.render()), 3 + 301 + 2);
}

TEST_F(OneMessageTest, NothingMayBeLeft) {
  edit_.remove(-1, {0, 8});
  edit_.remove(-1, {8, 10});
  EXPECT_EQ(result(), "");
}

}  // namespace
}  // namespace dequant::format::onnx
