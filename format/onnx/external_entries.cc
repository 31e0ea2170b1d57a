// What the entries of external data say besides where the data is.
#include "format/onnx/external_entries.h"

#include "format/io/errors.h"
#include "format/onnx/inputs.h"

namespace dequant::format::onnx {
namespace {

constexpr uint32_t kExternalData = 13;  // of TensorProto
constexpr uint32_t kKey = 1;            // of StringStringEntryProto

Result<std::string> key_of(Source& source, Span entry) {
  std::string key;
  Cursor cursor(source, entry);
  for (Field f;;) {
    DEQUANT_TRY(const bool more, cursor.next(f));
    if (!more) return key;
    if (f.number == kKey && f.wire == Wire::bytes) {
      DEQUANT_TRY(key, source.text(f.payload));
    }
  }
}

Status warn_of_unknown_keys(Model& model, const Tensor& tensor) {
  Cursor cursor(model.source, tensor.message);
  for (Field f;;) {
    DEQUANT_TRY(const bool more, cursor.next(f));
    if (!more) return {};
    if (f.number != kExternalData || f.wire != Wire::bytes) continue;
    DEQUANT_TRY(const std::string key, key_of(model.source, f.payload));
    if (is_external_key(key)) continue;
    model.warnings.add(
        fmt::format("tensor {}: external_data has the unknown key \"{}\", which is ignored",
                    escaped(tensor.name), escaped(key)));
  }
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
