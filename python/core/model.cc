// An open model file. dequant._model wraps it for users.
#include "python/core/model.h"

#include <memory>
#include <mutex>
#include <optional>

#include "dequant/executor.h"
#include "format/formats.h"
#include "format/model/extract.h"
#include "format/model/plan_words.h"
#include "python/core/call.h"
#include "python/core/device_call.h"
#include "python/core/kept.h"
#include "python/core/numpy.h"
#include "python/core/unlocked.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

using format::DenseTensor;
using format::Extractor;
using format::StoredTensor;

/// The attributes of dequant.Tensor that need no tensor data. In a format without a graph `node`
/// is empty, `x` is the name of the codes, `domain` the scheme and `opset` its version.
nb::dict facts(const DenseTensor& t, const format::Words& words) {
  const Plan& plan = t.recipe->plan;
  const auto& axis = t.recipe->axis;
  const std::string_view own = t.stored.name;
  nb::dict out;
  out["name"] = to_text(t.name);
  out["node"] = to_text(t.node);
  out["x"] = to_text(own.empty() ? t.source : own);
  out["domain"] = to_text(t.scheme.empty() ? words.implied_scheme : t.scheme);
  out["opset"] = t.version.value_or(1);
  out["shape"] = to_tuple(t.shape);
  out["dtype"] = to_str(plan.output);
  out["stored_dtype"] = to_str(format::stored_type(plan));
  out["granularity"] = to_str(format::granularity_key(plan));
  out["axis"] = axis ? nb::object(nb::int_(*axis)) : nb::none();
  out["block_size"] = format::block_size(plan);
  out["nbytes"] = t.stored_bytes();
  return out;
}

Result<std::unique_ptr<Extractor>> open(const std::string& path,
                                        const format::OpenOptions& options) {
  const Unlocked unlocked;
  DEQUANT_TRY(auto file, format::open_model(format::formats(), path, options));
  return Extractor::open(std::move(file));
}

class ModelFile {
 public:
  /// `contents` and `folder` as of bytes_of(); with these `path` is a name for messages.
  ModelFile(nb::handle path, nb::handle contents, nb::handle folder, nb::handle mem, bool checksum,
            nb::handle names, bool keep_unknown) {
    format::OpenOptions options{mem.is_none() ? 0 : integer("mem", mem), {}};
    options.bytes = bytes_of(contents, folder);
    options.own.set_if(!checksum, "no-checksum");
    options.own.set_if(keep_unknown, "keep-unknown");
    const std::string chosen = from_text("names", names);
    if (chosen != "gguf") options.own.set("names", chosen);
    extractor_ = checked(open(path_of(path), options));
  }

  nb::str format() const { return to_str(opened()->file().format().name); }

  nb::list tensors() const {
    nb::list out;
    const auto extractor = opened();
    for (const DenseTensor& t : extractor->tensors())
      out.append(facts(t, extractor->file().format().words));
    return out;
  }

  /// The texts that a safetensors file has as metadata; None where it has none, and of all other
  /// models.
  nb::object metadata() const {
    nb::dict out;
    const auto add = [&out](std::string_view key, std::string_view text) {
      out[to_text(key)] = to_text(text);
    };
    return opened()->file().visit_metadata(add) ? nb::object(out) : nb::none();
  }

  nb::list kept() const { return kept_of(*opened()).facts(); }

  nb::object read_kept(size_t index) const {
    const auto extractor = opened();
    return kept_of(*extractor).read(index);
  }

  nb::object kept_for_device(size_t index) const {
    auto extractor = opened();
    const KeptTensors& kept = kept_of(*extractor);
    return kept.for_device(index, std::move(extractor));
  }

  size_t find(nb::handle name) const {
    const auto index = opened()->index_of(from_text("name", name));
    if (index) return *index;
    const nb::str sentence(index.error().message.c_str());
    PyErr_SetObject(PyExc_KeyError, sentence.ptr());
    throw nb::python_error();
  }

  nb::object dequantize(size_t index, nb::handle dtype, nb::handle out, nb::handle threads,
                        nb::handle like) const {
    const auto extractor = opened();
    DenseTensor tensor = at(*extractor, index);
    if (const auto output = output_of("dtype", dtype)) tensor.recipe->set_output(*output);
    ThreadPool pool(threads_of(threads));
    const Output y(tensor.type(), out, like);
    Status status;
    {
      const Unlocked unlocked;
      status = extractor->read(tensor, {.executor = pool.executor()}, y.bytes());
    }
    if (!status) raise(status.error());
    return y.result();
  }

  /// A capsule with a DeviceTensor, for dequant._cuda.
  nb::object for_device(size_t index, nb::handle dtype) const {
    auto extractor = opened();
    auto out = std::make_unique<DeviceTensor>(DeviceTensor{extractor, at(*extractor, index)});
    if (const auto output = output_of("dtype", dtype)) out->tensor.recipe->set_output(*output);
    return nb::capsule(out.release(), DeviceTensor::kName,
                       [](void* p) noexcept { delete static_cast<DeviceTensor*>(p); });
  }

