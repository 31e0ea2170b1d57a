// DEQUANT_EXPORT marks what the shared library shows; everything else is hidden.
#pragma once

#if defined(_WIN32)
#if defined(DEQUANT_BUILDING_SHARED)
#define DEQUANT_EXPORT __declspec(dllexport)
#elif defined(DEQUANT_SHARED)
#define DEQUANT_EXPORT __declspec(dllimport)
#else
#define DEQUANT_EXPORT
#endif
#elif defined(__GNUC__)
#define DEQUANT_EXPORT __attribute__((visibility("default")))
#else
#define DEQUANT_EXPORT
#endif
