// The constants of a TFLite model as sources of its dense tensors.
#include "format/tflite/sources.h"

#include "format/model/tensor.h"

namespace dequant::format::tflite {

using dense::OutputTensor;

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
