// The configuration of a checkpoint: any text in config.json, or in another file that says how
// tensors are quantized, beside the tensors of a small checkpoint.
#include "format/checkpoint/config.h"
#include "format/checkpoint/names.h"
#include "format/formats.h"
#include "format/model/model_file.h"
#include "fuzz/support/check.h"
#include "fuzz/support/checkpoint.h"
#include "fuzz/support/whole_checkpoint.h"

namespace dequant::fuzz {
namespace {

using format::checkpoint::Config;
using format::checkpoint::Shards;
using nlohmann::ordered_json;

/// The configuration of the dense checkpoint is the same without what says that it is quantized,
/// and can be read.
void check_dense(const Config& config, Element dtype) {
  const ordered_json dense = config.dense(dtype);
  if (dense.is_null()) return;
  require(!dense.contains("quantization_config") && !dense.contains("quantization"),
          "a configuration that is still quantized");
  const auto again = format::parse_python_json(format::python_json(dense));
  require(accepted(again) && format::python_json(*again) == format::python_json(dense),
          "a configuration that cannot be read");
}

void fuzz(CheckpointFolder& folder, std::span<const uint8_t> input) {
  constexpr std::array<std::string_view, 5> kFiles{format::checkpoint::kConfig,
                                                   "hf_quant_config.json", "quantize_config.json",
                                                   "quant_config.json", "quanto_qmap.json"};
  Cursor cursor(input.data(), input.size());
  const std::string_view name = cursor.pick(kFiles);
  const std::array<uint8_t, 4> kind{cursor.byte(), 0, 0, 0};  // one row, one column
  Cursor of_kind(kind.data(), kind.size());
  Checkpoint written = checkpoint(of_kind);
  const auto rest = cursor.rest();
  Cursor zeros(nullptr, 0);
  require(folder.write(written, zeros, false, int64_t{1} << 16), "a checkpoint without a file");
  folder.write_text(name, {reinterpret_cast<const char*>(rest.data()), rest.size()});
  const auto shards = Shards::open(folder.path());
  require(accepted(shards), "the tensors are refused");
  const auto config = Config::read(**shards);
  if (!accepted(config)) {
    const auto file = open_model(format::formats(), folder.path(), {});
    require(!file && file.error().message == config.error().message,
            "a configuration is refused, and read or refused for another reason");
    return;
  }
  (void)config->method();
  for (const Element dtype : {Element::float16, Element::float32}) check_dense(*config, dtype);
  const auto file = open_checkpoint(folder.path(), {});
  if (file != nullptr) (void)check_tensors(*file);
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static dequant::fuzz::CheckpointFolder folder;
  dequant::fuzz::fuzz(folder, {data, size});
  return 0;
}
