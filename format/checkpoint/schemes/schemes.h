// The schemes, each in a file of its name.
#pragma once

#include "format/checkpoint/scheme.h"

namespace dequant::format::checkpoint {

extern const Scheme kAwq;
extern const Scheme kBitnet;
extern const Scheme kBitsandbytes;
extern const Scheme kCompressedTensors;
extern const Scheme kFp8;
extern const Scheme kGptOss;
extern const Scheme kGptq;
extern const Scheme kHqq;
extern const Scheme kMlx;
extern const Scheme kModelOpt;
extern const Scheme kQuanto;
extern const Scheme kQuark;
extern const Scheme kTorchao;

/// True for the text in the metadata of a file with which torchao says how a tensor is quantized.
bool is_entry_of_torchao(std::string_view value);

}  // namespace dequant::format::checkpoint
