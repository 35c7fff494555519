#include "harness/profile/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <memory>
#include <new>
#include <vector>

#include "harness/profile/profile.hpp"

namespace peakline::profile_format {
namespace {

constexpr int kGzip = MAX_WBITS + 16;  // gzip header and checksum
constexpr std::size_t kChunk = 1 << 16;

// zlib's API lacks const.
Bytef* input(std::string_view data) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));  // NOLINT
}

using Stream = std::unique_ptr<z_stream, int (*)(z_stream*)>;

}  // namespace

bool is_gzip(std::string_view data) { return data.starts_with("\x1f\x8b"); }

std::string zipped(std::string_view text) {
  z_stream z = {};
  constexpr int kMemoryLevel = 8;  // zlib's default
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  const Stream end(&z, deflateEnd);
  std::string data(deflateBound(&z, text.size()), '\0');
  z.next_in = input(text);
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(data.data());
  z.avail_out = static_cast<uInt>(data.size());
  deflate(&z, Z_FINISH);  // at once: the buffer suffices
  data.resize(z.total_out);
  return data;
}

std::optional<std::string> unzipped(std::string_view data, std::size_t most,
                                    std::string_view name) {
  z_stream z = {};
  if (inflateInit2(&z, kGzip) != Z_OK) throw std::bad_alloc();
  const Stream end(&z, inflateEnd);
  z.next_in = input(data);
  z.avail_in = static_cast<uInt>(data.size());
  std::string text;
  std::vector<char> chunk(kChunk);
  while (true) {
    z.next_out = reinterpret_cast<Bytef*>(chunk.data());
    z.avail_out = static_cast<uInt>(chunk.size());
    const int result = inflate(&z, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END)
      throw ProfileError(fmt::format("{}: a broken gzip file", name));
    text.append(chunk.data(), chunk.size() - z.avail_out);
    if (text.size() > most) return std::nullopt;
    if (result != Z_STREAM_END) continue;
    for (; z.avail_in > 0 && *z.next_in == 0; ++z.next_in) --z.avail_in;  // padding
    if (z.avail_in == 0) return text;
    inflateReset(&z);  // concatenated files are one
  }
}

}  // namespace peakline::profile_format
