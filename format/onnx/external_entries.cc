// Checking checksums and unknown keys of external data.
#include "format/onnx/external_entries.h"

#include "format/io/errors.h"
#include "format/onnx/fields.h"
#include "format/onnx/inputs.h"

namespace dequant::format::onnx {
namespace {

Status warn_of_unknown_keys(Model& model, const Tensor& tensor) {
  const auto warn = [&](const Field& entry) -> Status {
    if (entry.number != field::tensor::external_data) return {};
    std::string key;
    const auto read_key = [&](const Field& f) -> Status {
      if (f.number != field::entry::key) return {};
      DEQUANT_TRY(key, model.source.text(f.payload));
      return {};
    };
    DEQUANT_CHECK(for_each_field(model.source, Message::entry, entry.payload, read_key));
    if (is_external_key(key)) return {};
    model.warnings.add(
        fmt::format("tensor {}: external_data has the unknown key \"{}\", which is ignored",
                    escaped(tensor.name), escaped(key)));
    return {};
  };
  return for_each_field(model.source, Message::tensor, tensor.message, warn);
}

}  // namespace

Status check_external_entries(Model& model, const Scopes& scopes, ExternalFiles& files,
                              const std::function<Status()>& tick) {
  Status status;
  for_each_tensor(scopes, [&](const Tensor& t) {
    if (!status || !t.external) return;
    status = files.verify(*t.external, tick);
    if (!status) {
      const auto where = fmt::format("{}: tensor {}", escaped(model.path), escaped(t.name));
      status = in(where, std::move(status).error());
      return;
    }
    if (t.external->has_checksum && files.checksums() == Checksums::skip) {
      model.warnings.add(fmt::format("tensor {}: the checksum of its external data is not verified",
                                     escaped(t.name)));
    }
    if (t.external->has_unknown_keys) status = warn_of_unknown_keys(model, t);
  });
  return status;
}

}  // namespace dequant::format::onnx
