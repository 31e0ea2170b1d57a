// The header of a safetensors file that is to be written, and where its data go.
#include "format/safetensors/writer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "format/io/errors.h"
#include "format/io/utf8.h"
#include "format/safetensors/header.h"

namespace dequant::format::safetensors {
namespace {

/// Appends a JSON string with the escapes that JSON demands, in their shortest forms.
Status append_string(std::string& text, std::string_view value) {
  constexpr std::string_view kLetters = "\"\\bfnrt";
  constexpr std::string_view kMeanings = "\"\\\b\f\n\r\t";
  text += '"';
  for (size_t i = 0; i < value.size();) {
    const size_t length = utf8_length(value, i);
    if (length == 0) {
      return failure(ErrorCode::invalid_argument, "\"{}\" is not UTF-8", escaped(value));
    }
    if (const size_t k = kMeanings.find(value[i]); k != std::string_view::npos) {
      text += {'\\', kLetters[k]};
    } else if (static_cast<unsigned char>(value[i]) < 0x20) {
      fmt::format_to(std::back_inserter(text), "\\u{:04x}", static_cast<int>(value[i]));
    } else {
      text += value.substr(i, length);
    }
    i += length;
  }
  text += '"';
  return {};
}

/// Fails where two names are equal. `name_of(i)` is the name of entry i.
template <class NameOf>
Status check_unique(size_t count, NameOf&& name_of) {
  const auto repeated = NameIndex(count, name_of).repeated(name_of);
  if (!repeated) return {};
  return failure(ErrorCode::invalid_argument, "\"{}\" occurs twice", escaped(name_of(*repeated)));
}

Status append_metadata(std::string& text, const NewMetadata& metadata) {
  if (metadata.empty()) return {};
  const auto key_of = [&](size_t i) -> std::string_view { return metadata[i].first; };
  DEQUANT_CHECK(check_unique(metadata.size(), key_of));
  text += "\"__metadata__\":{";
  for (const auto& [key, value] : metadata) {
    if (text.back() != '{') text += ',';
    DEQUANT_CHECK(append_string(text, key));
    text += ':';
    DEQUANT_CHECK(append_string(text, value));
  }
  text += '}';
  return {};
}

/// Appends the entry of a tensor whose data begin at `end`, and advances `end` over them.
Status append_tensor(std::string& text, const NewTensor& tensor, int64_t& end) {
  if (tensor.name == "__metadata__") {
    return failure(ErrorCode::invalid_argument, "no tensor may have this name");
  }
  if (tensor.shape.size() > kMaxRank) {
    return failure(ErrorCode::limit, "more than {} dimensions", kMaxRank);
  }
  const int64_t begin = end;
  DEQUANT_TRY(const int64_t bytes, bytes_of(*tensor.dtype, tensor.shape));
  if (__builtin_add_overflow(begin, bytes, &end)) {
    return failure(ErrorCode::invalid_argument, "the data end behind byte 2^63 - 1");
  }
  if (text.back() != '{') text += ',';
  DEQUANT_CHECK(append_string(text, tensor.name));
  fmt::format_to(std::back_inserter(text),
                 ":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                 tensor.dtype->name, fmt::join(tensor.shape, ","), begin, end);
  return {};
}

/// Indices of tensors by their types and names, as the reference writer sorts them.
std::vector<size_t> sorted(std::span<const NewTensor> tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const NewTensor& x = tensors[a];
    const NewTensor& y = tensors[b];
    return x.dtype != y.dtype ? x.dtype > y.dtype : x.name < y.name;
  });
  return order;
}

constexpr size_t kLength = 8;  ///< bytes before the text

/// Pads the text behind the first kLength bytes, and writes its length there.
Status finish(std::string& bytes) {
  bytes.append((8 - bytes.size() % 8) % 8, ' ');
  const uint64_t length = bytes.size() - kLength;
  if (length > uint64_t{kMaxHeader}) {
    return failure(ErrorCode::limit,
                   "the header has {} bytes, more than {}, the most that readers of safetensors "
                   "take: a smaller max-shard-size makes more files with fewer tensors",
                   length, kMaxHeader);
  }
  for (size_t k = 0; k < kLength; ++k) {
    bytes[k] = static_cast<char>(static_cast<unsigned char>(length >> (8 * k)));
  }
  return {};
}

}  // namespace

Result<NewHeader> NewHeader::make(std::span<const NewTensor> tensors, const NewMetadata& metadata) {
  const auto name_of = [&](size_t i) -> std::string_view { return tensors[i].name; };
  DEQUANT_CHECK(check_unique(tensors.size(), name_of));
  NewHeader header;
  header.order_ = sorted(tensors);
  header.offsets_.resize(tensors.size());
  header.bytes_ = std::string(kLength, '\0') + '{';
  if (Status added = append_metadata(header.bytes_, metadata); !added) {
    return in("__metadata__", std::move(added).error());
  }
  int64_t end = 0;
  for (const size_t i : header.order_) {
    header.offsets_[i] = end;
    if (Status added = append_tensor(header.bytes_, tensors[i], end); !added) {
      return in(fmt::format("tensor \"{}\"", escaped(name_of(i))), std::move(added).error());
    }
  }
  header.bytes_ += '}';
  DEQUANT_CHECK(finish(header.bytes_));
  const auto begin = static_cast<int64_t>(header.bytes_.size());
  if (__builtin_add_overflow(begin, end, &header.file_size_)) {
    return failure(ErrorCode::invalid_argument, "the file has more than 2^63 - 1 bytes");
  }
  for (int64_t& offset : header.offsets_) offset += begin;  // at most the size of the file
  return header;
}

}  // namespace dequant::format::safetensors
