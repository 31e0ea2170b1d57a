// Conversions of model files that become files of dense tensors.
#include "fuzz/support/conversion.h"

#include <cstring>
#include <filesystem>

#include "format/formats.h"
#include "format/model/convert.h"
#include "format/model/model_file.h"
#include "fuzz/support/check.h"

namespace dequant::fuzz {
namespace {

/// Bytes of files that are written: some have several chunks.
constexpr int64_t kMostConverted = 1 << 19;
/// On one thread: others would mostly wait.
const format::StreamOptions kStream{.executor = sequential_executor()};

std::vector<std::byte> bytes_of(format::ModelFile& file, const format::DenseTensor& tensor) {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<size_t>(tensor.stored.bytes));
  const auto status = stream(file, tensor, kStream, [&](auto part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
    return Status();
  });
  require(accepted(status), "what is written cannot be read");
  return bytes;
}

/// Every tensor of the output has the floats that reading the input gives.
void check_output(format::ModelFile& input, const std::string& output) {
  format::OpenOptions options;  // integers with the name of a weight are copied
  options.where_known.set("keep-unknown");
  const auto after = open_model(format::formats(), output, options);
  require(accepted(after), "what is written cannot be read");
  const auto same = [&](const format::DenseTensor& tensor) -> Status {
    const auto found = (*after)->stored(std::string(tensor.name));
    require(accepted(found) && found->has_value(), "a tensor is not there");
    const std::vector<std::byte> stored = bytes_of(**after, **found);
    size_t at = 0;
    DEQUANT_CHECK(stream(input, tensor, kStream, [&](auto part) {
      const bool fits = part.size() <= stored.size() - at;
      require(fits && std::memcmp(stored.data() + at, part.data(), part.size()) == 0,
              "other floats");
      at += part.size();
      return Status();
    }));
    require(at == stored.size(), "other floats");
    return {};
  };
  const auto left = [](const format::LeftTensor&) { return Status(); };
  require(accepted(input.visit({same, left})), "a tensor cannot be read");
}

}  // namespace

bool check_conversion(format::ModelFile& input, const std::string& output) {
  format::ConvertOptions options;
  options.write.overwrite = format::Overwrite::replace;
  options.write.stream = kStream;
  options.write.dry_run = true;
  const auto dry = input.write(output, options.write);
  if (!accepted(dry)) return false;
  if (dry->bytes_out > kMostConverted) return true;
  options.write.dry_run = false;
  require(accepted(format::convert(format::formats(), input.path(), output, options)),
          "a dry run promised more");
  require(static_cast<int64_t>(std::filesystem::file_size(output)) == dry->bytes_out,
          "another size than the report says");
  check_output(input, output);
  return true;
}

}  // namespace dequant::fuzz
