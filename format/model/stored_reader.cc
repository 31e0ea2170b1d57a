// Reading the bytes of one stored tensor, whatever its storage in the file.
#include "format/model/stored_reader.h"

#include <algorithm>

#include "format/io/errors.h"

namespace dequant::format {

Status StoredReader::read(int64_t count, std::span<std::byte> out) {
  const Range elements{done_, done_ + count};
  done_ = elements.end;
  return read_next(elements, out);
}

Result<std::span<const std::byte>> StoredReader::next(int64_t count) {
  DEQUANT_TRY(const int64_t bytes, packed_bytes(element_, count));
  part_.resize(static_cast<size_t>(bytes));
  DEQUANT_CHECK(read(count, part_));
  return std::span<const std::byte>(part_);
}

Result<std::vector<std::byte>> StoredReader::whole(int64_t most) {
  DEQUANT_TRY(const int64_t bytes, packed_bytes(element_, count_));
  if (bytes > most) {
    return failure(ErrorCode::limit, "{}: {} bytes, more than the {} that may be held in memory",
                   label(), bytes, most);
  }
  // The length of storage that is not seekable may be proved only while it is read. So the buffer
  // grows with the bytes that are read.
  constexpr int64_t kStep = int64_t{1} << 20;
  std::vector<std::byte> all;
  while (left() > 0) {
    const int64_t count = seekable() ? left() : std::min(kStep, left());
    DEQUANT_TRY(const int64_t size, packed_bytes(element_, count));
    const size_t before = all.size();
    all.resize(before + static_cast<size_t>(size));
    DEQUANT_CHECK(read(count, std::span(all).subspan(before)));
  }
  DEQUANT_CHECK(finish());
  return all;
}

}  // namespace dequant::format
