// The report of the conversion of a GGUF model.
#include "format/gguf/report.h"

#include <algorithm>
#include <array>

#include "format/gguf/describe.h"
#include "format/model/tensor.h"

namespace dequant::format::gguf {
namespace {

using dense::OutputTensor;

Converted converted(const OutputTensor& tensor) {
  const Blocks& blocks = blocks_of(tensor);
  Converted out;
  out.scheme = blocks.entry->type().name;
  out.name = out.constant = out.source = std::string(tensor.name);
  out.plan = plan_for(blocks.plan, {}, tensor.output);
  out.shape.assign(tensor.shape.begin(), tensor.shape.end());
  out.axis = axis_of(*blocks.entry);
  out.bytes_before = blocks.entry->bytes();
  if (blocks.scale != nullptr) out.bytes_before += blocks.scale->bytes();
  out.bytes_first = out.bytes_before;
  out.bytes_after = tensor.bytes;
  return out;
}

/// Architectures of image and video models, as ComfyUI-GGUF's converter and loader spell them.
/// Their files have the names and the contents of the model that they were made from.
constexpr std::array<std::string_view, 12> kOfComfyUi{
    "aura",    "cosmos",     "flux", "hidream", "hyvid", "ltxv",
    "lumina2", "qwen_image", "sd1",  "sd3",     "sdxl",  "wan",
};

/// What is true of every output of other architectures, though nothing in it says so.
std::string sentence(std::string_view of) {
  return fmt::format(
      "the tensors are those of GGUF{}{}, by names and contents, not those of transformers: rows "
      "of q and k may be permuted, norms may have 1 added, experts are stacked",
      of.empty() ? "" : ", architecture ", escaped(of));
}

/// What an output with the names of transformers lacks.
std::string sentence(const Layout& layout) {
  if (!layout.config)
    return "config.json and the tokenizer are not written: only a folder has them";
  const std::string& missing = layout.config->missing;
  return fmt::format(
      "the tokenizer is not written, and config.json has what the metadata say{}{}: "
      "the rest is in the folder of the original model",
      missing.empty() ? "" : ", without ", missing);
}

}  // namespace

ConvertReport report_of(const Parts& parts, const Uses& uses, const Layout& layout, Target target,
                        Names names) {
  ConvertReport report;
  report.bytes_in = parts.bytes();
  int64_t rounded = 0;
  Element output = Element::float32;
  for (const dense::OutputShard& shard : layout.shards) {
    report.bytes_out += shard.bytes;
    for (const OutputTensor& tensor : shard.tensors) {
      if (tensor.computed) report.converted.push_back(converted(tensor));
      if (!tensor.from) continue;
      ++rounded;
      output = tensor.output;
    }
  }
  for (const Blocks* blocks : layout.not_selected) {
    report.left.push_back({"", "", std::string(blocks->entry->type().name),
                           std::string(blocks->entry->name()),
                           "not selected by include and exclude"});
  }
  for (const Dropped& dropped : uses.dropped())
    report.dropped.push_back({std::string(dropped.entry->name()), std::string(dropped.reason)});
  if (names == Names::transformers) {
    report.warnings.push_back(sentence(layout));
  } else if (const std::string of = architecture(parts);
             target != Target::gguf && std::ranges::find(kOfComfyUi, of) == kOfComfyUi.end()) {
    report.warnings.push_back(sentence(of));
  }
  if (rounded > 0) {
    report.warnings.push_back(
        fmt::format("{} tensors that are not quantized are converted to {}, as others same "
                    "demands",
                    rounded, name(output)));
  }
  for (const Part& part : parts.files()) {
    if (part.header.trailing_bytes() == 0) continue;
    report.warnings.push_back(fmt::format("{}: {} bytes after the last tensor are not read",
                                          escaped(part.name), part.header.trailing_bytes()));
  }
  return report;
}

}  // namespace dequant::format::gguf
