// Writing .npy files as numpy writes them.
#include <algorithm>
#include <vector>

#include "format/io/errors.h"
#include "format/npy/npy.h"

namespace dequant::format {
namespace {

/// Elements of at least 8 bits are written as they are in memory; smaller ones are unpacked chunk
/// by chunk.
Status write_data(OutputFile& out, const TensorData& data, int64_t count) {
  if (bits(data.element) >= 8) return out.write(data.bytes);
  constexpr int64_t kChunk = int64_t{1} << 20;
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(count, kChunk)));
  for (int64_t i = 0; i < count; i += kChunk) {
    const auto at = static_cast<size_t>(i * bits(data.element) / 8);
    const auto size = static_cast<size_t>(std::min(count - i, kChunk));
    const auto items = std::span(chunk).first(size);
    DEQUANT_CHECK(unpack_codes(data.element, std::span(data.bytes).subspan(at), 0, items));
    DEQUANT_CHECK(out.write(std::span<const std::byte>(items)));
  }
  return {};
}

}  // namespace

std::string npy_descr(Element element) {
  const int bytes = std::max(bits(element) / 8, 1);
  const bool code = kind(element) == Kind::floating && (bytes == 1 || element == Element::bfloat16);
  const char type = code                                    ? 'u'
                    : kind(element) == Kind::floating       ? 'f'
                    : kind(element) == Kind::signed_integer ? 'i'
                                                            : 'u';
  return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', type, bytes);
}

std::string npy_header(Element element, Shape shape) {
  std::string dims;
  for (const int64_t d : shape) dims += fmt::format("{}{}", dims.empty() ? "" : ", ", d);
  if (shape.size() == 1) dims += ',';
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 npy_descr(element), dims);
  // As numpy does: padding for a first dimension of 21 digits, then to the next multiple of 64.
  constexpr size_t kGrowth = 21;
  if (!shape.empty())
    text.append(kGrowth - std::min(kGrowth, fmt::formatted_size("{}", shape[0])), ' ');
  constexpr size_t kAlign = 64;
  const auto padded = [&](size_t prefix) {
    const size_t size = prefix + text.size() + 1;
    return text.size() + kAlign - size % kAlign + 1;
  };
  size_t length = padded(10);
  const bool long_text = length > 0xFFFF;  // with thousands of dimensions: version 2.0
  if (long_text) length = padded(12);
  text.append(length - text.size() - 1, ' ');

  std::string out =
      long_text ? std::string("\x93NUMPY\x02\x00", 8) : std::string("\x93NUMPY\x01\x00", 8);
  for (size_t k = 0; k < (long_text ? 4u : 2u); ++k) {
    out += static_cast<char>(static_cast<unsigned char>(length >> (8 * k)));
  }
  return out + text + '\n';
}

Status write_npy(const std::string& path, const TensorData& data, Overwrite overwrite) {
  DEQUANT_TRY(const int64_t count, element_count(data.shape));
  DEQUANT_TRY(const int64_t bytes, packed_bytes(data.element, count));
  if (bytes != static_cast<int64_t>(data.bytes.size())) {
    return failure(ErrorCode::invalid_argument,
                   "{}: {} bytes of data where shape and type ask for {}", escaped(path),
                   data.bytes.size(), bytes);
  }
  DEQUANT_TRY(OutputFile out, OutputFile::create(path, overwrite));
  DEQUANT_CHECK(out.write(npy_header(data.element, data.shape)));
  DEQUANT_CHECK(write_data(out, data, count));
  return out.commit();
}

}  // namespace dequant::format
