// config.json of a GGUF model under the names of transformers.
#pragma once

#include <optional>
#include <string>

#include "dequant/element.h"
#include "format/gguf/names/rename.h"

namespace dequant::format::gguf {

struct Config {
  std::string text;
  /// The keys that transformers has to know and the metadata do not say in its terms, with commas
  /// between them; empty: none.
  std::string missing;
};

/// From the metadata, and from the shapes of a model that rename_for_transformers() has renamed.
/// `dtype` is the type of its floats. Fails with unsupported where the metadata have an
/// array or a text for what config.json has one number for, with malformed where they have no
/// integer for a number that others are computed from, and with io.
Result<Config> config_of(const Parts& parts, Element dtype);

}  // namespace dequant::format::gguf
