// Array: memory of a device for results that no library of the caller has memory for.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "cuda/device/scratch.h"
#include "dequant/tensor.h"
#include "python/core/raise.h"
#include "python/core/unlocked.h"
#include "python/cuda/module.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

constexpr int kCuda = 2;  // as of DLPack

class Array {
 public:
  Array(const std::string& element, const std::vector<int64_t>& shape, int device, uintptr_t stream)
      : element_(*element_from_name(element)), device_(device), stream_(stream) {
    for (const int64_t size : shape) shape_.push_back(static_cast<size_t>(size));
    bytes_ = static_cast<size_t>(checked(packed_bytes(element_, checked(element_count(shape)))));
    if (bytes_ == 0) return;
    const OnDevice on(device);
    memory_ = checked([this] {
      const Unlocked unlocked;  // allocating may wait for the device
      return cuda::devices().allocate(bytes_);
    }());
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() {
    if (memory_ == nullptr) return;
    const Unlocked unlocked;  // freeing waits for the device
    cuda::devices().free(memory_);
  }

  uintptr_t address() const { return reinterpret_cast<uintptr_t>(memory_); }
  size_t nbytes() const { return bytes_; }
  int device() const { return device_; }
  uintptr_t stream() const { return stream_; }
  nb::str dtype() const { return nb::str(name(element_).data(), name(element_).size()); }

  nb::tuple shape() const {
    nb::list sizes;
    for (const size_t size : shape_) sizes.append(size);
    return nb::tuple(sizes);
  }

  nb::dict interface() const {
    if (element_ == Element::bfloat16)
      throw nb::attribute_error("__cuda_array_interface__ has no type for bfloat16; DLPack has");
    nb::dict out;
    out["shape"] = shape();
    out["typestr"] = element_ == Element::float32 ? "<f4" : "<f2";
    out["data"] = nb::make_tuple(address(), false);
    out["version"] = 3;
    out["strides"] = nb::none();
    out["stream"] = stream_ == 0 ? 1 : stream_;  // 0 is not allowed there
    return out;
  }

  /// A copy in memory of the host, once the work on the stream is done.
  nb::bytes to_bytes() const {
    const auto copy =
        nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes_)));
    if (!copy.is_valid()) throw nb::python_error();
    auto* const begin = reinterpret_cast<std::byte*>(PyBytes_AsString(copy.ptr()));
    const OnDevice on(device_);
    Status status;
    {
      const Unlocked unlocked;
      status = cuda::devices().copy_out({begin, bytes_}, memory_, stream_of(stream_));
    }
    if (!status) raise(status.error());
    return copy;
  }

  /// Copies bytes of the host, as many as the array has.
  void set(const nb::bytes& bytes) const {
    if (bytes.size() != bytes_) throw nb::value_error("bytes: not as many as the array has");
    const auto* const begin = static_cast<const std::byte*>(bytes.data());
    const OnDevice on(device_);
    Status status;
    {
      const Unlocked unlocked;
      status = cuda::devices().copy_in(memory_, {begin, bytes_}, stream_of(stream_));
      if (status) status = cuda::devices().synchronize(stream_of(stream_));
    }
    if (!status) raise(status.error());
  }

  nb::tuple dlpack_device() const { return nb::make_tuple(kCuda, device_); }

  /// What the consumer puts on its stream comes after the results; -1: it does not ask for that.
  void follow(nb::handle stream) const {
    const intptr_t number = stream.is_none() ? 1 : nb::cast<intptr_t>(stream);
    if (number == -1) return;
    const cuda::Stream theirs = stream_of(static_cast<uintptr_t>(number));
    const cuda::Stream own = stream_of(stream_);
    if (theirs == own) return;
    const OnDevice on(device_);
    const auto event = checked(cuda::OwnEvent::make(cuda::devices()));
    auto status = cuda::devices().record(event.get(), own);
    if (status) status = cuda::devices().wait(theirs, event.get());
    if (!status) raise(status.error());
  }

  static nb::object dlpack(const nb::handle self, nb::handle stream, nb::handle, nb::handle device,
                           nb::handle copy) {
    const auto& array = nb::cast<const Array&>(self);
    if (!device.is_none() && !device.equal(array.dlpack_device()))
      throw nb::buffer_error("the array is on another device");
    if (!copy.is_none() && nb::cast<bool>(copy))
      throw nb::buffer_error("a copy is asked for, and none is made");
    array.follow(stream);
    nb::dlpack::dtype type = nb::dtype<float>();
    if (array.element_ == Element::bfloat16) type.code = 4;
    type.bits = static_cast<uint8_t>(bits(array.element_));
    return nb::cast(nb::ndarray<nb::device::cuda>(array.memory_, array.shape_.size(),
                                                  array.shape_.data(), self, nullptr, type, kCuda,
                                                  array.device_));
  }

 private:
  const Element element_;
  std::vector<size_t> shape_;
  const int device_;
  const uintptr_t stream_;
  size_t bytes_ = 0;
  std::byte* memory_ = nullptr;
};

}  // namespace

void add_array(nb::module_& m) {
  const nb::object none = nb::none();
  nb::class_<Array>(m, "Array")
      .def(nb::init<const std::string&, const std::vector<int64_t>&, int, uintptr_t>(), "element"_a,
           "shape"_a, "device"_a, "stream"_a)
      .def_prop_ro("address", &Array::address)
      .def_prop_ro("dtype", &Array::dtype)
      .def_prop_ro("shape", &Array::shape)
      .def_prop_ro("nbytes", &Array::nbytes)
      .def_prop_ro("device", &Array::device)
      .def_prop_ro("stream", &Array::stream)
      .def_prop_ro("__cuda_array_interface__", &Array::interface)
      .def("tobytes", &Array::to_bytes)
      .def("set", &Array::set, "bytes"_a)
      .def("__dlpack_device__", &Array::dlpack_device)
      .def("__dlpack__", &Array::dlpack, nb::kw_only(), "stream"_a.none() = none,
           "max_version"_a.none() = none, "dl_device"_a.none() = none, "copy"_a.none() = none);
}

}  // namespace dequant::python
