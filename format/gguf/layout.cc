// The files of the dense model of a GGUF model.
#include "format/gguf/layout.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "format/gguf/describe.h"
#include "format/gguf/new_header.h"

namespace dequant::format::gguf {
namespace {

using dense::OutputShard;
using dense::OutputTensor;

constexpr std::string_view kGguf = ".gguf";

/// llama.cpp's numbers of files whose matrices have one type.
uint32_t file_type_of(Element element) {
  return element == Element::float16 ? 1 : element == Element::bfloat16 ? 32 : 0;
}

class Planner {
 public:
  Planner(const Parts& parts, const Uses& uses, const Options& own, const std::string& output,
          const WriteOptions& options)
      : parts_(parts),
        uses_(uses),
        own_(own),
        output_(output),
        options_(options),
        target_(target_of(output)),
        dtype_(options.dtype.value_or(Element::float32)) {}

  Result<Layout> plan() {
    DEQUANT_CHECK(collect());
    DEQUANT_CHECK(target_ == Target::gguf ? place_gguf() : place_safetensors());
    return std::move(layout_);
  }

 private:
  Status collect() {
    const bool several = target_ == Target::folder || (target_ == Target::gguf && own_.split);
    int64_t bytes = 0;  // of the tensors of the last shard
    layout_.shards.emplace_back();
    for (const Entry& entry : parts_.entries()) {
      DEQUANT_TRY(const auto tensor, output_of(entry));
      if (!tensor) continue;
      if (several && tensor->bytes > own_.max_shard_bytes - bytes &&
          !layout_.shards.back().tensors.empty()) {
        layout_.shards.emplace_back();
        bytes = 0;
      }
      bytes += tensor->bytes;
      layout_.shards.back().tensors.push_back(*tensor);
    }
    return {};
  }

  bool wants(const Blocks& blocks) const {
    const std::string name(blocks.entry->name());
    return options_.selection.wants({name.c_str()});
  }

  /// The tensor of the output whose data comes from the entry; nothing for factors.
  Result<std::optional<OutputTensor>> output_of(const Entry& entry) {
    const Blocks* blocks = uses_.blocks_of(entry);
    if (blocks == nullptr && !uses_.is_copied(entry) && !is_kept(entry))
      return std::optional<OutputTensor>();
    OutputTensor out{.name = entry.name(), .origin = &entry, .shape = entry.float_shape()};
    // The metadata that say the shape of the model are copied beside the rows.
    if (target_ == Target::gguf) out.shape = entry.shape();
    if (entry.view != nullptr) out.change = entry.view->change();
    if (blocks != nullptr && wants(*blocks)) {
      out.origin = blocks;
      out.computed = true;
      DEQUANT_CHECK(set_output(out));
      return std::optional(out);
    }
    if (blocks != nullptr) {
      layout_.not_selected.push_back(blocks);
      if (target_ != Target::gguf) {
        return failure(ErrorCode::unsupported,
                       "tensor \"{}\" is not selected, and {} blocks are only in GGUF files: give "
                       "an output whose name ends with .gguf",
                       escaped(entry.name()), entry.type().name);
      }
    }
    out.type = entry.type().name;  // safetensors has the same names of plain types
    out.element = entry.type().element;
    out.bytes = entry.bytes();
    const bool is_float = out.element && is_output(*out.element);
    if (own_.others_same && is_float && *out.element != dtype_) {
      out.from = out.element;
      DEQUANT_CHECK(set_output(out));
    }
    return std::optional(out);
  }

  /// Factors of blocks that are not selected are copied with these.
  bool is_kept(const Entry& entry) const {
    const Blocks* user = uses_.user_of(entry);
    return user != nullptr && !wants(*user);
  }

  Status set_output(OutputTensor& out) const {
    out.output = dtype_;
    out.type = plain_type(dtype_).name;
    out.element = dtype_;
    DEQUANT_TRY(const int64_t count, element_count(out.shape));
    DEQUANT_TRY(out.bytes, packed_bytes(dtype_, count));
    return {};
  }

