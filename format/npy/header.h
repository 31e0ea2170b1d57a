// The header of an .npy file: what it says, and the parser of its text.
//
//   bytes 0-5   \x93NUMPY
//   bytes 6, 7  version: 1.0, 2.0 or 3.0
//   then        length of the text, little-endian: 2 bytes in version 1.0, 4 bytes since 2.0
//   then        the text: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } and padding
//   then        the data
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/element.h"
#include "format/io/file.h"

namespace dequant::format {

/// Dimensions that a header may have: what every version of numpy can hold.
inline constexpr size_t kNpyMaxRank = 32;

/// Bytes of header text that are read.
inline constexpr int64_t kNpyMaxHeader = int64_t{64} << 10;

/// A header whose shape, type and data length have been proven to agree with the size of the file.
struct NpyHeader {
  std::string descr;                  ///< the type as the file spells it
  Element stored = Element::float32;  ///< what an item is; uint8 or uint16 when it is raw
  bool raw = false;  ///< the type names a width only ('<V2'): not what the codes are
  bool big_endian = false;
  bool fortran = false;  ///< the first index varies fastest
  std::vector<int64_t> shape;
  int64_t count = 0;  ///< elements
  int64_t data_offset = 0;
  int64_t data_bytes = 0;
  int64_t trailing_bytes = 0;  ///< after the data, to be ignored
};

/// Fails with malformed when the bytes contradict the format, with limit beyond kNpyMaxHeader or
/// kNpyMaxRank, with unsupported for types that are not elements and for .npz archives.
Result<NpyHeader> read_npy_header(const InputFile& file);

/// What the text says, before anything is made of it.
struct NpyText {
  std::string descr;
  bool structured = false;  ///< descr is a list: a structured type
  bool fortran = false;
  std::vector<int64_t> shape;
};

/// Parses header text that starts at `offset` in the file. `python2` allows 3L for 3; `cut` says
/// that the text goes on beyond what is given, so that its end is a limit and not an error of the
/// file. Messages do not name the file.
Result<NpyText> parse_npy_text(std::string_view text, int64_t offset, bool python2, bool cut);

}  // namespace dequant::format
