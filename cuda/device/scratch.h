// Owners of a device's memory and events, for work on one stream.
#pragma once

#include <cstring>
#include <span>
#include <utility>

#include "cuda/device/device.h"
#include "dequant/cuda.h"

namespace dequant::cuda {

/// Memory of the calling thread's device for work on a stream, freed in the order of that stream.
class Scratch {
 public:
  Scratch() = default;
  static Result<Scratch> make(Device& device, size_t bytes, Stream stream) {
    Scratch made;
    if (bytes == 0) return made;
    DEQUANT_TRY(std::byte* const memory, device.allocate(bytes, stream));
    made.device_ = &device;
    made.bytes_ = {memory, bytes};
    made.stream_ = stream;
    return made;
  }
  Scratch(Scratch&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        bytes_(std::exchange(other.bytes_, {})),
        stream_(other.stream_) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(bytes_, other.bytes_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Scratch() {
    if (device_ != nullptr) device_->free(bytes_.data(), stream_);
  }

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  std::span<std::byte> bytes_;
  Stream stream_ = nullptr;
};

/// An event, or nothing: also where it was moved from.
class OwnEvent {
 public:
  OwnEvent() = default;
  static Result<OwnEvent> make(Device& device) {
    OwnEvent made;
    DEQUANT_TRY(made.event_, device.create_event());
    made.device_ = &device;
    return made;
  }
  OwnEvent(OwnEvent&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        event_(std::exchange(other.event_, nullptr)) {}
  OwnEvent& operator=(OwnEvent&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~OwnEvent() {
    if (device_ != nullptr) device_->destroy(event_);
  }

  Event get() const { return event_; }

 private:
  Device* device_ = nullptr;
  Event event_ = nullptr;
};

/// What kernels on a stream see of the tensors: see Fault.
class Faults {
 public:
  static Result<Faults> make(Device& device, Stream stream) {
    Faults made;
    DEQUANT_TRY(made.memory_, Scratch::make(device, sizeof(uint32_t), stream));
    DEQUANT_CHECK(device.clear(made.memory_.bytes().data(), sizeof(uint32_t), stream));
    made.device_ = &device;
    made.stream_ = stream;
    return made;
  }

  uint32_t* word() const { return reinterpret_cast<uint32_t*>(memory_.bytes().data()); }

  /// Waits for the stream. Fails with invalid_argument where a kernel saw a fault.
  Status check() const {
    std::byte bytes[sizeof(uint32_t)];
    DEQUANT_CHECK(device_->copy_out(bytes, memory_.bytes().data(), stream_));
    uint32_t found = 0;
    std::memcpy(&found, bytes, sizeof found);
    const auto has = [found](Fault fault) { return (found & static_cast<uint32_t>(fault)) != 0; };
    if (has(Fault::group_index)) {
      return Error{ErrorCode::invalid_argument,
                   "group_index: an entry is no group; results that need it are NaN"};
    }
    if (has(Fault::zero_point)) {
      return Error{ErrorCode::invalid_argument,
                   "zero_point: one is not zero, as those of floating-point codes must be"};
    }
    return {};
  }

 private:
  Device* device_ = nullptr;
  Stream stream_ = nullptr;
  Scratch memory_;
};

}  // namespace dequant::cuda
