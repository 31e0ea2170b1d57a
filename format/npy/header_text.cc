// Parsing the text of an .npy header: a Python dict literal. Only the grammar that versions of
// numpy write is accepted. One pass without recursion; nothing is evaluated.
#include <limits>
#include <optional>

#include "format/io/errors.h"
#include "format/npy/header.h"

namespace dequant::format {
namespace {

class Parser {
 public:
  Parser(std::string_view text, int64_t offset, bool python2, bool cut)
      : text_(text), offset_(offset), python2_(python2), cut_(cut) {}

  Result<NpyText> dict() {
    DEQUANT_CHECK(expect('{'));
    while (!accept('}')) {
      DEQUANT_CHECK(entry());
      if (accept(',')) continue;
      DEQUANT_CHECK(expect('}'));
      break;
    }
    skip_space();
    if (at_ < text_.size()) return unexpected("nothing but padding after the dict");
    if (cut_) return too_long();
    const char* missing = !descr_     ? "descr"
                          : !fortran_ ? "fortran_order"
                          : !shape_   ? "shape"
                                      : nullptr;
    if (missing != nullptr) return failure(ErrorCode::malformed, "the header has no '{}'", missing);
    return NpyText{*std::move(descr_), structured_, *fortran_, *std::move(shape_)};
  }

 private:
  Status entry() {
    skip_space();
    const size_t start = at_;
    DEQUANT_TRY(const std::string key, string());
    DEQUANT_CHECK(expect(':'));
    skip_space();
    const auto once = [&](const auto& value) -> Status {
      if (!value) return {};
      return failure(ErrorCode::malformed, "byte {}: '{}' occurs twice in the header",
                     position(start), key);
    };
    if (key == "descr") {
      DEQUANT_CHECK(once(descr_));
      structured_ = at_ < text_.size() && text_[at_] == '[';
      if (structured_) {
        DEQUANT_TRY(descr_, list());
      } else {
        DEQUANT_TRY(descr_, string());
      }
    } else if (key == "fortran_order") {
      DEQUANT_CHECK(once(fortran_));
      DEQUANT_TRY(fortran_, boolean());
    } else if (key == "shape") {
      DEQUANT_CHECK(once(shape_));
      DEQUANT_TRY(shape_, tuple());
    } else {
      return failure(ErrorCode::malformed,
                     "byte {}: header key '{}' is not descr, fortran_order or shape",
                     position(start), escaped(key));
    }
    return {};
  }

  Result<std::string> string() {
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
      return unexpected("a quoted string");
    }
    const char quote = text_[at_++];
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (static_cast<unsigned char>(text_[at_]) < 0x20 || text_[at_] == '\\') {
        return unexpected("a string without escapes or control characters");
      }
      ++at_;
    }
    if (at_ >= text_.size()) return unexpected("the end of a string");
    return std::string(text_.substr(start, at_++ - start));
  }

  /// A list of field descriptions, which is skipped: only its brackets must match.
  Result<std::string> list() {
    constexpr int kDeepest = 64;
    const size_t start = at_;
    int depth = 0;
    do {
      skip_space();
      if (at_ >= text_.size()) return unexpected("the end of a list");
      const char c = text_[at_];
      if (c == '\'' || c == '"') {
        DEQUANT_TRY([[maybe_unused]] const std::string ignored, string());
        continue;
      }
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      if (depth > kDeepest) return unexpected("a list less deep");
      ++at_;
    } while (depth > 0);
    return std::string(text_.substr(start, at_ - start));
  }

  Result<bool> boolean() {
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    return unexpected("True or False");
  }

  Result<std::vector<int64_t>> tuple() {
    std::vector<int64_t> shape;
    DEQUANT_CHECK(expect('('));
    if (accept(')')) return shape;
    while (true) {
      DEQUANT_TRY(const int64_t size, dimension());
      if (shape.size() == kNpyMaxRank) {
        return failure(ErrorCode::limit, "byte {}: shape has more than {} dimensions",
                       position(at_), kNpyMaxRank);
      }
      shape.push_back(size);
      const bool comma = accept(',');
      if (accept(')')) {
        if (comma || shape.size() > 1) return shape;
        return failure(ErrorCode::malformed, "byte {}: shape ({}) is a number, not a tuple",
                       position(at_ - 1), size);
      }
      if (!comma) return unexpected("',' or ')'");
    }
  }

  Result<int64_t> dimension() {
    skip_space();
    const size_t start = at_;
    int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const int digit = text_[at_] - '0';
      if (value > (std::numeric_limits<int64_t>::max() - digit) / 10) {
        return failure(ErrorCode::malformed, "byte {}: dimension does not fit in 63 bits",
                       position(start));
      }
      value = value * 10 + digit;
    }
    if (at_ == start) return unexpected("a dimension of digits");
    if (text_[start] == '0' && at_ - start > 1) {
      at_ = start;
      return unexpected("a dimension without leading zeros");
    }
    if (python2_ && at_ < text_.size() && text_[at_] == 'L') ++at_;
    return value;
  }

  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Status expect(char c) {
    if (accept(c)) return {};
    return unexpected(fmt::format("'{}'", c));
  }

  Error unexpected(std::string_view wanted) const {
    if (at_ < text_.size()) {
      return failure(ErrorCode::malformed, "byte {}: '{}' in the header where {} is expected",
                     position(at_), escaped(text_.substr(at_, 1)), wanted);
    }
    if (cut_) return too_long();
    return failure(ErrorCode::malformed, "byte {}: the header ends where {} is expected",
                   position(at_), wanted);
  }

  static Error too_long() {
    return failure(ErrorCode::limit, "the header is longer than the {} bytes read here",
                   kNpyMaxHeader);
  }

  int64_t position(size_t at) const { return offset_ + static_cast<int64_t>(at); }

  std::string_view text_;
  int64_t offset_;
  bool python2_;
  bool cut_;
  size_t at_ = 0;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_;
  std::optional<std::vector<int64_t>> shape_;
  bool structured_ = false;
};

}  // namespace

Result<NpyText> parse_npy_text(std::string_view text, int64_t offset, bool python2, bool cut) {
  return Parser(text, offset, python2, cut).dict();
}

}  // namespace dequant::format
