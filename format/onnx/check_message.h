// Checking that a file is a valid protobuf message, fields included that dequant only copies.
#pragma once

#include "dequant/status.h"
#include "format/onnx/schema.h"
#include "format/onnx/wire.h"

namespace dequant::format::onnx {

/// Fails with malformed or limit for a file that protobuf's parser refuses as this message, and
/// with io. The time is proportional to the bytes of the structure and of packed integers; other
/// data is not read.
Status check_message(Source& source, Message message = Message::model);

}  // namespace dequant::format::onnx
