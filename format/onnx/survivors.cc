// Tensors of the output whose data is in files beside the input.
#include "format/onnx/survivors.h"

#include "format/io/errors.h"
#include "format/onnx/external_size.h"
#include "format/onnx/fields.h"

namespace dequant::format::onnx {
namespace {

/// The range of the data of a tensor in its file.
Result<Span> locate(ExternalFiles& files, const Tensor& tensor) {
  const External& external = *tensor.external;
  DEQUANT_TRY(const auto file, files.open(external.location.str()));
  const auto needed = raw_bytes(tensor);
  if (needed) return span_in(*file, external, *needed);
  if (needed.error().code != ErrorCode::unsupported || !external.length) return needed.error();
  return span_in(*file, external, *external.length);  // of an unknown type
}

}  // namespace

Status Survivors::find(const Model& model, ExternalFiles& files, const Rewire& rewire) {
  for (const Graph* g : rewire.scopes().graphs()) {
    for (const Initializer& i : g->initializers) {
      DEQUANT_CHECK(add(model, files, i.tensor, rewire.removed(i.tensor)));
    }
    for (const Node& n : g->nodes) {
      for (const Attribute& a : n.attributes) {
        if (a.tensor) DEQUANT_CHECK(add(model, files, *a.tensor, rewire.removed(n)));
      }
    }
  }
  return {};
}

Status Survivors::add(const Model& model, ExternalFiles& files, const Tensor& tensor,
                      bool removed) {
  if (!tensor.external) return {};
  has_external_ = true;
  if (removed) return {};
  auto span = locate(files, tensor);
  if (!span) {
    return in(fmt::format("{}: tensor {}", escaped(model.path), escaped(tensor.name)),
              std::move(span).error());
  }
  all_.push_back({&tensor, span->size(), {}});
  return {};
}

void Survivors::refer(Edit& edit, const std::string& location) const {
  for (const Survivor& s : all_) {
    for (const Span field : s.tensor->external->fields) edit.remove(s.tensor->frame, field);
    edit.append(s.tensor->frame, {external_fields({location, s.range.offset, s.range.length})});
  }
}

Status Survivors::include(Source& source, Edit& edit) const {
  for (size_t i = 0; i < all_.size(); ++i) {
    const Tensor& tensor = *all_[i].tensor;
    const auto remove = [&](const Field& f) -> Status {
      if (f.number == field::tensor::external_data || f.number == field::tensor::data_location)
        edit.remove(tensor.frame, f.whole);
      return {};
    };
    DEQUANT_CHECK(for_each_field(source, Message::tensor, tensor.message, remove));
    edit.append(tensor.frame, raw_data_field({i, all_[i].bytes}));
  }
  return {};
}

}  // namespace dequant::format::onnx
