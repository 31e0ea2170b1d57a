// The header of a GGUF file that is to be written.
#include "format/gguf/new_header.h"

#include <algorithm>

namespace dequant::format::gguf {
namespace {

/// Bytes of arrays that are read at once.
constexpr size_t kBytesAtOnce = size_t{1} << 20;

void append(std::string& out, uint64_t number, int bytes) {
  for (int k = 0; k < bytes; ++k)
    out += static_cast<char>(static_cast<unsigned char>(number >> (8 * k)));
}

void append(std::string& out, std::string_view text) {
  append(out, text.size(), 8);
  out += text;
}

bool is_of_part(std::string_view key) {
  return key == kSplitNumber || key == kSplitCount || key == kSplitTensors;
}

Result<int64_t> aligned(int64_t at, int64_t alignment) {
  int64_t sum = 0;
  if (__builtin_add_overflow(at, alignment - 1, &sum))
    return failure(ErrorCode::limit, "the file has more than 2^63 - 1 bytes");
  return sum / alignment * alignment;
}

}  // namespace

void NewPairs::begin(std::string_view key, ValueType type) {
  ++count_;
  append(bytes_, key);
  append(bytes_, static_cast<uint64_t>(type), 4);
}

void NewPairs::add(std::string_view key, ValueType type, uint64_t number) {
  begin(key, type);
  append(bytes_, number, bytes_of(type));
}

void NewPairs::add(const SplitPlace& place) {
  add(kSplitNumber, ValueType::uint16, place.number);
  add(kSplitCount, ValueType::uint16, place.count);
  add(kSplitTensors, ValueType::int32, static_cast<uint32_t>(place.tensors));
}

/// Values of little-endian files are copied as they are.
Status NewPairs::copy(const Parts& parts, const Pair& pair) {
  const InputFile& file = parts.files()[0].file;
  begin(pair.key, pair.type);
  if (pair.type == ValueType::text) {
    append(bytes_, pair.number, 8);
  } else if (pair.type == ValueType::array) {
    append(bytes_, static_cast<uint64_t>(pair.element), 4);
    append(bytes_, pair.number, 8);
    if (parts.big_endian()) {
      return visit_elements(
          file, true, pair, pair.number,
          [&](Number number) { append(bytes_, number.bits, bytes_of(number.type)); },
          [&](std::string_view text) { append(bytes_, text); });
    }
  } else {
    append(bytes_, pair.number, bytes_of(pair.type));
    return {};
  }
  for (int64_t at = pair.data(); at < pair.end;) {
    const size_t size = std::min(kBytesAtOnce, static_cast<size_t>(pair.end - at));
    const size_t old = bytes_.size();
    bytes_.resize(old + size);
    DEQUANT_CHECK(file.read(at, std::as_writable_bytes(std::span(bytes_).subspan(old))));
    at += static_cast<int64_t>(size);
  }
  return {};
}

Result<NewPairs> NewPairs::of(const Parts& parts, std::optional<uint32_t> file_type) {
  NewPairs pairs;
  for (const Pair& pair : parts.metadata().pairs()) {
    if (is_of_part(pair.key)) continue;
    if (file_type && pair.key == kFileTypeKey) {
      pairs.add(pair.key, ValueType::uint32, *file_type);
    } else {
      DEQUANT_CHECK(pairs.copy(parts, pair));
    }
  }
  return pairs;
}

Status place(dense::OutputShard& shard, const NewPairs& pairs, int64_t alignment) {
  std::string& header = shard.header;
  header = "GGUF";
  append(header, 3, 4);
  append(header, shard.tensors.size(), 8);
  append(header, pairs.count(), 8);
  header += pairs.bytes();
  int64_t next = 0;
  for (dense::OutputTensor& tensor : shard.tensors) {
    append(header, tensor.name);
    append(header, tensor.shape.size(), 4);
    for (size_t d = tensor.shape.size(); d-- > 0;)
      append(header, static_cast<uint64_t>(tensor.shape[d]), 8);
    append(header, find_type(tensor.type)->id, 4);
    append(header, static_cast<uint64_t>(next), 8);
    tensor.offset = next;
    int64_t end = 0;
    if (__builtin_add_overflow(next, tensor.bytes, &end))
      return failure(ErrorCode::limit, "the file has more than 2^63 - 1 bytes");
    DEQUANT_TRY(next, aligned(end, alignment));
    tensor.padding = next - end;
  }
  const auto size = static_cast<int64_t>(header.size());
  const int64_t data = (size + alignment - 1) / alignment * alignment;
  // Padding is for data: a file without tensors ends with its header, as writers of GGUF have it.
  if (!shard.tensors.empty()) header.resize(static_cast<size_t>(data));
  for (dense::OutputTensor& tensor : shard.tensors) tensor.offset += data;
  if (__builtin_add_overflow(static_cast<int64_t>(header.size()), next, &shard.bytes))
    return failure(ErrorCode::limit, "the file has more than 2^63 - 1 bytes");
  return {};
}

}  // namespace dequant::format::gguf
