// The metadata of a GGUF file.
#include "format/gguf/metadata.h"

#include <algorithm>
#include <array>
#include <bit>

namespace dequant::format::gguf {
namespace {

struct TypeTraits {
  std::string_view name;
  int bytes;
};

/// By the numbers of ValueType.
constexpr std::array<TypeTraits, 13> kTypes{{
    {"uint8", 1},
    {"int8", 1},
    {"uint16", 2},
    {"int16", 2},
    {"uint32", 4},
    {"int32", 4},
    {"float32", 4},
    {"bool", 1},
    {"string", 0},
    {"array", 0},
    {"uint64", 8},
    {"int64", 8},
    {"float64", 8},
}};

constexpr int64_t kLength = 8;  ///< bytes of a length or a count
constexpr int64_t kTypeId = 4;

const TypeTraits& traits(ValueType type) { return kTypes[static_cast<size_t>(type)]; }

Result<ValueType> read_type(Scanner& scanner) {
  const int64_t at = scanner.at();
  DEQUANT_TRY(const uint64_t id, scanner.number(kTypeId));
  if (id < kTypes.size()) return static_cast<ValueType>(id);
  return failure(ErrorCode::malformed, "byte {}: {} is no type of a value", at, id);
}

/// Moves behind the elements of an array.
Status skip_elements(Scanner& scanner, ValueType element, uint64_t count) {
  const int size = bytes_of(element);
  const auto most =
      static_cast<uint64_t>(scanner.left()) / static_cast<uint64_t>(size > 0 ? size : kLength);
  if (count > most) {
    return failure(ErrorCode::malformed,
                   "byte {}: an array of {} elements of type {} in a file with {} bytes after it",
                   scanner.at(), count, name(element), scanner.left());
  }
  if (size > 0) return scanner.skip(count * static_cast<uint64_t>(size));
  for (uint64_t i = 0; i < count; ++i) {
    DEQUANT_TRY(const uint64_t length, scanner.number(kLength));
    DEQUANT_CHECK(scanner.skip(length));
  }
  return {};
}

/// Reads the value of a pair whose key is read.
Status read_value(Scanner& scanner, Pair& pair) {
  DEQUANT_TRY(pair.type, read_type(scanner));
  if (pair.type == ValueType::array) {
    const int64_t at = scanner.at();
    DEQUANT_TRY(pair.element, read_type(scanner));
    if (pair.element == ValueType::array)
      return failure(ErrorCode::malformed, "byte {}: an array of arrays", at);
    DEQUANT_TRY(pair.number, scanner.number(kLength));
    DEQUANT_CHECK(skip_elements(scanner, pair.element, pair.number));
  } else if (pair.type == ValueType::text) {
    DEQUANT_TRY(pair.number, scanner.number(kLength));
    DEQUANT_CHECK(scanner.skip(pair.number));
  } else {
    DEQUANT_TRY(pair.number, scanner.number(bytes_of(pair.type)));
  }
  pair.end = scanner.at();
  return {};
}

}  // namespace

std::string_view name(ValueType type) { return traits(type).name; }

int bytes_of(ValueType type) { return traits(type).bytes; }

int64_t Pair::data() const {
  const int64_t value = begin + kLength + static_cast<int64_t>(key.size()) + kTypeId;
  if (type == ValueType::text) return value + kLength;
  return type == ValueType::array ? value + kTypeId + kLength : value;
}

bool Number::is_integer() const {
  return type != ValueType::float32 && type != ValueType::float64 && type != ValueType::boolean;
}

int64_t Number::integer() const {
  switch (type) {
    case ValueType::int8: return static_cast<int8_t>(bits);
    case ValueType::int16: return static_cast<int16_t>(bits);
    case ValueType::int32: return static_cast<int32_t>(bits);
    case ValueType::boolean: return bits != 0 ? 1 : 0;
    default: return static_cast<int64_t>(bits);
  }
}

double Number::real() const {
  return type == ValueType::float64 ? std::bit_cast<double>(bits)
                                    : double{std::bit_cast<float>(static_cast<uint32_t>(bits))};
}

Status Metadata::read_pair(Scanner& scanner) {
  Pair pair;
  pair.begin = scanner.at();
  DEQUANT_TRY(const std::string_view key, scanner.text());
  if (key.empty()) return failure(ErrorCode::malformed, "byte {}: an empty key", pair.begin);
  const std::span<const char> copy = texts_.add(key);
  pair.key = {copy.data(), copy.size()};
  if (auto value = read_value(scanner, pair); !value) {
    return in(fmt::format("key \"{}\"", escaped(pair.key)), std::move(value).error());
  }
  pairs_.push_back(pair);
  return {};
}

Result<Metadata> Metadata::read(Scanner& scanner, uint64_t count) {
  Metadata metadata;
  for (uint64_t i = 0; i < count; ++i) DEQUANT_CHECK(metadata.read_pair(scanner));
  const auto key_of = [&](size_t i) { return metadata.pairs_[i].key; };
  metadata.keys_ = safetensors::NameIndex(metadata.pairs_.size(), key_of);
  if (const auto repeated = metadata.keys_.repeated(key_of)) {
    return failure(ErrorCode::malformed, "key \"{}\" occurs twice", escaped(key_of(*repeated)));
  }
  return metadata;
}

const Pair* Metadata::find(std::string_view key) const {
  const auto found = keys_.find(key, [&](size_t i) { return pairs_[i].key; });
  return found ? &pairs_[*found] : nullptr;
}

Result<std::optional<int64_t>> Metadata::integer(std::string_view key) const {
  const Pair* pair = find(key);
  if (pair == nullptr) return std::optional<int64_t>();
  const Number number{pair->type, pair->number};
  if (bytes_of(pair->type) > 0 && number.is_integer() && number.integer() >= 0)
    return std::optional(number.integer());
  return failure(ErrorCode::malformed,
                 "key \"{}\": a value of type {}, not a whole number from 0 to 2^63 - 1",
                 escaped(key), name(pair->type));
}

Result<std::string> text_of(const InputFile& file, const Pair& pair, int64_t most) {
  std::string text(
      static_cast<size_t>(std::min<uint64_t>(pair.number, static_cast<uint64_t>(most))), '\0');
  DEQUANT_CHECK(file.read(pair.data(), std::as_writable_bytes(std::span(text))));
  return text;
}

Status visit_elements(const InputFile& file, bool big_endian, const Pair& array, uint64_t most,
                      const std::function<void(Number)>& number,
                      const std::function<void(std::string_view)>& text) {
  Scanner scanner(file, 1 << 10);
  scanner.set_big_endian(big_endian);
  DEQUANT_CHECK(scanner.skip(static_cast<uint64_t>(array.data())));
  std::string buffer;
  for (uint64_t i = 0; i < std::min(most, array.number); ++i) {
    if (array.element != ValueType::text) {
      DEQUANT_TRY(const uint64_t bits, scanner.number(bytes_of(array.element)));
      number({array.element, bits});
      continue;
    }
    DEQUANT_TRY(const uint64_t length, scanner.number(kLength));
    buffer.resize(static_cast<size_t>(std::min<uint64_t>(length, 1 << 16)));
    DEQUANT_CHECK(file.read(scanner.at(), std::as_writable_bytes(std::span(buffer))));
    text(buffer);
    DEQUANT_CHECK(scanner.skip(length));
  }
  return {};
}

}  // namespace dequant::format::gguf
