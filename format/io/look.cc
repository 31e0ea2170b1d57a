// Recognising files of formats that dequant does not read, by their first bytes and their names.
#include "format/io/look.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "format/io/errors.h"

namespace dequant::format {
namespace {

using namespace std::string_view_literals;

/// Bytes at the start of a file that are searched for magic numbers. That of tar archives ends at
/// byte 262; those of HTML, XML and JSON documents come earlier.
constexpr size_t kLookedAt = 512;

/// Shorter files may be valid text by chance.
constexpr size_t kLeastText = 16;

constexpr const char* kUnpack = ": unpack it first";

struct Mark {
  size_t at;
  std::string_view bytes;
  Look look;
};

/// Magic numbers at the start of files. Where one is a prefix of another, the longer comes first.
constexpr std::array kMarks{
    Mark{4, "ORTM"sv, {"an ONNX Runtime (ORT format) model"}},
    Mark{4, "ET12"sv, {"an ExecuTorch program"}},
    Mark{0, "ftrt"sv, {"a TensorRT engine"}},
    Mark{0, "ptrt"sv, {"a TensorRT engine"}},
    Mark{0, "\x93NUMPY"sv, {"a NumPy array"}},
    Mark{0, "\x89HDF\r\n\x1a\n"sv, {"an HDF5 file"}},
    Mark{0,
         "version https://git-lfs.github.com/spec/"sv,
         {"a Git LFS pointer", ": `git lfs pull` fetches the file it stands for"}},
    Mark{0, "\x1f\x8b"sv, {"a gzip file", kUnpack}},
    Mark{0, "BZh"sv, {"a bzip2 file", kUnpack}},
    Mark{0, "\xfd\x37zXZ\0"sv, {"an xz file", kUnpack}},
    Mark{0, "\x28\xb5\x2f\xfd"sv, {"a Zstandard file", kUnpack}},
    Mark{0, "7z\xbc\xaf\x27\x1c"sv, {"a 7z archive", kUnpack}},
    Mark{257, "ustar"sv, {"a tar archive", kUnpack}},
    // The pickled magic number of PyTorch files before 1.6.
    Mark{0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv, {"a PyTorch file"}},
    Mark{0, "\x80\x02"sv, {"a Python pickle"}},
    Mark{0, "\x80\x03"sv, {"a Python pickle"}},
    Mark{0, "\x80\x04\x95"sv, {"a Python pickle"}},
    Mark{0, "\x80\x05\x95"sv, {"a Python pickle"}},
};

/// Ends of names of formats without magic numbers.
struct Named {
  std::string_view end;
  Look look;
};
constexpr std::array kNamed{
    Named{".mlmodel", {"a Core ML model"}},
    Named{".engine", {"a TensorRT engine"}},
};

uint64_t little_endian(std::string_view bytes) {
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

/// A zip archive, whose format is recognised by the name of its first member.
std::optional<Look> zip(std::string_view head) {
  constexpr size_t kHeader = 30;
  if (!head.starts_with("PK\x03\x04") && !head.starts_with("PK\x05\x06")) return {};
  if (head.size() > kHeader) {
    const std::string_view name = head.substr(kHeader, little_endian(head.substr(26, 2)));
    // The first member of torch.save(); of torch.jit.save(); of torch.export.save().
    for (const std::string_view end : {"data.pkl", "/data/0", "/models/model.json"})
      if (name.ends_with(end)) return Look{"a PyTorch file"};
    if (name.ends_with(".npy")) return Look{"a zip archive of NumPy arrays"};
  }
  return Look{"a zip archive", kUnpack};
}

/// A model of CTranslate2, as faster-whisper has: 4 bytes of a version, 2 of a length, and a name
/// such as "WhisperSpec" of so many bytes with the zero behind it.
std::optional<Look> ctranslate2(std::string_view head) {
  constexpr size_t kName = 6;
  constexpr uint64_t kMostVersion = 99;  // the newest is 6
  if (head.size() < kName || little_endian(head.substr(0, 4)) > kMostVersion) return {};
  const std::string_view name = head.substr(kName, little_endian(head.substr(4, 2)));
  if (!name.ends_with("Spec\0"sv)) return {};
  return Look{"a CTranslate2 model"};
}

bool is_text(std::string_view head, bool whole) {
  std::string plain;
  for (const char c : head) plain += c == '\n' || c == '\r' || c == '\t' || c == '\\' ? ' ' : c;
  // The last character may be cut: it has up to four bytes.
  if (!whole) {
    for (int i = 0; i < 3 && (plain.back() & 0x80) != 0; ++i) plain.pop_back();
  }
  return escaped(plain, std::string_view::npos) == plain;
}

std::optional<Look> text(std::string_view head, bool whole) {
  if (head.empty() || !is_text(head, whole)) return {};
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  std::string start(head.substr(0, 14));
  std::transform(start.begin(), start.end(), start.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (start == "<!doctype html" || start.starts_with("<html")) {
    return Look{"an HTML page", ". A download may have given a page in place of a file"};
  }
  if (start.starts_with("<?xml")) {
    const bool is_net = head.find("<net name=") != head.npos;
    return Look{is_net ? "an OpenVINO model" : "an XML document"};
  }
  if (start.starts_with("{") || start.starts_with("["))
    return Look{"JSON", ": give the folder, not its config.json"};
  if (head.size() < kLeastText) return {};
  return Look{"text"};
}

}  // namespace

std::optional<Look> look_of(const InputFile& file) {
  std::string bytes(static_cast<size_t>(std::min<int64_t>(file.size(), kLookedAt)), '\0');
  if (!file.read(0, std::as_writable_bytes(std::span(bytes)))) return {};
  const std::string_view head = bytes;
  for (const Mark& mark : kMarks) {
    if (head.size() > mark.at && head.substr(mark.at).starts_with(mark.bytes)) return mark.look;
  }
  if (auto look = zip(head)) return look;
  if (auto look = ctranslate2(head)) return look;
  if (auto look = text(head, head.size() == static_cast<size_t>(file.size()))) return look;
  for (const Named& named : kNamed)
    if (!head.empty() && file.name().ends_with(named.end)) return named.look;
  return {};
}

std::optional<Error> error_of_look(const InputFile& file) {
  const auto look = look_of(file);
  if (!look) return {};
  return failure(ErrorCode::unsupported,
                 "{} looks like {}; dequant reads ONNX models in protobuf's binary form, TFLite "
                 "models, GGUF files, .safetensors files and folders of these{}",
                 escaped(file.name()), look->what, look->advice);
}

}  // namespace dequant::format
