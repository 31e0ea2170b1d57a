// Reading the structure of a GGUF file from front to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "format/io/errors.h"
#include "format/io/file.h"

namespace dequant::format::gguf {

/// Reads numbers and texts, in pieces of the file. All functions fail with malformed where the file
/// ends before, with the byte of the file, and with io.
class Scanner {
 public:
  /// The longest text that text() reads.
  static constexpr int64_t kMostText = 65'535;

  /// Reads `piece` bytes of the file at once. The file must outlive this object.
  explicit Scanner(const InputFile& file, int64_t piece = int64_t{1} << 16)
      : file_(file), most_(piece) {}

  /// The next byte to be read.
  int64_t at() const { return at_; }
  int64_t left() const { return file_.size() - at_; }

  /// Whether numbers have their highest byte first; false at first.
  void set_big_endian(bool big) { big_endian_ = big; }
  bool big_endian() const { return big_endian_; }

  /// A number of 1, 2, 4 or 8 bytes, with zeros above.
  Result<uint64_t> number(int bytes);

  /// A length of 8 bytes and so many bytes of text, UTF-8 without a zero byte. Valid until the next
  /// call. Also fails with malformed beyond kMostText.
  Result<std::string_view> text();

  /// Demands so many bytes and moves behind them.
  Status skip(uint64_t bytes);

 private:
  /// The next bytes, valid until the next call.
  Result<const unsigned char*> take(int64_t bytes);
  Error ends(uint64_t wanted) const;

  const InputFile& file_;
  const int64_t most_;
  int64_t at_ = 0;
  int64_t piece_at_ = 0;  ///< offset of the piece in the file
  std::vector<unsigned char> piece_;
  bool big_endian_ = false;
};

}  // namespace dequant::format::gguf
