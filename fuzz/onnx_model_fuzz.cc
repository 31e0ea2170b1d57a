// ONNX models: any bytes, inspected, evaluated, converted in every way; beside the model lies a
// file that it may name.
#include "format/formats.h"
#include "format/model/convert.h"
#include "format/model/extract.h"
#include "format/model/inspect.h"
#include "format/onnx/evaluate.h"
#include "format/onnx/model.h"
#include "fuzz/support/check.h"
#include "fuzz/support/file.h"

namespace dequant::fuzz {
namespace {

using namespace format;
using namespace format::onnx;

constexpr StreamOptions kStream{.memory = 1, .executor = {}};

/// Reads all that an inspection tells.
class Told : public InspectSink {
 public:
  Status begin() override { return {}; }
  Status tensor(const TensorInfo& tensor) override {
    if (!tensor.reason.empty()) check_error({ErrorCode::unsupported, tensor.reason});
    return {};
  }
  Status other(const OtherTensor& tensor) override {
    tensor.visit_readers([](const TensorReaderFacts& r) { (void)r; });
    return {};
  }
};

/// Whatever is folded or stays is told; a conversion that writes nothing decides as one that does.
void convert_both(const InputFile& file, ConvertOptions options) {
  options.write.dry_run = true;
  const std::string output = file.folder() + "y.onnx";
  const auto dry = format::convert(formats(), file.path(), output, options);
  if (!accepted(dry)) return;
  for (const Left& left : dry->left) check_error({ErrorCode::unsupported, left.reason});
  for (const std::string& warning : dry->warnings) check_error({ErrorCode::malformed, warning});
  if (dry->converted.empty() && dry->stripped.empty()) return;
  options.write.dry_run = false;
  options.write.overwrite = format::Overwrite::replace;
  const auto wet = format::convert(formats(), file.path(), output, options);
  if (!accepted(wet)) return;  // what only the data shows
  require(wet->converted.size() == dry->converted.size() && wet->left.size() == dry->left.size(),
          "a dry run decides otherwise");
  require(accepted(read_model(output)), "a model is written that cannot be read");
}

/// Whatever the file stores is told, and each dense tensor is read whole.
void inspect_and_extract(const InputFile& file) {
  auto opened = open_model(formats(), file.path(), {});
  if (!accepted(opened)) return;
  Told told;
  (void)accepted(inspect(**opened, {.stream = kStream}, told));
  const auto extractor = Extractor::open(*std::move(opened));
  if (!accepted(extractor)) return;
  const auto ignore = [](std::span<const std::byte>) { return Status(); };
  for (const DenseTensor& tensor : (*extractor)->tensors())
    (void)accepted(stream((*extractor)->file(), tensor, kStream, ignore));
}

void fuzz(InputFile& file, std::span<const uint8_t> input) {
  file.write(input);
  const auto model = read_model(file.path());
  if (!accepted(model)) return;
  inspect_and_extract(file);
  (void)accepted(input_types(file.path()));
  (void)accepted(evaluate(file.path(), {}, sequential_executor()));
  ConvertOptions options;
  options.write.stream = kStream;
  options.open.own.set_if(input.size() % 2 == 1, "assume-const");
  options.open.own.set_if(input.size() % 3 > 0, "strip-qdq");
  options.open.own.set_if(input.size() % 5 == 4, "external-data");
  convert_both(file, options);
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static dequant::fuzz::InputFile file("x.onnx");
  static dequant::fuzz::InputFile beside("weights", file);
  static const bool written = [] {
    beside.write(std::vector<uint8_t>(256, 1));
    return true;
  }();
  (void)written;
  dequant::fuzz::fuzz(file, {data, size});
  return 0;
}
