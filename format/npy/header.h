// Reading the header of an .npy file.
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

/// Dimensions that a header may have: every version of numpy allows so many.
inline constexpr size_t kNpyMaxRank = 32;

/// Bytes of header text at most.
inline constexpr int64_t kNpyMaxHeader = int64_t{64} << 10;

/// A header whose shape, type and length of data agree with the size of the file.
struct NpyHeader {
  std::string descr;                  ///< the type, as the file spells it
  Element stored = Element::float32;  ///< the type of an item; uint8 or uint16 where `raw`
  bool raw = false;                   ///< descr is only a width ('<V2'), no type
  bool big_endian = false;
  bool fortran = false;  ///< the first index varies fastest
  std::vector<int64_t> shape;
  int64_t count = 0;  ///< elements
  int64_t data_offset = 0;
  int64_t data_bytes = 0;
  int64_t trailing_bytes = 0;  ///< after the data; they are ignored
};

/// Reads the header of a file. Fails with malformed when the bytes violate the format, with limit
/// beyond kNpyMaxHeader or kNpyMaxRank, with unsupported for types that are no elements and for
/// .npz archives, and with io.
Result<NpyHeader> read_npy_header(const InputFile& file);

/// The values of a header's text, not yet checked against the file.
struct NpyText {
  std::string descr;
  bool structured = false;  ///< descr is a list: a structured type
  bool fortran = false;
  std::vector<int64_t> shape;
};

/// Parses header text that starts at `offset` in the file. `python2` allows 3L for 3. With `cut`
/// the text continues behind `text`: a text that ends too early then fails with limit. Otherwise
/// fails with malformed. Messages do not name the file.
Result<NpyText> parse_npy_text(std::string_view text, int64_t offset, bool python2, bool cut);

}  // namespace dequant::format
