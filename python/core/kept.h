// Tensors that a float model has as they are stored: their bytes, in memory and for devices.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/model/extract.h"
#include "python/core/raise.h"
#include "python/core/tensor.h"
#include "python/core/unlocked.h"

namespace dequant::python {

/// A new array of uint8 that `fill`, which gets its bytes and returns a Status, fills without the
/// GIL. Raises the exception of the Status.
template <class Fill>
nanobind::object filled_array(int64_t bytes, Fill fill) {
  const nanobind::object array = nanobind::module_::import_("numpy").attr("empty")(bytes, "uint8");
  Exported memory;
  if (!memory.get(array, PyBUF_WRITABLE)) throw nanobind::type_error("numpy made no buffer");
  Status status;
  {
    const Unlocked unlocked;
    status = fill(memory.bytes());
  }
  if (!status) raise(status.error());
  return array;
}

/// The tensors of ModelFile::visit_rest() that are copied, in its order. They are read from the
/// files that the model has opened, whatever the paths of these lead to meanwhile.
class KeptTensors {
 public:
  /// Raises the exception of an error.
  explicit KeptTensors(const format::Extractor& extractor);

  /// For each the name, the type as the format spells it, and the shape.
  nanobind::list facts() const;

  /// The bytes of a tensor as an array. Raises IndexError; the exception of an error of reading;
  /// and ValueError where the file has changed since it was opened.
  nanobind::object read(size_t index) const;

  /// A capsule with DeviceBytes, which keeps `extractor`. Raises IndexError.
  nanobind::object for_device(size_t index, std::shared_ptr<format::Extractor> extractor) const;

 private:
  struct Kept {
    std::string name;
    std::string type;
    std::vector<int64_t> shape;
    const format::InputFile* file;
    int64_t offset;
    int64_t size;
  };

  const Kept& at(size_t index) const;

  std::vector<Kept> tensors_;
};

/// A capsule with DeviceBytes of all bytes of the file at the path, and how many these are.
nanobind::tuple file_for_device(nanobind::handle path);

}  // namespace dequant::python
