// Reading the scales or zero points of a tensor that is computed in chunks.
#include "format/model/parameter_reader.h"

#include "format/io/errors.h"

namespace dequant::format {

Result<ParameterReader> ParameterReader::open(std::unique_ptr<StoredReader> reader, int64_t most) {
  ParameterReader parameters;
  parameters.most_ = most;
  DEQUANT_TRY(const int64_t bytes, packed_bytes(reader->element(), reader->left()));
  if (bytes <= most || !reader->seekable()) {
    DEQUANT_TRY(parameters.whole_, reader->whole(most));
  } else {
    parameters.reader_ = std::move(reader);
  }
  return parameters;
}

Result<std::span<const std::byte>> ParameterReader::get(Element element, Range range,
                                                        std::vector<std::byte>& slice) const {
  DEQUANT_TRY(const int64_t before, packed_bytes(element, range.begin));
  DEQUANT_TRY(const int64_t size, packed_bytes(element, range.end - range.begin));
  const auto length = static_cast<size_t>(size);
  if (whole_)
    return std::span<const std::byte>(*whole_).subspan(static_cast<size_t>(before), length);
  if (size > most_) {
    return failure(ErrorCode::limit, "{} bytes of scales at once, more than the {} that mem leaves",
                   size, most_);
  }
  slice.resize(length);
  DEQUANT_CHECK(reader_->read_at(range, slice));
  return std::span<const std::byte>(slice);
}

}  // namespace dequant::format
