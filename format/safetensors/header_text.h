// The JSON text of a header, token by token.
//
// Written for this text because a general parser of JSON keeps what it has read of a token several
// times when it reports an error, and headers may be one text of 100 MB. A header has no values but
// objects, arrays, strings and whole numbers, and null in place of one object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/io/errors.h"
#include "format/io/file.h"

namespace dequant::format::safetensors {

/// Reads the bytes [begin, end) of a file in pieces. Each function first skips white space. All
/// fail with malformed where the text has something else than they read, and with io; messages name
/// the byte of the file. After a failure nothing more may be read.
class HeaderText {
 public:
  /// Demands a range within the file. The file must outlive this object.
  HeaderText(const InputFile& file, int64_t begin, int64_t end);

  /// Whether null stands here, which is read then.
  Result<bool> null();

  /// Reads an opening brace or bracket.
  Status open(char c);

  /// Whether another member of an object, or value of an array, follows: reads the comma before it,
  /// or the closing brace or bracket. `count` is the number of those before.
  Result<bool> another(int64_t count, char close);

  /// Reads a key and its colon. The text is valid until the next one is read.
  Result<std::string_view> key();

  /// Reads a string. The text is valid until the next one is read.
  Result<std::string_view> string();

  /// Reads a whole number: decimal digits without a sign, a fraction, an exponent or zeros before
  /// them, at most 2^63 - 1.
  Result<int64_t> number();

  /// Fails where anything but spaces is left.
  Status finish();

 private:
  static constexpr int kEnd = -1;

  /// The next byte, or kEnd.
  int peek() { return next_ < piece_.size() || fill() ? piece_[next_] : kEnd; }
  bool fill();
  int64_t at() const { return piece_at_ + static_cast<int64_t>(next_); }
  /// Reads the next byte if it is that one.
  bool skip(char c);
  void skip_space();

  /// Adds the next characters of a string to the token: those of this piece up to one that is not
  /// plain, any one, or the rest of an escape.
  void add_plain();
  Status character();
  Status escape();
  Result<uint32_t> hexadecimal();

  /// What the text goes on with, for a message.
  std::string found();
  /// "byte 40: found null, expected a string", or the error of the file.
  Error expected(std::string_view what);
  Error wrong(int64_t at, std::string what) const;

  const InputFile& file_;
  int64_t piece_at_;  ///< offset of the piece in the file
  int64_t end_;
  std::vector<unsigned char> piece_;
  size_t next_ = 0;  ///< in the piece
  std::string token_;
  Status read_;
};

}  // namespace dequant::format::safetensors
