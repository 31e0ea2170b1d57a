// ONNX models: any bytes, inspected, evaluated, converted in every way; beside the model lies a file that
// it may name.
#include "format/onnx/convert.h"
#include "format/onnx/evaluate.h"
#include "format/onnx/inspect.h"
#include "fuzz/support/check.h"
#include "fuzz/support/file.h"

namespace dequant::fuzz {
namespace {

using namespace format::onnx;

constexpr StreamOptions kStream{.memory = 1, .executor = {}};

/// Reads all that an inspection tells.
class Told : public InspectSink {
 public:
  Status begin(const InspectHead&) override { return {}; }
  Status node(const DequantizeInfo& node) override {
    if (!node.reason.empty()) check_error({ErrorCode::unsupported, node.reason});
    return {};
  }
  Status other(const OtherConstant&, const Readers& readers) override {
    readers.for_each([](const Reader& r) {
      require(r.input < r.node.inputs.size(), "a reader has no such input");
    });
    return {};
  }
};

/// Whatever is folded or stays is told; a conversion that writes nothing decides as one that does.
void convert_both(const InputFile& file, ConvertOptions options) {
  options.dry_run = true;
  const std::string output = file.folder() + "y.onnx";
  const auto dry = convert(file.path(), output, options);
  if (!accepted(dry)) return;
  for (const Left& left : dry->left) check_error({ErrorCode::unsupported, left.reason});
  for (const std::string& warning : dry->warnings) check_error({ErrorCode::malformed, warning});
  if (dry->folded.empty() && dry->stripped.empty()) return;
  options.dry_run = false;
  options.overwrite = format::Overwrite::replace;
  const auto wet = convert(file.path(), output, options);
  if (!accepted(wet)) return;  // what only the data shows
  require(wet->folded.size() == dry->folded.size() && wet->left.size() == dry->left.size(),
          "a dry run decides otherwise");
  require(accepted(read_model(output)), "a model is written that cannot be read");
}

void fuzz(InputFile& file, std::span<const uint8_t> input) {
  file.write(input);
  const auto model = read_model(file.path());
  if (!accepted(model)) return;
  Told told;
  (void)accepted(inspect(file.path(), {.stream = kStream}, told));
  (void)accepted(input_names(file.path()));
  (void)accepted(evaluate(file.path(), {}, sequential_executor()));
  ConvertOptions options;
  options.stream = kStream;
  options.assume_const = input.size() % 2 == 1;
  options.strip_qdq = input.size() % 3 > 0;
  options.external_data = input.size() % 5 == 4;
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
