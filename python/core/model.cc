// An ONNX file open for reading tensors, as dequant._model wraps it.
#include "python/core/model.h"

#include <memory>
#include <mutex>
#include <optional>

#include "dequant/executor.h"
#include "format/onnx/extract.h"
#include "python/core/call.h"
#include "python/core/numpy.h"
#include "python/core/unlocked.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

using format::onnx::Checksums;
using format::onnx::Constant;
using format::onnx::Dequantization;
using format::onnx::Extractor;

/// What is known without reading data, under the names of dequant.Tensor.
nb::dict facts(const Dequantization& d) {
  const bool microsoft = d.node->domain() == "com.microsoft";
  const auto& opsets = d.graph->opsets;
  const std::string_view own = d.x.name();
  nb::dict out;
  out["name"] = to_text(d.node->outputs[0].text);
  out["node"] = to_text(d.node->name);
  out["x"] = to_text(own.empty() ? d.node->input(0) : own);
  out["domain"] = to_str(microsoft ? "com.microsoft" : "ai.onnx");
  out["opset"] = (microsoft ? opsets.microsoft : opsets.onnx).value_or(1);
  out["shape"] = to_tuple(d.x.type().shape);
  out["dtype"] = to_str(d.plan.output);
  out["stored_dtype"] = to_str(d.plan.input);
  out["granularity"] = to_str(format::onnx::granularity_key(d.plan));
  out["axis"] = d.axis ? nb::object(nb::int_(*d.axis)) : nb::none();
  out["block_size"] = format::onnx::block_size(d.plan);
  out["nbytes"] = format::onnx::stored_bytes(d);
  return out;
}

class OnnxFile {
 public:
  OnnxFile(nb::handle path, nb::handle mem, bool checksum) : path_(path_of(path)) {
    const format::onnx::StructureLimit limit{mem.is_none() ? 0 : integer("mem", mem)};
    Result<std::unique_ptr<Extractor>> extractor = [&] {
      const Unlocked unlocked;
      return Extractor::open(path_, limit, checksum ? Checksums::verify : Checksums::skip);
    }();
    extractor_ = checked(std::move(extractor));
  }

  nb::list tensors() const {
    nb::list out;
    for (const Dequantization& d : opened()->dequantizations()) out.append(facts(d));
    return out;
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
    Dequantization d = at(*extractor, index);
    if (!dtype.is_none()) d.plan.output = element_of("dtype", dtype);
    if (!is_output(d.plan.output)) {
      const std::string known = "none of float32, float16, bfloat16";
      throw nb::type_error(("dtype: " + std::string(name(d.plan.output)) + " is " + known).c_str());
    }
    ThreadPool pool(threads_of(threads));
    const Output y({d.plan.output, d.x.type().shape}, out, like);
    Status status;
    {
      const Unlocked unlocked;
      status = extractor->read(d, {.executor = pool.executor()}, y.bytes());
    }
    if (!status) raise(status.error());
    return y.result();
  }

  nb::object codes(size_t index) const {
    const auto extractor = opened();
    return read(*extractor, at(*extractor, index).x);
  }

  nb::object scale(size_t index) const {
    const auto extractor = opened();
    return read(*extractor, at(*extractor, index).scale);
  }

  nb::object zero_point(size_t index) const {
    const auto extractor = opened();
    const auto& zero_point = at(*extractor, index).zero_point;
    return zero_point ? read(*extractor, *zero_point) : nb::none();
  }

  /// Whoever is reading goes on to the end.
  void close() {
    const std::lock_guard lock(mutex_);
    extractor_.reset();
  }

  bool closed() const {
    const std::lock_guard lock(mutex_);
    return extractor_ == nullptr;
  }

 private:
  std::shared_ptr<Extractor> opened() const {
    const std::lock_guard lock(mutex_);
    if (extractor_) return extractor_;
    throw nb::value_error("the model is closed");
  }

  static const Dequantization& at(const Extractor& extractor, size_t index) {
    const auto& all = extractor.dequantizations();
    if (index >= all.size()) throw nb::index_error("no tensor of that index");
    return all[index];
  }

  /// Packed bytes in an array, the name of their element, the shape.
  static nb::object read(Extractor& extractor, const Constant& constant) {
    const TensorType type = constant.type();
    const int64_t bytes = checked(packed_bytes(type.element, checked(element_count(type.shape))));
    const nb::object array = nb::module_::import_("numpy").attr("empty")(bytes, "uint8");
    Exported memory;
    if (!memory.get(array, PyBUF_WRITABLE)) throw nb::type_error("numpy made no buffer");
    Status status;
    {
      const Unlocked unlocked;
      status = extractor.read(constant, memory.bytes());
    }
    if (!status) raise(status.error());
    return nb::make_tuple(array, to_str(type.element), to_tuple(type.shape));
  }

  std::string path_;
  mutable std::mutex mutex_;
  std::shared_ptr<Extractor> extractor_;
};

}  // namespace

std::string path_of(nb::handle path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) throw nb::python_error();
  const auto owned = nb::steal<nb::bytes>(bytes);
  return {owned.c_str(), owned.size()};
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
  nb::class_<OnnxFile>(core, "OnnxFile")
      .def(nb::init<nb::handle, nb::handle, bool>(), "path"_a, "mem"_a.none(), "checksum"_a)
      .def("tensors", &OnnxFile::tensors)
      .def("find", &OnnxFile::find, "name"_a)
      .def("dequantize", &OnnxFile::dequantize, "index"_a, "dtype"_a.none(), "out"_a.none(),
           "threads"_a.none(), "like"_a.none())
      .def("codes", &OnnxFile::codes, "index"_a)
      .def("scale", &OnnxFile::scale, "index"_a)
      .def("zero_point", &OnnxFile::zero_point, "index"_a)
      .def("close", &OnnxFile::close)
      .def_prop_ro("closed", &OnnxFile::closed);
}

}  // namespace dequant::python
