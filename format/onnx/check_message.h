// Whether a file is a protobuf message at all, in every part of it, also those that are only
// copied.
#pragma once

#include "dequant/status.h"
#include "format/onnx/schema.h"
#include "format/onnx/wire.h"

namespace dequant::format::onnx {

/// Fails with malformed or limit for a file that protobuf's parser refuses as such a message. Takes
/// time by the bytes of the structure and of packed integers; the rest of the data is not read.
Status check_message(Source& source, Message message = Message::model);

}  // namespace dequant::format::onnx
