// x, scale and zero point from the command line.
#include "tools/op_inputs.h"

#include "format/io/output.h"

namespace dequant::tools {

void OpInputOptions::add_param_options(const Command& command, const char* scale_types) {
  command.add_option("--scale", scale, "The scales, .npy").type_name("FILE").required();
  command.add_option("--scale-type", scale_type, scale_types).type_name("TYPE").check(not_empty);
  command.add_option("--zero-point", zero_point, "The zero points, .npy, in the type of x")
      .type_name("FILE")
      .check(not_empty);
}

std::vector<OpTensor> OpInputs::list() && {
  std::vector<OpTensor> tensors{std::move(x), std::move(scale)};
  if (zero_point) tensors.push_back(*std::move(zero_point));
  return tensors;
}

Result<OpInputs> open_inputs(const OpInputOptions& o) {
  DEQUANT_CHECK(format::OutputFile::check_folder(o.output));
  DEQUANT_TRY(const auto x_type, named_element("--x-type", o.x_type));
  DEQUANT_TRY(const auto scale_type, named_element("--scale-type", o.scale_type));
  OpInputs inputs;
  DEQUANT_TRY(inputs.x, open_tensor("x", "--x", o.x, x_type, "--x-type"));
  DEQUANT_TRY(inputs.scale, open_tensor("scale", "--scale", o.scale, scale_type, "--scale-type"));
  if (!o.zero_point.empty()) {
    DEQUANT_TRY(inputs.zero_point,
                open_tensor("zero_point", "--zero-point", o.zero_point, x_type, "--x-type"));
  }
  return inputs;
}

}  // namespace dequant::tools
