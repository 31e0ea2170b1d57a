// Statistics of the quantized tensors of a model file.
#include "format/model/inspect.h"

#include <mutex>

#include "format/io/errors.h"
#include "format/model/distinct_bytes.h"
#include "format/model/measure.h"
#include "format/model/plan_words.h"

namespace dequant::format {
namespace {

class Inspector {
 public:
  Inspector(ModelFile& file, const InspectOptions& options, InspectSink& sink)
      : file_(file),
        options_(options),
        sink_(sink),
        measurer_(file, options.stream, [this](int64_t bytes) { advance(bytes); }) {}

  Result<InspectTotals> run() {
    DEQUANT_CHECK(file_.visit({[this](const DenseTensor& tensor) -> Status {
                                 DEQUANT_TRY(const int64_t bytes, float_bytes(tensor));
                                 total_ += bytes;
                                 return {};
                               },
                               [](const LeftTensor&) { return Status(); }}));
    DEQUANT_CHECK(file_.visit_others([](const OtherTensor&) { return Status(); }));
    DEQUANT_CHECK(sink_.begin());
    DEQUANT_CHECK(file_.visit({[this](const DenseTensor& tensor) { return tell(tensor); },
                               [this](const LeftTensor& tensor) { return tell(tensor); }}));
    DEQUANT_CHECK(
        file_.visit_others([this](const OtherTensor& tensor) { return sink_.other(tensor); }));
    return totals_;
  }

 private:
  static Result<int64_t> float_bytes(const DenseTensor& tensor) {
    const Plan& plan = tensor.recipe->plan;
    return packed_bytes(plan.output, element_count(plan));
  }

  Status tell(const DenseTensor& tensor) {
    const Recipe& recipe = *tensor.recipe;
    TensorInfo info;
    static_cast<TensorFacts&>(info) = tensor;
    info.plan = recipe.plan;
    info.axis = recipe.axis;
    info.shape.assign(tensor.shape.begin(), tensor.shape.end());
    info.codes_are_values = recipe.codes_are_values;
    if (recipe.scale && !recipe.codes_are_values) {
      const Shape scale_shape = recipe.scale->type.shape;
      info.scale_shape.assign(scale_shape.begin(), scale_shape.end());
    }
    info.bytes = tensor.stored_bytes();
    info.bytes_first = distinct_.add(file_, tensor);
    DEQUANT_TRY(info.float_bytes, float_bytes(tensor));
    ++totals_.all;
    ++totals_.dense;
    totals_.elements += element_count(recipe.plan);
    totals_.bytes += info.bytes_first;
    totals_.float_bytes += info.float_bytes;
    DEQUANT_CHECK(measure(tensor, info));
    return sink_.tensor(info);
  }

  /// Tensors of the same plan and the same stored tensors share their statistics.
  Status measure(const DenseTensor& tensor, TensorInfo& info) {
    const auto take = [&](const Measured& found) {
      if (!info.codes_are_values) info.scale = found.scale;
      info.tensor_scale = found.tensor_scale;
      info.zero_point = found.zero_point;
      info.profile = found.profile;
    };
    if (const Measured* same = remembered_.find(tensor)) {
      take(*same);
      advance(info.float_bytes);
      return {};
    }
    const bool all = measured_++ < options_.profiles;
    DEQUANT_TRY(const Measured found, measurer_.measure(tensor, all));
    take(found);
    remembered_.add(tensor, found, all);
    return {};
  }

  /// A scale that is broken is no reason to tell nothing of the file: nothing is computed of it.
  Status tell(const LeftTensor& tensor) {
    TensorInfo info;
    static_cast<TensorFacts&>(info) = tensor;
    info.reason = tensor.reason;
    if (tensor.parameters) {
      auto parameters = tensor.parameters();
      if (parameters) {
        info.parameters = *std::move(parameters);
      } else if (parameters.error().code == ErrorCode::out_of_memory) {
        return std::move(parameters).error();
      } else {
        info.reason += "; its scale and zero point cannot be read: " + parameters.error().message;
      }
    }
    ++totals_.all;
    return sink_.tensor(info);
  }

  void advance(int64_t bytes) {
    if (!options_.progress) return;
    const std::lock_guard lock(mutex_);
    done_ += bytes;
    options_.progress(done_, total_);
  }

  ModelFile& file_;
  const InspectOptions& options_;
  InspectSink& sink_;
  Measurer measurer_;
  DistinctBytes distinct_;
  InspectTotals totals_;
  Remembered remembered_;
  size_t measured_ = 0;
  std::mutex mutex_;  ///< guards done_
  int64_t done_ = 0;
  int64_t total_ = 0;
};

}  // namespace

std::string TensorInfo::granularity() const {
  return codes_are_values ? std::string(kNoScale) : granularity_text(plan, axis, shape);
}

Result<InspectTotals> inspect(ModelFile& file, const InspectOptions& options, InspectSink& sink) {
  auto totals = Inspector(file, options, sink).run();
  if (!totals) return in(escaped(file.path()), std::move(totals).error());
  return totals;
}

}  // namespace dequant::format