  nb::object codes(size_t index) const {
    const auto extractor = opened();
    return read(*extractor, at(*extractor, index).stored);
  }

  nb::object scale(size_t index) const {
    const auto extractor = opened();
    const auto& scale = at(*extractor, index).recipe->scale;
    return scale ? read(*extractor, *scale) : nb::none();
  }

  nb::object zero_point(size_t index) const {
    const auto extractor = opened();
    const auto& zero_point = at(*extractor, index).recipe->zero_point;
    return zero_point ? read(*extractor, *zero_point) : nb::none();
  }

  /// Reads in other threads continue: the files close after the last of them.
  void close() {
    const std::lock_guard lock(mutex_);
    extractor_.reset();
  }

  bool closed() const {
    const std::lock_guard lock(mutex_);
    return extractor_ == nullptr;
  }

 private:
  /// Found when they are first asked for: most callers never do.
  const KeptTensors& kept_of(const Extractor& extractor) const {
    const std::lock_guard lock(mutex_);
    if (!kept_) kept_.emplace(extractor);
    return *kept_;
  }

  std::shared_ptr<Extractor> opened() const {
    const std::lock_guard lock(mutex_);
    if (extractor_) return extractor_;
    throw nb::value_error("the model is closed");
  }

  static const DenseTensor& at(const Extractor& extractor, size_t index) {
    const auto& all = extractor.tensors();
    if (index >= all.size()) throw nb::index_error("no tensor of that index");
    return all[index];
  }

  /// Packed bytes in an array, the name of their element type, the shape.
  static nb::object read(Extractor& extractor, const StoredTensor& tensor) {
    const TensorType& type = tensor.type;
    const int64_t bytes = checked(packed_bytes(type.element, checked(element_count(type.shape))));
    const nb::object array = filled_array(bytes, [&](std::span<std::byte> memory) {
      return format::read(extractor.file(), tensor, memory);
    });
    return nb::make_tuple(array, to_str(type.element), to_tuple(type.shape));
  }

  mutable std::mutex mutex_;
  std::shared_ptr<Extractor> extractor_;
  mutable std::optional<KeptTensors> kept_;  ///< of extractor_
};

}  // namespace

std::string path_of(nb::handle path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) throw nb::python_error();
  const auto owned = nb::steal<nb::bytes>(bytes);
  return {owned.c_str(), owned.size()};
}

std::optional<format::ModelBytes> bytes_of(nb::handle contents, nb::handle folder) {
  if (contents.is_none()) return {};
  const std::shared_ptr<Exported> memory(new Exported, [](Exported* exported) {
    const nb::gil_scoped_acquire locked;
    delete exported;
  });
  if (!memory->get(contents, PyBUF_SIMPLE)) {
    PyErr_Format(PyExc_TypeError, "model: contiguous bytes are wanted, not %R",
                 nb::handle(contents.type()).ptr());
    throw nb::python_error();
  }
  return format::ModelBytes{{memory->bytes(), memory},
                            folder.is_none() ? std::string() : path_of(folder)};
}

nb::str to_text(std::string_view bytes) {
  PyObject* text =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (text == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(text);
}

std::string from_text(const char* parameter, nb::handle text) {
  if (!PyUnicode_Check(text.ptr())) {
    PyErr_Format(PyExc_TypeError, "%s: a string is wanted, not %R", parameter,
                 nb::handle(text.type()).ptr());
    throw nb::python_error();
  }
  PyObject* bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape");
  if (bytes == nullptr) throw nb::python_error();
  const auto owned = nb::steal<nb::bytes>(bytes);
  return {owned.c_str(), owned.size()};
}

void add_model(nb::module_& core) {
  nb::class_<ModelFile>(core, "ModelFile")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, bool, nb::handle, bool>(),
           "path"_a, "contents"_a.none(), "folder"_a.none(), "mem"_a.none(), "checksum"_a,
           "names"_a, "keep_unknown"_a)
      .def_prop_ro("format", &ModelFile::format)
      .def("tensors", &ModelFile::tensors)
      .def("metadata", &ModelFile::metadata)
      .def("kept", &ModelFile::kept)
      .def("read_kept", &ModelFile::read_kept, "index"_a)
      .def("kept_for_device", &ModelFile::kept_for_device, "index"_a)
      .def("find", &ModelFile::find, "name"_a)
      .def("dequantize", &ModelFile::dequantize, "index"_a, "dtype"_a.none(), "out"_a.none(),
           "threads"_a.none(), "like"_a.none())
      .def("for_device", &ModelFile::for_device, "index"_a, "dtype"_a.none())
      .def("codes", &ModelFile::codes, "index"_a)
      .def("scale", &ModelFile::scale, "index"_a)
      .def("zero_point", &ModelFile::zero_point, "index"_a)
      .def("close", &ModelFile::close)
      .def_prop_ro("closed", &ModelFile::closed);
  core.def("file_for_device", file_for_device, "path"_a);
}

}  // namespace dequant::python
