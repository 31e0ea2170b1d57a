// Reading the header of an .npy file, and checking it against the size of the file.
#include "format/npy/header.h"

#include <algorithm>
#include <array>
#include <span>

#include "dequant/tensor.h"
#include "format/io/errors.h"

namespace dequant::format {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

uint32_t byte_of(char c) { return static_cast<unsigned char>(c); }

uint32_t little_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= byte_of(bytes[i]) << (8 * i);
  return value;
}

/// The bytes of the header's text in the file.
struct TextRange {
  int64_t offset = 0;
  int64_t length = 0;
  bool python2 = false;  ///< of a version that Python 2 also wrote
};

Result<TextRange> find_text(const InputFile& file) {
  std::array<char, 12> start{};
  const auto have = static_cast<size_t>(std::min<int64_t>(file.size(), int64_t{start.size()}));
  DEQUANT_CHECK(file.read(0, std::as_writable_bytes(std::span(start).first(have))));
  const std::string_view bytes(start.data(), have);
  if (bytes.starts_with("PK")) {
    return failure(ErrorCode::unsupported, "a zip archive (.npz): extract its arrays first");
  }
  if (!bytes.starts_with(kMagic)) {
    return failure(ErrorCode::malformed, "not an .npy file: it does not start with \\x93NUMPY");
  }
  const auto ends = [&] {
    return failure(ErrorCode::malformed, "the file ends at byte {}, within the header", have);
  };
  if (have < 8) return ends();
  const uint32_t version = byte_of(bytes[6]);
  if (version < 1 || version > 3 || bytes[7] != 0) {
    return failure(ErrorCode::malformed, "byte 6: version {}.{} is not 1.0, 2.0 or 3.0", version,
                   byte_of(bytes[7]));
  }
  const size_t width = version == 1 ? 2 : 4;
  if (have < 8 + width) return ends();
  TextRange range;
  range.offset = static_cast<int64_t>(8 + width);
  range.length = little_endian(bytes.substr(8, width));
  range.python2 = version < 3;
  if (range.length > file.size() - range.offset) {
    return failure(ErrorCode::malformed,
                   "byte 8: header length {} in a file with {} bytes after it", range.length,
                   file.size() - range.offset);
  }
  return range;
}

struct Type {
  std::string_view name;  ///< descr without its first character
  Element stored;
  bool raw;
};

// ml_dtypes saves its types as widths (V1, V2), and float8_e5m2 as f1, which is no type of numpy.
constexpr std::array kTypes{
    Type{"u1", Element::uint8, false},   Type{"i1", Element::int8, false},
    Type{"u2", Element::uint16, false},  Type{"i2", Element::int16, false},
    Type{"u4", Element::uint32, false},  Type{"i4", Element::int32, false},
    Type{"f2", Element::float16, false}, Type{"f4", Element::float32, false},
    Type{"V1", Element::uint8, true},    Type{"f1", Element::uint8, true},
    Type{"V2", Element::uint16, true},
};

Status set_type(NpyHeader& header, const NpyText& text) {
  header.descr = text.descr;
  const std::string_view descr = header.descr;
  const char order = descr.empty() ? '\0' : descr[0];
  for (const Type& type : kTypes) {
    if (text.structured || descr.empty() || descr.substr(1) != type.name) continue;
    // '|' means no byte order. '=' means that of the reading machine, which is little-endian.
    const bool wide = bits(type.stored) > 8;
    const bool known = order == '<' || order == '=' || (order == '|' && (!wide || type.raw)) ||
                       (order == '>' && !type.raw);
    if (!known) break;
    header.stored = type.stored;
    header.raw = type.raw;
    header.big_endian = order == '>' && wide;
    return {};
  }
  return failure(
      ErrorCode::unsupported,
      "type '{}' is not one of u1, i1, u2, i2, u4, i4, f2 and f4 with a byte order before it",
      escaped(descr));
}

Status set_sizes(NpyHeader& header, const InputFile& file) {
  const auto as_malformed = [](Error error) {
    error.code = ErrorCode::malformed;
    return in("shape", std::move(error));
  };
  auto count = element_count(header.shape);
  if (!count) return as_malformed(std::move(count).error());
  auto bytes = packed_bytes(header.stored, *count);
  if (!bytes) return as_malformed(std::move(bytes).error());
  header.count = *count;
  header.data_bytes = *bytes;
  const int64_t available = file.size() - header.data_offset;
  if (header.data_bytes > available) {
    return failure(ErrorCode::malformed,
                   "byte {}: {} bytes of data where shape and type ask for {}", header.data_offset,
                   available, header.data_bytes);
  }
  header.trailing_bytes = available - header.data_bytes;
  return {};
}

Result<NpyHeader> read_header(const InputFile& file) {
  DEQUANT_TRY(const TextRange range, find_text(file));
  std::string bytes(static_cast<size_t>(std::min(range.length, kNpyMaxHeader)), '\0');
  DEQUANT_CHECK(file.read(range.offset, std::as_writable_bytes(std::span(bytes))));
  const bool cut = range.length > kNpyMaxHeader;
  DEQUANT_TRY(NpyText text, parse_npy_text(bytes, range.offset, range.python2, cut));

  NpyHeader header;
  DEQUANT_CHECK(set_type(header, text));
  header.fortran = text.fortran;
  header.shape = std::move(text.shape);
  header.data_offset = range.offset + range.length;
  DEQUANT_CHECK(set_sizes(header, file));
  return header;
}

}  // namespace

Result<NpyHeader> read_npy_header(const InputFile& file) {
  auto header = read_header(file);
  if (!header) return in(escaped(file.name()), std::move(header).error());
  return header;
}

}  // namespace dequant::format
