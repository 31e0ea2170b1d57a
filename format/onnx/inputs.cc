// The tensors and files of a model.
#include "format/onnx/inputs.h"

#include "format/io/errors.h"
#include "format/io/file.h"

namespace dequant::format::onnx {

Status check_output(const Model& model, const Scopes& scopes, const std::string& output) {
  const FileIdentity there = identity_of(output);
  if (there.size < 0) return {};
  if (there.same_file(model.source.file().identity())) {
    return failure(ErrorCode::io, "{} is the input itself; name another output", escaped(output));
  }
  const std::string folder = model.anchor.substr(0, model.anchor.find_last_of('/') + 1);
  bool taken = false;
  for_each_tensor(scopes, [&](const Tensor& t) {
    taken = taken ||
            (t.external && there.same_file(identity_of(folder + t.external->location.c_str())));
  });
  if (!taken) return {};
  return failure(ErrorCode::io, "{} holds data of the input; name another output", escaped(output));
}

}  // namespace dequant::format::onnx
