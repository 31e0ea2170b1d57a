// The files of a dense checkpoint.
#include "format/checkpoint/layout.h"

#include "format/checkpoint/metadata.h"
#include "format/checkpoint/schemes/comfy_layers.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

class Planner {
 public:
  Planner(const Groups& groups, const Options& own, const WriteOptions& options)
      : groups_(groups),
        own_(own),
        options_(options),
        computing_dtype_(computing_dtype(groups, options)) {}

  Result<Layout> plan() {
    DEQUANT_CHECK(select());
    DEQUANT_CHECK(collect());
    if (own_.shards_as_input && groups_.shards().is_folder()) {
      DEQUANT_CHECK(dense::check_names(layout_.shards,
                                       "as the index of a checkpoint is: leave out "
                                       "shards as-input, or rename the file"));
    }
    if (!own_.shards_as_input && groups_.shards().is_folder()) {
      const std::string& first = groups_.shards().files()[0].name;
      dense::name_shards(layout_.shards, dense::stem_of(first));
    }
    DEQUANT_CHECK(place());
    return std::move(layout_);
  }

 private:
  Status select() {
    for (const Group& group : groups_.groups()) {
      const std::string source(group.codes.entry->name());
      if (options_.selection.wants({group.name.c_str(), source.c_str()})) continue;
      layout_.not_selected.push_back(&group);
      for_each_entry(group, [&](const Entry& entry) { kept_.insert(&entry); });
    }
    for (const Entry* marker : ComfyLayers::needed_markers(groups_, layout_.not_selected)) {
      layout_.needed.insert(marker);
      kept_.insert(marker);
    }
    for (const Unread& unread : groups_.unread()) {
      const std::string name(unread.codes->name());
      if (options_.selection.wants({name.c_str()})) {
        return failure(ErrorCode::unsupported,
                       "tensor {}: {}; a conversion that excludes the tensor keeps it as it is",
                       escaped(name), unread.reason);
      }
      kept_.insert(unread.codes);
      kept_.insert(unread.parts.begin(), unread.parts.end());
    }
    return {};
  }

  Status collect() {
    uint32_t file = 0;
    int64_t bytes = 0;  // of the tensors of the last shard
    for (const Entry& entry : groups_.shards().entries()) {
      DEQUANT_TRY(const auto tensor, output_of(entry));
      if (!tensor) continue;
      const bool full =
          own_.shards_as_input ? entry.shard != file : tensor->bytes > own_.max_shard_bytes - bytes;
      const bool several = groups_.shards().is_folder();  // a file becomes a file
      if (layout_.shards.empty() || (several && full && !layout_.shards.back().tensors.empty())) {
        layout_.shards.emplace_back();
        if (own_.shards_as_input) layout_.shards.back().name = groups_.shards().file_of(entry).name;
        bytes = 0;
      }
      file = entry.shard;
      bytes += tensor->bytes;
      layout_.shards.back().tensors.push_back(*tensor);
    }
    if (layout_.shards.empty()) add_empty_shard();
    return {};
  }

  Status place() {
    OutputMetadata metadata(groups_, layout_);
    for (OutputShard& shard : layout_.shards) {
      DEQUANT_TRY(const auto entries, metadata.next(shard, &shard == &layout_.shards.back()));
      DEQUANT_CHECK(dense::place(shard, entries));
    }
    return {};
  }

  /// A checkpoint without tensors has a file all the same: what reads it looks for one.
  void add_empty_shard() {
    layout_.shards.emplace_back();
    layout_.shards.back().name = groups_.shards().files()[0].name;
  }

  /// The tensor of the output whose data comes from the entry; nothing for parameters.
  Result<std::optional<OutputTensor>> output_of(const Entry& entry) const {
    const bool kept = kept_.contains(&entry) || groups_.is_copied(entry);
    const Group* group = kept ? nullptr : groups_.group_of_codes(entry);
    if (!kept && group == nullptr) return std::optional<OutputTensor>();
    OutputTensor out{.name = entry.name(), .origin = &entry};
    if (kept) {
      set_type(out, *entry.tensor->dtype);
      out.shape = entry.shape();
      out.bytes = entry.tensor->bytes;
      if (own_.others_same && groups_.is_copied(entry)) DEQUANT_CHECK(round(out));
      return std::optional(out);
    }
    out.name = group->name;
    out.origin = group;
    out.computed = true;
    out.output = options_.dtype.value_or(group->plan.output);
    set_type(out, *safetensors::dtype_of(out.output));
    out.shape = group->shape;
    DEQUANT_TRY(out.bytes, packed_bytes(out.output, element_count(group->plan)));
    return std::optional(out);
  }

  /// A tensor that is stored as floats gets the type of the dequantized ones.
  Status round(OutputTensor& tensor) const {
    const auto element = tensor.element;
    if (!element || !is_output(*element) || *element == computing_dtype_) return {};
    DEQUANT_TRY(const int64_t count, element_count(tensor.shape));
    DEQUANT_TRY(tensor.bytes, packed_bytes(computing_dtype_, count));
    tensor.from = element;
    tensor.output = computing_dtype_;
    set_type(tensor, *safetensors::dtype_of(computing_dtype_));
    return {};
  }

  const Groups& groups_;
  const Options& own_;
  const WriteOptions& options_;
  const Element computing_dtype_;
  Layout layout_;
  std::unordered_set<const Entry*> kept_;  ///< what groups that are not selected need
};

}  // namespace

Element computing_dtype(const Groups& groups, const WriteOptions& options) {
  if (options.dtype) return *options.dtype;
  for (const Group& group : groups.groups()) return group.plan.output;
  return groups.config().dtype().value_or(Element::float32);
}

Result<Layout> plan_layout(const Groups& groups, const Options& own, const WriteOptions& options) {
  return Planner(groups, own, options).plan();
}

}  // namespace dequant::format::checkpoint
