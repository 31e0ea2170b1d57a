// GGUF files: any bytes, and pairs and tensors that are mostly right. A naive reader agrees on the
// header; what is read can be described, and converted as a dry run says.
#include <algorithm>

#include "format/formats.h"
#include "format/gguf/header.h"
#include "format/json/json.h"
#include "format/model/model_file.h"
#include "fuzz/support/check.h"
#include "fuzz/support/conversion.h"
#include "fuzz/support/cursor.h"
#include "fuzz/support/file.h"
#include "fuzz/support/gguf.h"

namespace dequant::fuzz {
namespace {

using format::gguf::Header;
using format::gguf::Tensor;

Result<Header> read(const std::string& path) {
  DEQUANT_TRY(const format::InputFile file, format::InputFile::open(path));
  return Header::read(file);
}

void check_header(const std::string& path, std::string_view bytes) {
  const auto header = read(path);
  const auto naive = gguf_tensors(bytes);
  require(accepted(header) == naive.has_value(), "the naive reader does not agree");
  if (!header) return;
  require(header->tensors().size() == naive->size(), "another number of tensors");
  for (size_t i = 0; i < naive->size(); ++i) {
    const Tensor& t = header->tensors()[i];
    const NaiveTensor& n = (*naive)[i];
    require(t.name == n.name && t.type->id == n.type, "another tensor");
    require(std::equal(t.shape.begin(), t.shape.end(), n.shape.begin(), n.shape.end(),
                       [](int64_t a, uint64_t b) { return static_cast<uint64_t>(a) == b; }),
            "another shape");
    require(
        static_cast<uint64_t>(t.offset) == n.offset && static_cast<uint64_t>(t.bytes) == n.bytes,
        "other data");
  }
}

void fuzz(InputFile& memory, std::span<const uint8_t> input) {
  Cursor cursor(input.data(), input.size());
  const bool to_gguf = cursor.coin();
  const std::string bytes = gguf_file(cursor);
  memory.write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  check_header(memory.path(), bytes);
  const auto file = open_model(format::formats(), memory.path(), {});
  if (!accepted(file)) return;
  for (const format::Headline& line : (*file)->details()) {
    check_error({ErrorCode::invalid_argument, line.title});
    if (!line.value.empty()) check_error({ErrorCode::invalid_argument, line.value});
  }
  static_cast<void>((*file)->facts());
  check_conversion(**file, memory.folder() + (to_gguf ? "y.gguf" : "y.safetensors"));
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static dequant::fuzz::InputFile file("x.gguf");
  dequant::fuzz::fuzz(file, {data, size});
  return 0;
}
