// Reading the options that only checkpoints have.
#include "format/checkpoint/options.h"

namespace dequant::format::checkpoint {

Result<Options> read_options(const FormatOptions& given) {
  Options options;
  DEQUANT_TRY(static_cast<dense::Options&>(options), dense::read_options(given));
  DEQUANT_TRY(options.keep_unknown, given.flag("keep-unknown"));
  const std::string_view shards = given.value("shards", "new");
  if (shards != "new" && shards != "as-input")
    return dense::wrong_option("shards", shards, "as-input");
  options.shards_as_input = shards == "as-input";
  return options;
}

}  // namespace dequant::format::checkpoint
