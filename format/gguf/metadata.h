// The metadata of a GGUF file: keys and typed values. Texts and arrays stay in the file until they
// are asked for: a vocabulary has 262,144 texts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "format/gguf/scanner.h"
#include "format/safetensors/arena.h"
#include "format/safetensors/name_index.h"

namespace dequant::format::gguf {

/// The types of values, with their numbers in files.
enum class ValueType : uint8_t {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  float32,
  boolean,
  text,
  array,
  uint64,
  int64,
  float64,
};

/// As gguf-py spells it, lower case: "uint32", "string".
std::string_view name(ValueType type);

/// The bytes of a number; 0 for texts and arrays.
int bytes_of(ValueType type);

/// A key and its value.
struct Pair {
  std::string_view key;
  ValueType type = ValueType::uint8;
  ValueType element = ValueType::uint8;  ///< of an array, no array itself
  /// The bits of a number, with zeros above; the bytes of a text; the elements of an array.
  uint64_t number = 0;
  int64_t begin = 0;  ///< of the pair in the file
  int64_t end = 0;

  /// The first byte of a text, the first element of an array.
  int64_t data() const;
};

/// A number of a pair, or an element of an array.
struct Number {
  ValueType type;
  uint64_t bits;

  bool is_integer() const;
  int64_t integer() const;  ///< of an integer or a boolean; one above 2^63 - 1 wraps
  double real() const;      ///< of float32 and float64
};

/// All pairs of a file. Its memory is in proportion to the bytes of keys and to the number of
/// pairs. Keys are valid as long as the object exists, also after it was moved.
class Metadata {
 public:
  /// Reads `count` pairs. Fails with malformed for unknown types, arrays in arrays, empty and equal
  /// keys, for texts and arrays longer than the file; with io. Messages name the byte or the key.
  static Result<Metadata> read(Scanner& scanner, uint64_t count);

  /// In the order of the file.
  const std::deque<Pair>& pairs() const { return pairs_; }

  /// The pair of that key, or null.
  const Pair* find(std::string_view key) const;

  /// The number of a key with an integer value; nothing where there is no such key. Fails with
  /// malformed where the value has another type.
  Result<std::optional<int64_t>> integer(std::string_view key) const;

 private:
  Metadata() = default;
  Status read_pair(Scanner& scanner);

  safetensors::Arena<char> texts_;
  std::deque<Pair> pairs_;
  safetensors::NameIndex keys_;
};

/// At most `most` bytes of a pair's text. Fails with io.
Result<std::string> text_of(const InputFile& file, const Pair& pair, int64_t most);

/// Calls `number` or `text` for the first `most` elements of an array; of a text it gets at most
/// 65,536 bytes. Fails with io.
Status visit_elements(const InputFile& file, bool big_endian, const Pair& array, uint64_t most,
                      const std::function<void(Number)>& number,
                      const std::function<void(std::string_view)>& text);

}  // namespace dequant::format::gguf
