// TFLite models: any bytes, and models that are mostly right. Of right ones the floats are those of
// a naive formula; what is read can be described, and converted as a dry run says.
#include <cmath>

#include "format/formats.h"
#include "format/json/json.h"
#include "format/model/model_file.h"
#include "fuzz/support/check.h"
#include "fuzz/support/conversion.h"
#include "fuzz/support/cursor.h"
#include "fuzz/support/file.h"
#include "fuzz/support/tflite.h"

namespace dequant::fuzz {
namespace {

using format::DenseTensor;
using format::ModelFile;

/// Reads everything that commands show.
void describe(ModelFile& file) {
  for (const format::Headline& line : file.details()) {
    check_error({ErrorCode::invalid_argument, line.title});
    if (!line.value.empty()) check_error({ErrorCode::invalid_argument, line.value});
  }
  static_cast<void>(file.facts());
  const auto ignore = [](const DenseTensor&) { return Status(); };
  const auto left = [](const format::LeftTensor& tensor) -> Status {
    check_error({ErrorCode::unsupported, tensor.reason});
    if (tensor.parameters) require(accepted(tensor.parameters()), "parameters cannot be read");
    return {};
  };
  require(accepted(file.visit({ignore, left})), "a tensor cannot be visited");
  const auto read = [&](const DenseTensor& tensor) {
    return format::stream(file, tensor, {}, [](auto) { return Status(); });
  };
  require(accepted(file.visit_floats({read, left})), "floats cannot be read");
}

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void check_floats(ModelFile& file, const TfliteModel& model) {
  size_t found = 0;
  const auto check = [&](const DenseTensor& tensor) -> Status {
    require(found < model.tensors.size(), "more tensors than there are");
    const TfliteTensor& wanted = model.tensors[found++];
    require(tensor.name == wanted.name, "another tensor");
    std::vector<float> floats(wanted.floats.size());
    DEQUANT_CHECK(format::read(file, tensor, {}, std::as_writable_bytes(std::span(floats))));
    for (size_t i = 0; i < floats.size(); ++i)
      require(same(floats[i], wanted.floats[i]), "another float");
    return {};
  };
  const auto left = [](const format::LeftTensor&) -> Status {
    return Error{ErrorCode::unsupported, "a right tensor is left"};
  };
  require(accepted(file.visit({check, left})), "a right tensor cannot be read");
  require(found == model.tensors.size(), "fewer tensors than there are");
}

void fuzz(InputFile& memory, std::span<const uint8_t> input) {
  Cursor cursor(input.data(), input.size());
  TfliteModel model{.odd = true};
  if (cursor.byte() < 0x80) {
    model = tflite_model(cursor);
  } else {
    const auto rest = cursor.rest();
    model.bytes.assign(rest.begin(), rest.end());
  }
  memory.write({reinterpret_cast<const uint8_t*>(model.bytes.data()), model.bytes.size()});
  const auto file = open_model(format::formats(), memory.path(), {});
  // The message of the finding says which rule refuses a right model.
  if (!accepted(file)) require(model.odd, file.error().message);
  if (!file || (*file)->format().name != "tflite") return;
  describe(**file);
  if (!model.odd) check_floats(**file, model);
  const bool good = check_conversion(**file, memory.folder() + "y.safetensors");
  require(good || model.odd, "a right model cannot be converted");
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static dequant::fuzz::InputFile file("x.tflite");
  dequant::fuzz::fuzz(file, {data, size});
  return 0;
}
