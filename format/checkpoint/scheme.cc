// The list of schemes.
#include "format/checkpoint/scheme.h"

#include <algorithm>
#include <array>
#include <string>

#include "format/checkpoint/float8_values.h"
#include "format/checkpoint/model_classes.h"
#include "format/checkpoint/rotations.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {

std::span<const Scheme* const> schemes() {
  static constexpr std::array kSchemes{&kAwq,    &kBitnet,   &kBitsandbytes, &kCompressedTensors,
                                       &kFp8,    &kGptOss,   &kGptq,         &kHqq,
                                       &kMlx,    &kModelOpt, &kQuanto,       &kQuark,
                                       &kTorchao};
  return kSchemes;
}

namespace {

/// True where tensors or files say that the checkpoint is of the scheme.
bool is_found(const Scheme& scheme, const Groups& groups) {
  const auto& entries = groups.shards().entries();
  return (scheme.has_metadata != nullptr && scheme.has_metadata(groups.shards())) ||
         (scheme.is_own != nullptr &&
          std::any_of(entries.begin(), entries.end(),
                      [&](const Entry& entry) { return scheme.is_own(groups, entry); }));
}

}  // namespace

Status recognise(Groups& groups, bool keep_unknown) {
  warn_of_rotations(groups);  // before the warnings of single tensors, which may be many
  const std::string method = groups.config().method();
  bool known = method.empty();
  for (const Scheme* scheme : schemes()) {
    const bool named =
        std::find(scheme->methods.begin(), scheme->methods.end(), method) != scheme->methods.end();
    known = known || named;
    if (named || (method.empty() && is_found(*scheme, groups)))
      DEQUANT_CHECK(scheme->recognise(groups));
  }
  if (!known) {
    return failure(ErrorCode::unsupported,
                   "config.json: quant_method \"{}\" is not one that "
                   "dequant knows",
                   escaped(method));
  }
  warn_of_experts(groups);
  if (method.empty() && !keep_unknown) DEQUANT_CHECK(add_float8_values(groups));
  return groups.finish(keep_unknown);
}

}  // namespace dequant::format::checkpoint
