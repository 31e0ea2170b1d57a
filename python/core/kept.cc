// Tensors that a float model has as they are stored.
#include "python/core/kept.h"

#include <utility>

#include "format/io/errors.h"
#include "format/io/file.h"
#include "python/core/device_call.h"
#include "python/core/model.h"
#include "python/core/numpy.h"

namespace dequant::python {
namespace nb = nanobind;
namespace {

nb::capsule capsule_of(DeviceBytes bytes) {
  auto out = std::make_unique<DeviceBytes>(std::move(bytes));
  return nb::capsule(out.release(), DeviceBytes::kName,
                     [](void* p) noexcept { delete static_cast<DeviceBytes*>(p); });
}

}  // namespace

KeptTensors::KeptTensors(const format::Extractor& extractor) {
  for (const format::LeftFacts& left : extractor.left()) {
    if (!left.unread) continue;
    raise(format::failure(ErrorCode::unsupported,
                          "{}: tensor {}: {}; keep_unknown=True takes such tensors as they are",
                          format::escaped(extractor.file().path()), format::escaped(left.name),
                          left.reason));
  }
  const auto add = [this](const format::RestTensor& t) -> Status {
    if (t.dropped.empty()) {
      tensors_.push_back({std::string(t.name), std::string(t.type),
                          std::vector<int64_t>(t.shape.begin(), t.shape.end()), t.input,
                          t.location.offset, t.bytes});
    }
    return {};
  };
  if (const Status status = extractor.file().visit_rest(add); !status) raise(status.error());
}

const KeptTensors::Kept& KeptTensors::at(size_t index) const {
  if (index >= tensors_.size()) throw nb::index_error("no tensor of that index");
  return tensors_[index];
}

nb::list KeptTensors::facts() const {
  nb::list out;
  for (const Kept& kept : tensors_)
    out.append(nb::make_tuple(to_text(kept.name), to_text(kept.type), to_tuple(kept.shape)));
  return out;
}

nb::object KeptTensors::read(size_t index) const {
  const Kept& kept = at(index);
  return filled_array(kept.size, [&kept](std::span<std::byte> bytes) -> Status {
    DEQUANT_CHECK(kept.file->read(kept.offset, bytes));
    return kept.file->check_unchanged();
  });
}

nb::object KeptTensors::for_device(size_t index,
                                   std::shared_ptr<format::Extractor> extractor) const {
  const Kept& kept = at(index);
  return capsule_of({std::move(extractor), kept.file, kept.offset, kept.size});
}

nb::tuple file_for_device(nb::handle path) {
  const auto file =
      std::make_shared<const format::InputFile>(checked(format::InputFile::open(path_of(path))));
  return nb::make_tuple(capsule_of({file, file.get(), 0, file->size()}), file->size());
}

}  // namespace dequant::python
