// Reading .npy data into a tensor: bytes are swapped, transposed and packed where needed.
#include <algorithm>
#include <vector>

#include "format/io/errors.h"
#include "format/npy/npy.h"

namespace dequant::format {
namespace {

/// Reverses the bytes of every item.
void swap_bytes(std::span<std::byte> bytes, size_t item) {
  for (size_t i = 0; i + item <= bytes.size(); i += item) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + item));
  }
}

/// Reorders items from column-major to row-major order.
std::vector<std::byte> transposed(std::span<const std::byte> from, const NpyHeader& header,
                                  size_t item) {
  const size_t rank = header.shape.size();
  std::vector<size_t> stride(rank);
  size_t step = item;
  for (size_t d = 0; d < rank; ++d) {
    stride[d] = step;
    step *= static_cast<size_t>(header.shape[d]);
  }
  std::vector<std::byte> to(from.size());
  std::vector<int64_t> index(rank);
  size_t at = 0;
  for (size_t i = 0; i < to.size(); i += item) {
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), item,
                to.begin() + static_cast<std::ptrdiff_t>(i));
    for (size_t d = rank; d-- > 0;) {
      at += stride[d];
      if (++index[d] < header.shape[d]) break;
      at -= stride[d] * static_cast<size_t>(header.shape[d]);
      index[d] = 0;
    }
  }
  return to;
}

/// The code of one byte, or -1 when the byte is no code of the element.
int code_of(std::byte byte, const NpyHeader& header, Element element) {
  const int codes = 1 << bits(element);
  const int lowest = kind(element) == Kind::signed_integer ? -codes / 2 : 0;
  const int as_unsigned = std::to_integer<int>(byte);
  const int as_signed = as_unsigned < 128 ? as_unsigned : as_unsigned - 256;
  if (header.stored == Element::int8) {
    return as_signed >= lowest && as_signed < lowest + codes ? as_signed & (codes - 1) : -1;
  }
  if (as_unsigned < codes) return as_unsigned;
  // Where the header has only a width, a negative code may be sign-extended.
  return header.raw && as_signed < 0 && as_signed >= lowest ? as_signed & (codes - 1) : -1;
}

/// Packs one item per byte in place.
Status pack(std::vector<std::byte>& bytes, const NpyHeader& header, Element element) {
  for (int64_t i = 0; i < header.count; ++i) {
    const std::byte byte = bytes[static_cast<size_t>(i)];
    const int code = code_of(byte, header, element);
    if (code < 0) {
      const int value = std::to_integer<int>(byte);
      return failure(
          ErrorCode::malformed, "element {} in row-major order is {}, which does not fit {}", i,
          header.stored == Element::int8 && value > 127 ? value - 256 : value, name(element));
    }
    bytes[static_cast<size_t>(i)] = static_cast<std::byte>(code);
  }
  DEQUANT_CHECK(pack_codes(bits(element), bytes, bytes));
  DEQUANT_TRY(const int64_t size, packed_bytes(element, header.count));
  bytes.resize(static_cast<size_t>(size));
  bytes.shrink_to_fit();
  return {};
}

Result<std::vector<std::byte>> read_data(const InputFile& file, const NpyHeader& header,
                                         Element element) {
  std::vector<std::byte> bytes(static_cast<size_t>(header.data_bytes));
  DEQUANT_CHECK(file.read(header.data_offset, bytes));
  DEQUANT_CHECK(file.check_unchanged());
  const auto item = static_cast<size_t>(bits(header.stored) / 8);
  if (header.big_endian) swap_bytes(bytes, item);
  if (header.fortran) bytes = transposed(bytes, header, item);
  if (bits(element) < 8) {
    if (Status packed = pack(bytes, header, element); !packed) {
      return in(escaped(file.name()), std::move(packed).error());
    }
  }
  return bytes;
}

}  // namespace

Result<Element> npy_element(const NpyHeader& header, std::optional<Element> as) {
  if (!as && header.raw) {
    return failure(ErrorCode::unsupported,
                   "type '{}' gives only the width of its items: say what element they are",
                   header.descr);
  }
  if (!as || (*as == header.stored && !header.raw)) return header.stored;
  const bool same_width = bits(*as) == bits(header.stored);
  const bool holds_codes = kind(header.stored) == Kind::unsigned_integer;
  const bool allowed =
      bits(*as) < 8 ? bits(header.stored) == 8
                    : same_width && (header.raw || (holds_codes && kind(*as) == Kind::floating));
  if (allowed) return *as;
  return failure(ErrorCode::invalid_argument, "type '{}' cannot hold {}", header.descr, name(*as));
}

Result<TensorData> read_npy(const std::string& path, std::optional<Element> as,
                            std::string* warning) {
  DEQUANT_TRY(const InputFile file, InputFile::open(path));
  DEQUANT_TRY(NpyHeader header, read_npy_header(file));
  const auto element = npy_element(header, as);
  if (!element) return in(escaped(path), element.error());
  DEQUANT_TRY(auto bytes, read_data(file, header, *element));
  if (warning != nullptr && header.trailing_bytes > 0) {
    *warning += fmt::format("{}: {} bytes after the data are ignored", escaped(path),
                            header.trailing_bytes);
  }
  return TensorData{*element, std::move(header.shape), std::move(bytes)};
}

}  // namespace dequant::format
