// config.json of a GGUF model under the names of transformers.
#pragma once

#include <optional>
#include <string>

#include "dequant/element.h"
#include "format/gguf/names/rename.h"

namespace dequant::format::gguf {

struct Config {
  std::string text;
  /// What transformers has to know and the metadata do not say in its terms; empty: nothing.
  std::string missing;
};

/// From the metadata, and from the shapes of a model that rename_for_transformers() has renamed.
/// `dtype` is the type of its floats. Fails with unsupported where the metadata have several
/// numbers for what config.json has one for, and with io.
Result<Config> config_of(const Parts& parts, Element dtype);

}  // namespace dequant::format::gguf
