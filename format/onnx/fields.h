// Iterating over the known fields of ONNX's messages.
#pragma once

#include "format/onnx/schema.h"
#include "format/onnx/wire.h"

namespace dequant::format::onnx {

/// Calls visit(const Field&), which returns a Status, for each known field of the message. Ends at
/// the first error. Skips unknown fields: those of another number or wire type. Fails as
/// Cursor::next() does.
template <class Visit>
Status for_each_field(Source& source, Message message, Span span, Visit&& visit) {
  Cursor cursor(source, span);
  for (Field f;;) {
    DEQUANT_TRY(const bool more, cursor.next(f));
    if (!more) return {};
    if (rule_of(message, f.number).takes(f.wire)) DEQUANT_CHECK(visit(f));
  }
}

}  // namespace dequant::format::onnx
