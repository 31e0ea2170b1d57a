// The option --names of the commands that read model files.
#include "tools/names_option.h"

#include <algorithm>

#include "format/io/errors.h"
#include "format/model/model_file.h"

namespace dequant::tools {
namespace {

constexpr const char* kKey = "names";

bool has_names(const format::ModelFile& file) {
  return std::ranges::find(file.format().options, kKey) != file.format().options.end();
}

}  // namespace

void NamesOption::add_to(const Command& command) {
  command
      .add_option("--names", names_,
                  "GGUF: names and rows as the file has them, or hf: as transformers has them, for "
                  "llama, qwen2, qwen3, gemma, gemma2, phi3, qwen2moe and deepseek2; default gguf")
      .one_of({"gguf", "hf"});
}

void NamesOption::set(format::OpenOptions& options) const {
  if (names_) options.own.set(kKey, *names_);
}

void NamesOption::set_where_known(format::OpenOptions& options) const {
  if (names_) options.where_known.set(kKey, *names_);
}

Status NamesOption::check(const format::ModelFile& a, const format::ModelFile& b) const {
  if (!names_ || has_names(a) || has_names(b)) return {};
  return format::failure(ErrorCode::invalid_argument, "names is an option of GGUF files, not of {}",
                         a.format().files);
}

}  // namespace dequant::tools
