// The options of all commands that read model files.
#include "tools/reading_options.h"

namespace dequant::tools {

void ReadingOptions::add_to(const Command& command) {
  command
      .add_option("--names", names_,
                  "GGUF: names and rows as the file has them, or hf: as transformers has them, for "
                  "llama, qwen2, qwen3, gemma, gemma2, phi3, qwen2moe and deepseek2; default gguf")
      .one_of({"gguf", "hf"});
  command.add_flag("--no-checksum", no_checksum_,
                   "ONNX: do not verify external data by the checksums that the model gives");
  command.add_flag("--keep-unknown", keep_unknown_,
                   "Checkpoints: take quantized tensors that nothing says how to dequantize as "
                   "they are stored; else they are an error");
}

format::FormatOptions ReadingOptions::given() const {
  format::FormatOptions options;
  if (names_) options.set("names", *names_);
  options.set_if(no_checksum_, "no-checksum");
  options.set_if(keep_unknown_, "keep-unknown");
  return options;
}

}  // namespace dequant::tools
