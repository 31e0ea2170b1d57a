/* Enumerations passed by value with any number, which C allows and C++ does not. */
#ifndef DEQUANT_TESTS_ANY_NUMBER_H_
#define DEQUANT_TESTS_ANY_NUMBER_H_

#ifdef __cplusplus
extern "C" {
#endif

const char* code_name_of_number(int number);
const char* element_name_of_number(int number);
int element_bits_of_number(int number);
const char* block_name_of_number(int number);
int block_elements_of_number(int number);
int block_bytes_of_number(int number);

#ifdef __cplusplus
}
#endif

#endif
