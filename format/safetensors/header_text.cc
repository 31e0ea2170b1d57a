// The JSON text of a header, token by token.
#include "format/safetensors/header_text.h"

#include <algorithm>
#include <span>

#include "format/io/utf8.h"

namespace dequant::format::safetensors {
namespace {

constexpr int64_t kPiece = int64_t{1} << 16;

/// Characters of a token of any length that a message shows.
constexpr size_t kShown = 40;
constexpr size_t kKept = kShown + 2;  // one more and escaped() shows that there are more

bool is_digit(int c) { return c >= '0' && c <= '9'; }

/// Characters of numbers, and of words such as null.
bool is_word(int c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' ||
         c == '.';
}

/// Characters that strings have as they are.
bool is_plain(int c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

bool is_surrogate(uint32_t unit) { return unit >= 0xD800 && unit < 0xE000; }

}  // namespace

HeaderText::HeaderText(const InputFile& file, int64_t begin, int64_t end)
    : file_(file), piece_at_(begin), end_(end) {}

bool HeaderText::fill() {
  if (!read_) return false;
  const int64_t at = this->at();
  piece_.resize(static_cast<size_t>(std::min(kPiece, end_ - at)));
  piece_at_ = at;
  next_ = 0;
  read_ = file_.read(at, std::as_writable_bytes(std::span(piece_)));
  if (!read_) {
    piece_.clear();
    end_ = at;
  }
  return !piece_.empty();
}

bool HeaderText::skip(char c) {
  if (peek() != c) return false;
  ++next_;
  return true;
}

void HeaderText::skip_space() {
  while (skip(' ') || skip('\t') || skip('\n') || skip('\r')) {
  }
}

Status HeaderText::open(char c) {
  skip_space();
  return skip(c) ? Status() : expected(c == '{' ? "an object" : "an array");
}

Result<bool> HeaderText::null() {
  skip_space();
  if (peek() != 'n') return false;
  const int64_t start = at();
  token_.clear();
  for (; is_word(peek()); ++next_) {
    if (token_.size() < kKept) token_ += static_cast<char>(piece_[next_]);
  }
  if (token_ == "null") return true;
  return wrong(start, fmt::format("found {}, expected an object or null", escaped(token_, kShown)));
}

Result<bool> HeaderText::another(int64_t count, char close) {
  skip_space();
  if (skip(close)) return false;
  if (count == 0 || skip(',')) return true;
  return expected(close == '}' ? "\",\" or \"}\"" : "\",\" or \"]\"");
}

Result<std::string_view> HeaderText::key() {
  DEQUANT_TRY(const std::string_view text, string());
  skip_space();
  if (!skip(':')) return expected("\":\"");
  return text;
}

Result<std::string_view> HeaderText::string() {
  skip_space();
  if (!skip('"')) return expected("a string");
  token_.clear();
  for (;;) {
    add_plain();
    if (skip('"')) return std::string_view(token_);
    DEQUANT_CHECK(skip('\\') ? escape() : character());
  }
}

void HeaderText::add_plain() {
  const auto begin = piece_.begin() + static_cast<std::ptrdiff_t>(next_);
  const auto end = std::find_if_not(begin, piece_.end(), is_plain);
  token_.append(begin, end);
  next_ += static_cast<size_t>(end - begin);
}

Status HeaderText::character() {
  const int64_t start = at();
  const size_t size = token_.size();
  const int first = peek();
  if (first == kEnd) return expected("the end of a string");
  if (first < 0x20)
    return wrong(start, fmt::format("control character {:#04x} in a string", first));
  do {
    token_ += static_cast<char>(piece_[next_++]);
  } while (first >= 0x80 && token_.size() - size < 4 && (peek() & 0xC0) == 0x80 && peek() != kEnd);
  if (utf8_length(token_, size) == token_.size() - size) return {};
  return wrong(start, fmt::format("\"{}\" is not UTF-8", escaped(token_.substr(size))));
}

Status HeaderText::escape() {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const int64_t start = at() - 1;
  const int c = peek();
  if (c == kEnd) return expected("the end of a string");
  ++next_;
  if (c != 'u') {
    const size_t letter = kLetters.find(static_cast<char>(c));
    if (letter == std::string_view::npos) return wrong(start, "no escape of JSON in a string");
    token_ += kMeanings[letter];
    return {};
  }
  DEQUANT_TRY(uint32_t character, hexadecimal());
  if (is_surrogate(character)) {
    const bool pair = character < 0xDC00 && skip('\\') && skip('u');
    DEQUANT_TRY(const uint32_t low, pair ? hexadecimal() : Result<uint32_t>(0));
    if (low < 0xDC00 || low >= 0xE000) {
      return wrong(start, fmt::format("\\u{:04x} is half of a surrogate pair", character));
    }
    character = 0x10000 + ((character & 0x3FF) << 10 | (low & 0x3FF));
  }
  append_utf8(token_, character);
  return {};
}

Result<uint32_t> HeaderText::hexadecimal() {
  uint32_t value = 0;
  for (int k = 0; k < 4; ++k, ++next_) {
    const int c = peek();
    const int letter = c | 0x20;
    if (is_digit(c)) {
      value = value << 4 | static_cast<uint32_t>(c - '0');
    } else if (letter >= 'a' && letter <= 'f' && c != kEnd) {
      value = value << 4 | static_cast<uint32_t>(letter - 'a' + 10);
    } else {
      return expected("four hexadecimal digits");
    }
  }
  return value;
}

Result<int64_t> HeaderText::number() {
  skip_space();
  if (!is_word(peek())) return expected("a whole number");
  const int64_t start = at();
  int64_t value = 0;
  bool plain = true;
  token_.clear();
  for (int c = peek(); is_word(c); c = peek()) {
    if (token_.size() < kKept) token_ += static_cast<char>(c);
    plain = plain && is_digit(c) && !__builtin_mul_overflow(value, 10, &value) &&
            !__builtin_add_overflow(value, c - '0', &value);
    ++next_;
  }
  if (plain && (token_ == "0" || token_[0] != '0')) return value;
  return wrong(start, fmt::format("{} is no whole number up to 2^63 - 1 in decimal digits",
                                  escaped(token_, kShown)));
}

Status HeaderText::finish() {
  while (skip(' ')) {
  }
  if (peek() != kEnd) return expected("only spaces until the end of the header");
  return read_;
}

std::string HeaderText::found() {
  const int c = peek();
  if (c == kEnd) return "the end of the header";
  if (c == '{') return "an object";
  if (c == '[') return "an array";
  if (c == '"') return "a string";
  std::string text(1, static_cast<char>(c));
  if (!is_word(c)) return fmt::format("\"{}\"", escaped(text));
  for (++next_; is_word(peek()) && text.size() < kKept; ++next_) {
    text += static_cast<char>(piece_[next_]);
  }
  return escaped(text, kShown);
}

Error HeaderText::expected(std::string_view what) {
  const int64_t start = at();
  const std::string text = found();
  return wrong(start, fmt::format("found {}, expected {}", text, what));
}

Error HeaderText::wrong(int64_t at, std::string what) const {
  if (!read_) return read_.error();
  return failure(ErrorCode::malformed, "byte {}: {}", at, what);
}

}  // namespace dequant::format::safetensors
