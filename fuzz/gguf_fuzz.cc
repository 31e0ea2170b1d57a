// GGUF files: any bytes, and pairs and tensors that are mostly right. A naive reader agrees on the
// header; what is read can be described, and converted as a dry run says.
#include <algorithm>
#include <filesystem>

#include "format/formats.h"
#include "format/gguf/header.h"
#include "format/json/json.h"
#include "format/model/convert.h"
#include "format/model/model_file.h"
#include "fuzz/support/check.h"
#include "fuzz/support/cursor.h"
#include "fuzz/support/file.h"
#include "fuzz/support/gguf.h"

namespace dequant::fuzz {
namespace {

using format::gguf::Header;
using format::gguf::Tensor;

constexpr int64_t kMostConverted = 1 << 20;  ///< bytes of files that are written

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

/// Every tensor of the output has the floats that reading the input gives.
void check_output(const std::string& input, const std::string& output) {
  const auto before = open_model(format::formats(), input, {});
  format::OpenOptions options;  // integers with the name of a weight are copied
  options.where_known.set("keep-unknown");
  const auto after = open_model(format::formats(), output, options);
  require(accepted(before) && accepted(after), "what is written cannot be read");
  const auto same = [&](const format::DenseTensor& tensor) -> Status {
    const auto found = (*after)->stored(std::string(tensor.name));
    require(accepted(found) && found->has_value(), "a tensor is not there");
    std::vector<std::byte> floats;
    std::vector<std::byte> stored;
    DEQUANT_CHECK(stream(**before, tensor, {}, [&](auto part) {
      floats.insert(floats.end(), part.begin(), part.end());
      return Status();
    }));
    DEQUANT_CHECK(stream(**after, **found, {}, [&](auto part) {
      stored.insert(stored.end(), part.begin(), part.end());
      return Status();
    }));
    require(floats == stored, "other floats");
    return {};
  };
  require(accepted((*before)->visit({same, nullptr})), "a tensor cannot be read");
}

void check_conversion(const std::string& input, const std::string& output) {
  format::ConvertOptions options;
  options.write.overwrite = format::Overwrite::replace;
  options.write.dry_run = true;
  const auto dry = format::convert(format::formats(), input, output, options);
  if (!accepted(dry) || dry->bytes_out > kMostConverted) return;
  options.write.dry_run = false;
  require(accepted(format::convert(format::formats(), input, output, options)),
          "a dry run promised more");
  require(static_cast<int64_t>(std::filesystem::file_size(output)) == dry->bytes_out,
          "another size than the report says");
  check_output(input, output);
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
  check_conversion(memory.path(), memory.folder() + (to_gguf ? "y.gguf" : "y.safetensors"));
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static dequant::fuzz::InputFile file("x.gguf");
  dequant::fuzz::fuzz(file, {data, size});
  return 0;
}
