#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "report/trace/frame.h"
#include "report/trace/trace_file.h"
#include "support/json.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

using Json = nlohmann::ordered_json;

/// Limit on the uncompressed size of a block. Valid blocks have the 4 MiB of a ring, but files are untrusted.
constexpr std::uint64_t most_block_bytes = std::uint64_t{64} << 20;

class TraceFileReader {
 public:
  TraceFileReader(const std::string& path, const TraceVisitor& visitor) : path_(path), visitor_(visitor) {}

  Status read(bool& is_cut_off) {
    is_cut_off = false;
    std::ifstream file(path_, std::ios::binary);
    if (!file) return failure(cannot_read(path_));
    FrameHeader header{};
    while (file.read(reinterpret_cast<char*>(&header), sizeof header)) {
      if (std::string_view(header.magic, sizeof header.magic) != frame_magic ||
          header.bytes > most_frame_bytes)
        return wrong("invalid frame at byte " + std::to_string(at_));
      payload_.resize(header.bytes);
      if (!file.read(payload_.data(), header.bytes)) {
        is_cut_off = true;
        return success();
      }
      if (Status visited = visit(header); !visited || is_enough_) return visited;
      at_ += sizeof header + header.bytes;
    }
    is_cut_off = file.gcount() != 0;
    return success();
  }

 private:
  Failure wrong(const std::string& why) const {
    return failure(path_ + " is not a file of streamed traces: " + why);
  }

  Status visit(const FrameHeader& header) {
    const std::string_view kind(header.kind, frame_kind_bytes);
    if (kind == frame_open) return open(header.stream);
    const auto found = streams_.find(header.stream);
    if (found == streams_.end()) return wrong("a stream has no description");
    if (kind == frame_rows) return rows(header.stream, found->second);
    if (kind != frame_done) return wrong("unknown frame at byte " + std::to_string(at_));
    try {
      const Json totals = payload_object();
      const TraceTotals read{totals.at("appended").get<std::uint64_t>(),
                             totals.at("streamed").get<std::uint64_t>()};
      if (visitor_.end) visitor_.end(header.stream, found->second, read);
    } catch (const Json::exception& error) {
      return wrong(error.what());
    }
    return success();
  }

  /// Returns null if the payload is not an object; null has no members.
  Json payload_object() const {
    Result<Json> object = parse_json<Json>(payload_, {path_, 0, 0, 1});
    return object ? std::move(*object) : Json();
  }

  Status open(std::uint32_t stream) {
    TraceDescription read;
    try {
      const Json text = payload_object();
      read.specification = text.at("spec").get<std::string>();
      read.trace = text.at("trace").get<std::string>();
      read.kernel = text.at("kernel").get<std::string>();
      read.launch = text.at("launch").get<std::uint64_t>();
      read.device = text.at("device").get<std::string>();
      read.ordinal = text.at("ordinal").get<std::uint64_t>();
      read.process = text.at("process").get<std::uint64_t>();
      for (const Json& field : text.at("fields"))
        read.fields.push_back({field.at("name").get<std::string>(), field.at("type").get<std::string>()});
    } catch (const Json::exception& error) {
      return wrong(error.what());
    }
    if (read.fields.empty()) return wrong("a stream has no fields");
    for (const TraceField& field : read.fields) {
      if (bytes_of_trace_type(field.type) == 0) return wrong("'" + field.type + "' is not a type");
    }
    if (visitor_.begin) visitor_.begin(stream, read);
    streams_[stream] = std::move(read);
    return success();
  }

  Status rows(std::uint32_t stream, const TraceDescription& description) {
    constexpr std::size_t head = 2 * sizeof(std::uint64_t);
    if (payload_.size() < head) return wrong("a block is too short");
    TraceRows rows;
    std::memcpy(&rows.first, payload_.data(), sizeof rows.first);
    std::memcpy(&rows.entries, payload_.data() + sizeof rows.first, sizeof rows.entries);
    std::uint64_t entry_bytes = 0;
    for (const TraceField& field : description.fields) entry_bytes += bytes_of_trace_type(field.type);
    if (rows.entries > most_block_bytes / entry_bytes) return wrong("a block is too long");
    const unsigned long long unpacked =
        ZSTD_getFrameContentSize(payload_.data() + head, payload_.size() - head);
    if (unpacked != rows.entries * entry_bytes)
      return wrong("a block does not contain the values that it declares");
    values_.resize(rows.entries * entry_bytes);
    const std::size_t size =
        ZSTD_decompress(values_.data(), values_.size(), payload_.data() + head, payload_.size() - head);
    if (ZSTD_isError(size) != 0) return wrong(ZSTD_getErrorName(size));
    std::size_t begin = 0;
    for (const TraceField& field : description.fields) {
      const std::size_t bytes = rows.entries * bytes_of_trace_type(field.type);
      rows.columns.push_back(std::span(values_).subspan(begin, bytes));
      begin += bytes;
    }
    if (visitor_.rows) is_enough_ = !visitor_.rows(stream, description, rows);
    return success();
  }

  const std::string& path_;
  const TraceVisitor& visitor_;
  std::map<std::uint32_t, TraceDescription> streams_;
  std::string payload_;
  std::vector<std::byte> values_;
  std::uint64_t at_ = 0;  ///< where the frame begins
  bool is_enough_ = false;
};

}  // namespace

Status read_traces(const std::string& path, const TraceVisitor& visitor, bool& is_cut_off) {
  return TraceFileReader(path, visitor).read(is_cut_off);
}

Result<std::vector<std::string>> trace_files(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    if (std::filesystem::exists(path, error)) return std::vector<std::string>{path};
    return failure(path + " does not exist", "give the folder of --trace");
  }
  std::vector<std::string> files;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.path().extension() == trace_suffix) files.push_back(entry.path().string());
  }
  if (files.empty())
    return failure(path + " contains no streamed traces",
                   "record traces with: lynxpp run -s memory_trace --trace " + path + " -- ./app");
  std::ranges::sort(files);
  return files;
}

}  // namespace lynxpp::report
