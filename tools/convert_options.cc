// The options that decide what a conversion writes.
#include "tools/convert_options.h"

#include "dequant/element.h"
#include "format/io/errors.h"
#include "format/model/conversion.h"

namespace dequant::tools {

Status set_task_bytes(uint64_t bytes, format::ShareOptions& share) {
  if (bytes < uint64_t{format::kLeastTaskBytes} || bytes > INT64_MAX) {
    return format::failure(ErrorCode::invalid_argument, "--task-size {}: at least {} bytes", bytes,
                           format::kLeastTaskBytes);
  }
  share.task_bytes = static_cast<int64_t>(bytes);
  return {};
}

void ConvertOptions::add_to(const Command& c) {
  c.add_flag("--strip-qdq", strip_qdq_,
             "Also take QuantizeLinear and DequantizeLinear off activations, inputs and outputs");
  c.add_option("--clip", clip_,
               "Where a Clip keeps the range of a pair that --strip-qdq takes out; default needed")
      .one_of({"needed", "always", "never"})
      .needs(c.get_option("--strip-qdq"));
  c.add_option(
       "--dtype", dtype_,
       "Type of the dequantized tensors, rounded once from float32; auto, the default: that "
       "of each node, or that a checkpoint's model computes in. ONNX: a Cast gives readers "
       "of a constant the type it had")
      .one_of({"auto", "float32", "float16", "bfloat16"});
  c.add_flag("--assume-const", assume_const_,
             "Take initializers that are graph inputs, and could be overridden, as constant");
  c.add_flag(
      "--external-data", external_data_,
      "Write float tensors of 1 KiB and more to a data file beside the model, whatever its size");
  c.add_option("--include", selection_.include,
               "Only nodes whose name, output or x matches this glob; may be repeated")
      .type_name("GLOB")
      .one_value();
  c.add_option("--exclude", selection_.exclude,
               "No nodes whose name, output or x matches this glob; may be repeated")
      .type_name("GLOB")
      .one_value();
  c.add_flag("--require-float", require_float_,
             "Write nothing and exit with 4 where anything stays quantized");
  reading_.add_to(c);
  c.add_option("--others", others_,
               "Checkpoints, GGUF, TFLite: tensors that are not quantized keep their type, or get "
               "that of the "
               "dequantized ones; default keep")
      .one_of({"keep", "same"});
  c.add_option("--max-shard-size", max_shard_size_,
               "Checkpoints, GGUF: bytes of a file of the output at most, such as 5G; default 5G")
      .type_name("SIZE");
  c.add_option("--shards", shards_,
               "Checkpoints: the files of the output have the names and tensors of the input's")
      .one_of({"as-input"});
  c.add_option(
       "--task-size", task_bytes_,
       "With --shard, and of plan: bytes that a task writes at most; default 5G, with which "
       "each file of the output is one task")
      .type_name("SIZE")
      .size();
  resources_.add_to(c);
}

format::ConvertOptions ConvertOptions::library() {
  format::ConvertOptions all;
  format::FormatOptions& own = all.open.own;
  own = reading_.given();
  own.set_if(strip_qdq_, "strip-qdq");
  if (clip_) own.set("clip", *clip_);
  own.set_if(assume_const_, "assume-const");
  own.set_if(external_data_, "external-data");
  if (others_) own.set("others", *others_);
  if (max_shard_size_) own.set("max-shard-size", *max_shard_size_);
  if (shards_) own.set("shards", *shards_);
  all.open.memory = resources_.structure_memory();
  all.write.selection = selection_;
  all.write.require_float = require_float_;
  if (!dtype_.empty() && dtype_ != "auto") all.write.dtype = element_from_name(dtype_);
  all.write.stream = resources_.stream_options();
  return all;
}

}  // namespace dequant::tools
