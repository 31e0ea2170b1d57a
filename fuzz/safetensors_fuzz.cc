// Headers of safetensors files: any text, and texts of entries that are mostly right. A naive
// reader of the whole document agrees; what is read is written, and read again.
#include "format/safetensors/header.h"

#include <algorithm>
#include <cstring>

#include "format/safetensors/writer.h"
#include "fuzz/support/check.h"
#include "fuzz/support/cursor.h"
#include "fuzz/support/file.h"
#include "fuzz/support/safetensors.h"

namespace dequant::fuzz {
namespace {

using format::safetensors::Header;
using format::safetensors::MetadataPair;
using format::safetensors::NewHeader;
using format::safetensors::NewMetadata;
using format::safetensors::NewTensor;
using format::safetensors::Tensor;
using nlohmann::json;

Result<Header> read(InputFile& memory, std::string_view bytes) {
  memory.write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  DEQUANT_TRY(const format::InputFile file, format::InputFile::open(memory.path()));
  return Header::read(file);
}

/// What was read is what the document says.
void check_content(const Header& header, const json& document, int64_t data_offset) {
  const bool has_metadata = document.contains("__metadata__");
  require(header.tensors().size() + has_metadata == document.size(), "another number of tensors");
  for (const Tensor& t : header.tensors()) {
    const json& entry = document.at(std::string(t.name));
    require(entry.at("dtype") == t.dtype->name, "another type");
    require(entry.at("shape") == std::vector<int64_t>(t.shape.begin(), t.shape.end()),
            "another shape");
    const int64_t begin = t.offset - data_offset;
    require(entry.at("data_offsets") == std::vector<int64_t>{begin, begin + t.bytes},
            "other offsets");
    require(header.find(t.name) == &t, "a tensor that is not found");
  }
  const json none = json::object();
  const json& metadata = has_metadata ? document.at("__metadata__") : none;
  require(header.metadata().size() == metadata.size(), "another number of metadata");
  for (const MetadataPair& pair : header.metadata()) {
    require(metadata.at(std::string(pair.key())) == pair.value(), "other metadata");
  }
}

/// The header of the same tensors as the writer makes it, with data of zeros.
std::string written(const Header& header) {
  std::vector<NewTensor> tensors;
  for (const Tensor& t : header.tensors()) {
    tensors.push_back({std::string(t.name), t.dtype, {t.shape.begin(), t.shape.end()}});
  }
  NewMetadata metadata;
  for (const MetadataPair& pair : header.metadata()) {
    metadata.emplace_back(pair.key(), pair.value());
  }
  const auto made = NewHeader::make(tensors, metadata);
  require(accepted(made), "what is read cannot be written");
  std::string bytes = made->bytes();
  bytes.resize(static_cast<size_t>(made->file_size()));
  return bytes;
}

void check_round_trip(InputFile& memory, const Header& header) {
  const std::string bytes = written(header);
  const auto again = read(memory, bytes);
  require(accepted(again), "what is written cannot be read");
  for (const Tensor& t : header.tensors()) {
    const Tensor* found = again->find(t.name);
    require(
        found != nullptr && found->dtype == t.dtype && found->bytes == t.bytes &&
            std::equal(t.shape.begin(), t.shape.end(), found->shape.begin(), found->shape.end()),
        "written and read again, another tensor");
  }
  require(again->metadata().size() == header.metadata().size(), "other metadata");
  require(written(*again) == bytes, "written twice, two files");
}

void fuzz(InputFile& memory, std::span<const uint8_t> input) {
  Cursor cursor(input.data(), input.size());
  const std::string file = safetensors_file(cursor);
  const auto header = read(memory, file);
  const auto document = safetensors_document(file);
  require(accepted(header) == document.has_value(), "the naive reader does not agree");
  if (!header) return;
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  check_content(*header, *document, static_cast<int64_t>(8 + length));
  check_round_trip(memory, *header);
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static dequant::fuzz::InputFile file("x.safetensors");
  dequant::fuzz::fuzz(file, {data, size});
  return 0;
}
