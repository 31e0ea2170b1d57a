// The names of codes in C.
#include "c_api/boundary.h"

using dequant::c_api::number_of;

const char* dequant_code_name(dequant_code code) {
  const int32_t number = number_of(code);
  if (number == DEQUANT_OK) return "ok";
  if (number < DEQUANT_OK || number > DEQUANT_OUT_OF_MEMORY) return "unknown";
  return dequant::name(static_cast<dequant::ErrorCode>(number - 1));
}

const char* dequant_version(void) { return DEQUANT_VERSION; }
