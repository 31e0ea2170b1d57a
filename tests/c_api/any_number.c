#include "c_api/any_number.h"

#include "dequant.h"

const char* code_name_of_number(int number) { return dequant_code_name((dequant_code)number); }

const char* element_name_of_number(int number) {
  return dequant_element_name((dequant_element)number);
}

int element_bits_of_number(int number) { return dequant_element_bits((dequant_element)number); }

const char* block_name_of_number(int number) {
  return dequant_block_type_name((dequant_block_type)number);
}

int block_elements_of_number(int number) {
  return dequant_block_elements((dequant_block_type)number);
}

int block_bytes_of_number(int number) { return dequant_block_bytes((dequant_block_type)number); }
