// Every C++ header of dequant includes this one first: it refuses older standards in one sentence,
// and has DEQUANT_EXPORT.
#pragma once

// gcc 10 says 201709L for -std=c++20; MSVC tells its standard in a macro of its own.
#if !defined(_MSVC_LANG) && (!defined(__cplusplus) || __cplusplus < 201709L)
#error "C++20 is needed"
// There is no such file: compilers stop here, without an error about each line that follows.
#include "dequant/C++20 is needed"
#endif

#include "dequant/visibility.h"
