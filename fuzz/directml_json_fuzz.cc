// Descriptions of DirectML as text: any bytes, read; what is read is compiled and executed.
#include "conformance/directml/description.h"
#include "fuzz/support/check.h"
#include "fuzz/support/description.h"

namespace dequant::fuzz {
namespace {

void fuzz(std::span<const uint8_t> input) {
  constexpr std::array kLevels{DML_FEATURE_LEVEL_6_4, DML_FEATURE_LEVEL_6_2, DML_FEATURE_LEVEL_3_0};
  const std::string_view text{reinterpret_cast<const char*>(input.data()), input.size()};
  const auto description = conformance::directml::parse_description(text);
  if (!accepted(description)) return;
  Cursor cursor(input.data(), input.size());
  for (const DML_FEATURE_LEVEL level : kLevels) {
    check_description((*description)->desc(), level, cursor);
  }
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dequant::fuzz::fuzz({data, size});
  return 0;
}
