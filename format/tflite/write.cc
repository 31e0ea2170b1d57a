// Writing the dense tensors of a TFLite model.
#include "format/tflite/write.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "format/dense/share.h"
#include "format/io/clock.h"
#include "format/io/errors.h"
#include "format/io/hash.h"
#include "format/io/room.h"
#include "format/tflite/options.h"
#include "format/tflite/sources.h"

namespace dequant::format::tflite {
namespace {

using dense::OutputTensor;

constexpr std::string_view kSafetensors = ".safetensors";
constexpr const char* kNotSelected = "not selected by include and exclude";

/// What is true of every such output, though nothing in it says so.
constexpr const char* kSentence =
    "the tensors are those of TFLite, by names and layouts, not those of the model that was "
    "converted to it: kernels of convolutions are [out, height, width, in], matrices [out, in], "
    "and several operators may have become one";

class Writer : public dense::Job {
 public:
  Writer(ModelFile& file, const InputFile& input, const Constants& constants,
         const dense::Options& own, const std::string& output, const WriteOptions& options)
      : file_(file),
        input_(input),
        constants_(constants),
        own_(own),
        output_(output),
        options_(options),
        dtype_(options.dtype.value_or(Element::float32)),
        stream_(options.stream),
        sources_(input, std::filesystem::path(file.path()).filename().string()) {
    stream_.phases = &phases_;
  }

  Result<ConvertReport> write() {
    const auto started = Clock::now();
    DEQUANT_CHECK(check_output());
    for (const Constant& constant : constants_.all) DEQUANT_CHECK(add(constant));
    dense::OutputShard& shard = shards_[0];
    shard.name = std::filesystem::path(output_).filename().string();
    DEQUANT_CHECK(dense::place(shard, {{"format", "pt"}}));
    report_.bytes_in = input_.size();
    report_.bytes_out = shard.bytes;
    report_.warnings = constants_.warnings.sentences();
    report_.warnings.emplace_back(kSentence);
    report_.seconds.decide = seconds_since(started);
    if (options_.share) {
      DEQUANT_TRY(report_.share, dense::carry_out(*this, output_, options_, stream_));
    } else {
      DEQUANT_CHECK(options_.dry_run ? check_disk() : write_all());
    }
    for (std::string& warning : sources_.warnings().sentences())
      report_.warnings.push_back(std::move(warning));
    report_.seconds.set(phases_);
    return std::move(report_);
  }

  const std::vector<dense::OutputShard>& shards() const override { return shards_; }
  dense::Sources& sources() override { return sources_; }
  bool to_folder() const override { return false; }
  Result<std::string> input_hash() const override;
  Status check_unchanged() const override { return input_.check_unchanged(); }

 private:
  Status check_output() const {
    if (output_.ends_with(kSafetensors)) return {};
    return failure(ErrorCode::invalid_argument,
                   "{}: {}the floats of a TFLite model become a file whose name ends with {}",
                   escaped(output_),
                   output_.ends_with(kEnding) ? "dequant writes no TFLite models; " : "",
                   kSafetensors);
  }

  /// What write_all() would refuse.
  Status check_disk() const {
    DEQUANT_CHECK(OutputFile::check(output_, options_.overwrite));
    return check_room(output_, shards_[0].bytes);
  }

  /// Adds the tensor of a constant to the output, and what becomes of it to the report.
  Status add(const Constant& constant) {
    if (constant.use == Use::parameter) return {};
    const bool wanted = options_.selection.wants({constant.name.c_str()});
    if (constant.use == Use::left && wanted) {
      return failure(ErrorCode::unsupported,
                     "{}: tensor \"{}\": {}; a conversion that excludes the tensor leaves it out",
                     escaped(file_.path()), escaped(constant.name), constant.reason);
    }
    if (constant.use == Use::dropped) {
      report_.dropped.push_back({constant.name, constant.reason});
    } else if (constant.use == Use::copied) {
      return copy(constant);
    } else if (wanted) {
      return compute(constant);
    } else {
      report_.dropped.push_back({constant.name, kNotSelected});
    }
    return {};
  }

  Status copy(const Constant& constant) {
    OutputTensor out = output_of(constant);
    out.type = constant.type->dtype;
    out.element = constant.type->element;
    out.bytes = constant.data.size;
    const bool is_float = out.element && is_output(*out.element);
    if (own_.others_same && is_float && *out.element != dtype_) {
      out.from = out.element;
      DEQUANT_CHECK(set_output(out));
    }
    shards_[0].tensors.push_back(out);
    return {};
  }

  Status compute(const Constant& constant) {
    const Computed& computed = *constant.computed;
    OutputTensor out = output_of(constant);
    out.computed = true;
    DEQUANT_CHECK(set_output(out));
    shards_[0].tensors.push_back(out);
    Converted& converted = report_.converted.emplace_back();
    converted.scheme = computed.scheme;
    converted.name = converted.constant = converted.source = constant.name;
    converted.plan = plan_for(computed.plan, {}, dtype_);
    converted.axis = computed.axis;
    converted.shape = constant.shape;
    const int64_t parameters =
        computed.scale.data.size + (computed.zero_point ? computed.zero_point->data.size : 0);
    converted.bytes_before = constant.data.size + parameters;
    converted.bytes_first = (known_.insert(constant.data.offset).second ? constant.data.size : 0) +
                            (known_.insert(computed.scale.data.offset).second ? parameters : 0);
    converted.bytes_after = out.bytes;
    return {};
  }

  static OutputTensor output_of(const Constant& constant) {
    return {.name = constant.name, .origin = &constant, .shape = constant.shape};
  }

  Status set_output(OutputTensor& out) const {
    out.output = dtype_;
    dense::set_type(out, *safetensors::dtype_of(dtype_));
    DEQUANT_TRY(const int64_t count, element_count(out.shape));
    DEQUANT_TRY(out.bytes, packed_bytes(dtype_, count));
    return {};
  }

  Status write_all() {
    const auto write = [&](dense::TensorWriter& tensors) -> Status {
      return tensors.write(shards_[0], output_, options_.overwrite,
                           [this] { return input_.check_unchanged(); });
    };
    return dense::write_with_audit(sources_, stream_, own_, options_, report_.bytes_out, write);
  }

  ModelFile& file_;
  const InputFile& input_;
  const Constants& constants_;
  const dense::Options& own_;
  const std::string& output_;
  const WriteOptions& options_;
  const Element dtype_;
  Phases phases_;
  StreamOptions stream_;
  ConstantSources sources_;
  std::vector<dense::OutputShard> shards_ = std::vector<dense::OutputShard>(1);
  ConvertReport report_;
  std::unordered_set<int64_t> known_;  ///< offsets of what earlier tensors are computed from
};

/// Of all but the data of tensors. Scales of blocks, which are tensors, too, are no such data.
Result<std::string> Writer::input_hash() const {
  Hash hash;
  hash.add(fmt::format("{}\n", input_.size()));
  std::vector<Range> data;
  for (const Constant& c : constants_.all) {
    if (c.use != Use::parameter) data.push_back({c.data.offset, c.data.end()});
  }
  DEQUANT_CHECK(add_structure(hash, input_, std::move(data)));
  return hash.hex();
}

}  // namespace

Result<ConvertReport> write(ModelFile& file, const InputFile& input, const Constants& constants,
                            const dense::Options& own, const std::string& output,
                            const WriteOptions& options) {
  return Writer(file, input, constants, own, output, options).write();
}

}  // namespace dequant::format::tflite