  /// True where the output has tensors that are computed or rounded to the type of the dense ones.
  bool has_new_floats() const {
    for (const OutputShard& shard : layout_.shards) {
      for (const OutputTensor& tensor : shard.tensors)
        if (tensor.computed || tensor.from) return true;
    }
    return false;
  }

  /// The type of the model's floats: that of the dense tensors, or where none is made, the one
  /// that most bytes have.
  Element float_type() const {
    if (has_new_floats()) return dtype_;
    std::map<Element, int64_t> bytes;
    for (const OutputShard& shard : layout_.shards) {
      for (const OutputTensor& tensor : shard.tensors)
        if (tensor.element && is_output(*tensor.element)) bytes[*tensor.element] += tensor.bytes;
    }
    const auto most =
        std::max_element(bytes.begin(), bytes.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == bytes.end() ? dtype_ : most->first;
  }

  Status place_safetensors() {
    if (target_ == Target::folder) {
      dense::name_shards(layout_.shards);
      if (own_.names == Names::transformers) {
        DEQUANT_TRY(layout_.config, config_of(parts_, float_type()));
      }
    }
    if (target_ == Target::safetensors)
      layout_.shards.at(0).name = std::filesystem::path(output_).filename().string();
    DEQUANT_TRY(const auto of_model, texts(parts_));
    safetensors::NewMetadata metadata{{"format", "pt"}};
    metadata.insert(metadata.end(), of_model.begin(), of_model.end());
    for (OutputShard& shard : layout_.shards) {
      DEQUANT_CHECK(dense::place(shard, metadata));
      metadata.resize(1);  // the first file has those of the model
    }
    return {};
  }

  Status place_gguf() {
    const std::filesystem::path path(output_);
    const size_t count = layout_.shards.size();
    if (count > UINT16_MAX) {
      return failure(ErrorCode::limit, "{} files, more than {}: a larger max-shard-size is needed",
                     count, UINT16_MAX);
    }
    const bool all = layout_.not_selected.empty() && has_new_floats();
    DEQUANT_TRY(NewPairs pairs,
                NewPairs::of(parts_, all ? std::optional(file_type_of(dtype_)) : std::nullopt));
    int32_t tensors = 0;
    for (const OutputShard& shard : layout_.shards)
      tensors += static_cast<int32_t>(shard.tensors.size());
    for (size_t i = 0; i < count; ++i) {
      OutputShard& shard = layout_.shards[i];
      shard.name = path.filename().string();
      if (count > 1) {
        shard.name =
            part_name(path.stem().string(), static_cast<int64_t>(i), static_cast<int64_t>(count));
        pairs.add(SplitPlace{static_cast<uint16_t>(i), static_cast<uint16_t>(count), tensors});
      }
      DEQUANT_CHECK(place(shard, pairs, parts_.files()[0].header.alignment()));
      pairs = {};  // the first file has those of the model
      if (const Pair* own = parts_.metadata().find(kAlignmentKey))
        pairs.add(kAlignmentKey, own->type, own->number);
    }
    return {};
  }

  const Parts& parts_;
  const Uses& uses_;
  const Options& own_;
  const std::string& output_;
  const WriteOptions& options_;
  const Target target_;
  const Element dtype_;
  Layout layout_;
};

}  // namespace

Target target_of(const std::string& output) {
  struct stat s {};
  if (::stat(output.c_str(), &s) == 0 && S_ISDIR(s.st_mode)) return Target::folder;
  if (output.ends_with(kGguf)) return Target::gguf;
  return output.ends_with(".safetensors") ? Target::safetensors : Target::folder;
}

Result<Options> read_options(const FormatOptions& given) {
  Options options;
  DEQUANT_TRY(static_cast<dense::Options&>(options), dense::read_options(given));
  options.split = given.has("max-shard-size");
  const std::string_view names = given.value("names", "gguf");
  if (names != "gguf" && names != "hf") return dense::wrong_option("names", names, "gguf or hf");
  if (names == "hf") options.names = Names::transformers;
  return options;
}

Result<Layout> plan_layout(const Parts& parts, const Uses& uses, const Options& own,
                           const std::string& output, const WriteOptions& options) {
  return Planner(parts, uses, own, output, options).plan();
}

}  // namespace dequant::format::gguf
