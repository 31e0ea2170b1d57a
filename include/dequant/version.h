// The version of these headers, by semantic versioning.
#pragma once

#define DEQUANT_VERSION_MAJOR 0
#define DEQUANT_VERSION_MINOR 1
#define DEQUANT_VERSION_PATCH 0
#define DEQUANT_VERSION "0.1.0"
