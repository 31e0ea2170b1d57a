// Conversions of small checkpoints of all schemes, with any data: the output is read, and its
// tensors have the bytes that the input gives tensor by tensor.
#include <algorithm>
#include <filesystem>

#include "format/formats.h"
#include "format/model/convert.h"
#include "fuzz/support/check.h"
#include "fuzz/support/checkpoint.h"
#include "fuzz/support/whole_checkpoint.h"

namespace dequant::fuzz {
namespace {

using namespace format;

constexpr int64_t kMostBytes = int64_t{1} << 14;
constexpr StreamOptions kStream{.memory = 1, .executor = {}};

std::vector<std::byte> bytes_of(ModelFile& file, const DenseTensor& tensor) {
  const int64_t bytes = count_of(tensor.shape) * bits(tensor.type().element) / 8;
  std::vector<std::byte> out(static_cast<size_t>(bytes));
  require(accepted(read(file, tensor, kStream, out)), "a tensor that is converted cannot be read");
  return out;
}

/// The float tensors of both files are the same.
void check_same(ModelFile& input, ModelFile& output, std::optional<Element> dtype) {
  const auto check = [&](DenseTensor tensor) -> Status {
    if (tensor.recipe && dtype) tensor.recipe->set_output(*dtype);
    const auto stored = output.stored(std::string(tensor.name));
    require(accepted(stored) && *stored, "a tensor that the output lacks");
    require(std::ranges::equal((*stored)->shape, tensor.shape), "another shape");
    require((*stored)->type().element == tensor.type().element, "another type");
    require(bytes_of(input, tensor) == bytes_of(output, **stored), "other floats");
    return {};
  };
  const auto left = [](const LeftTensor&) { return Status(); };
  require(accepted(input.visit({check, left})), "a tensor that cannot be told");
  require(accepted(input.visit_floats({check, left})), "a tensor that cannot be told");
}

void fuzz(CheckpointFolder& folder, std::span<const uint8_t> input) {
  constexpr std::array<std::optional<Element>, 4> kTypes{std::nullopt, Element::float32,
                                                         Element::float16, Element::bfloat16};
  Cursor cursor(input.data(), input.size());
  Checkpoint written = checkpoint(cursor);
  if (cursor.byte() < 0x40) change(written, cursor);
  const bool two_files = cursor.rarely();
  ConvertOptions options;
  options.open.own.set_if(cursor.rarely(), "keep-unknown");
  if (cursor.rarely()) options.open.own.set("max-shard-size", "300");
  if (cursor.rarely()) options.open.own.set("audit", folder.path() + "-audit");
  options.write.dtype = cursor.pick(kTypes);
  options.write.overwrite = Overwrite::replace;
  options.write.stream = kStream;
  if (!folder.write(written, cursor, two_files, kMostBytes)) return;
  const std::string output = folder.path() + "-out";
  std::filesystem::remove_all(output);
  const auto before = open_model(formats(), folder.path(), options.open);
  if (!accepted(before)) return;
  require(accepted((*before)->check_output(output)), "an output that is the input");
  const auto report = (*before)->write(output, options.write);
  if (!accepted(report)) return;
  for (const std::string& warning : report->warnings) check_error({ErrorCode::malformed, warning});
  const auto after = open_model(formats(), output, options.open);
  if (!accepted(after)) {
    require(!report->left.empty(), "an output that cannot be read");
    return;
  }
  check_same(**before, **after, options.write.dtype);
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static dequant::fuzz::CheckpointFolder folder;
  dequant::fuzz::fuzz(folder, {data, size});
  return 0;
}
