// The constants of a TFLite model as sources of its dense tensors.
#include "format/tflite/sources.h"

#include <algorithm>
#include <array>

#include "format/io/errors.h"
#include "format/model/floats.h"
#include "format/model/tensor.h"
#include "format/tflite/quantization.h"

namespace dequant::format::tflite {

using dense::OutputTensor;

namespace {

/// Scales that are read at once.
constexpr int64_t kScalesAtOnce = 4096;

/// How many scales are special. Fails as StoredReader::read() does.
Result<int64_t> count_special(StoredReader& scales) {
  int64_t special = 0;
  std::array<float, kScalesAtOnce> floats{};
  while (scales.left() > 0) {
    const int64_t count = std::min(kScalesAtOnce, scales.left());
    DEQUANT_TRY(const auto bytes, scales.next(count));
    const std::span part(floats.data(), static_cast<size_t>(count));
    widen(scales.element(), bytes, part);
    special += std::count_if(part.begin(), part.end(), is_special);
  }
  DEQUANT_CHECK(scales.finish());
  return special;
}

}  // namespace

Plan ConstantSources::plan(const OutputTensor& tensor) const {
  return plan_for(constant_of(tensor).computed->plan, {}, tensor.output);
}

std::string_view ConstantSources::scheme(const OutputTensor& tensor) const {
  return constant_of(tensor).computed->scheme;
}

Result<RecipeReaders> ConstantSources::open(const OutputTensor& tensor, int64_t) {
  const Computed& computed = *constant_of(tensor).computed;
  RecipeReaders readers;
  readers.codes = open_stored(file_, computed.codes);
  readers.scale = open_stored(file_, computed.scale);
  if (computed.zero_point) readers.zero_point = open_stored(file_, *computed.zero_point);
  return readers;
}

Status ConstantSources::complete(const OutputTensor& tensor, int64_t) {
  const Constant& constant = constant_of(tensor);
  const Computed& computed = *constant.computed;
  if (computed.scheme != kBlockwise) return {};
  DEQUANT_TRY(const int64_t special, count_special(*open_stored(file_, computed.scale)));
  if (special == 0) return {};
  warnings_.add(fmt::format("tensor \"{}\": {}", escaped(constant.name),
                            special_text(special, computed.scale.count)));
  return {};
}

Status ConstantSources::read(const OutputTensor& tensor, Range bytes, const PartVisitor& visit,
                             Phases* phases) {
  const Bytes& data = constant_of(tensor).data;
  DEQUANT_CHECK(
      read_in_parts(file_, data.offset + bytes.begin, bytes.end - bytes.begin, visit, phases));
  return file_.check_unchanged();
}

void ConstantSources::for_each_source(
    const OutputTensor& tensor, const std::function<void(const dense::Source&)>& visit) const {
  const Constant& constant = constant_of(tensor);
  const auto pass = [&](std::string_view name, const Bytes& data) {
    visit({name, name_, &file_, data.offset, data.size, &data == &constant.data});
  };
  pass(constant.name, constant.data);
  if (!tensor.computed) return;
  const Computed& computed = *constant.computed;
  pass(computed.scale.name, computed.scale.data);
  if (computed.zero_point) pass(computed.zero_point->name, computed.zero_point->data);
}

}  // namespace dequant::format::tflite
