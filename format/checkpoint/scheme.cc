// The list of schemes.
#include "format/checkpoint/scheme.h"

#include <algorithm>
#include <array>
#include <string>

#include "format/checkpoint/schemes/schemes.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {

std::span<const Scheme* const> schemes() {
  static constexpr std::array kSchemes{
      &kAwq, &kBitsandbytes, &kCompressedTensors, &kFp8,    &kGptOss, &kGptq,
      &kHqq, &kMlx,          &kModelOpt,          &kQuanto, &kQuark,  &kTorchao};
  return kSchemes;
}

Status recognise(Groups& groups, bool keep_unknown) {
  const std::string method = groups.config().method();
  bool known = method.empty();
  for (const Scheme* scheme : schemes()) {
    const bool named =
        std::find(scheme->methods.begin(), scheme->methods.end(), method) != scheme->methods.end();
    const bool found =
        method.empty() && scheme->has_tensors != nullptr && scheme->has_tensors(groups);
    known = known || named;
    if (named || found) DEQUANT_CHECK(scheme->recognise(groups));
  }
  if (!known) {
    return failure(ErrorCode::unsupported,
                   "config.json: quant_method \"{}\" is not one that "
                   "dequant knows",
                   escaped(method));
  }
  return groups.finish(keep_unknown);
}

}  // namespace dequant::format::checkpoint
