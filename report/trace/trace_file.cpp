#include "report/trace/trace_file.h"

#include <fcntl.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "report/output.h"
#include "report/trace/frame.h"

namespace lynxpp::report {
namespace {

/// Favours speed over size: a kernel may be waiting.
constexpr int compression_level = 1;

using Json = nlohmann::ordered_json;

std::string dumped_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string line_of(const TraceDescription& description) {
  Json fields = Json::array();
  for (const TraceField& field : description.fields)
    fields.push_back(Json{{"name", field.name}, {"type", field.type}});
  return dumped_line(Json{{"spec", description.specification},
                          {"trace", description.trace},
                          {"kernel", description.kernel},
                          {"launch", description.launch},
                          {"device", description.device},
                          {"ordinal", description.ordinal},
                          {"process", description.process},
                          {"fields", std::move(fields)}});
}

void append_integer(std::string& text, std::uint64_t number, std::size_t bytes) {
  text.append(reinterpret_cast<const char*>(&number), bytes);  // x86-64 is little endian
}

}  // namespace

std::uint32_t bytes_of_trace_type(std::string_view type) {
  if (type == "i8" || type == "u8") return 1;
  if (type == "i16" || type == "u16") return 2;
  if (type == "i32" || type == "u32" || type == "f32") return 4;
  return type == "i64" || type == "u64" || type == "f64" ? 8 : 0;
}

Status TraceFile::fail(int error) {
  problem_ = failure("stopped streaming traces to " + path_ + ": " + std::strerror(error));
  return problem_.error();
}

Status TraceFile::open() {
  if (!problem_) return problem_.error();
  if (file_) return success();
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return fail(error.value());
  constexpr int most_files = 10'000;
  const std::string stem = path_.substr(0, path_.size() - trace_suffix.size());
  for (int number = 1; number < most_files; ++number) {
    if (number > 1) path_ = stem + "." + std::to_string(number) + std::string(trace_suffix);
    constexpr int new_file = O_CREAT | O_EXCL | O_NOFOLLOW;
    Descriptor made(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | new_file, 0666));
    const int error_of_open = errno;
    if (made) file_ = KeptOutput(std::move(made), path_);
    if (file_ || error_of_open != EEXIST) return file_ ? success() : fail(error_of_open);
  }
  return fail(EEXIST);
}

Status TraceFile::append(const char* kind, std::uint32_t stream, std::string_view payload) {
  std::string frame(frame_magic);
  frame.append(kind, frame_kind_bytes);
  append_integer(frame, stream, 4);
  append_integer(frame, payload.size(), 4);
  frame.append(payload);
  const int error = append_line(file_.descriptor(), frame);
  return error == 0 ? success() : fail(error);
}

Result<std::uint32_t> TraceFile::begin(const TraceDescription& description) {
  const std::lock_guard lock(mutex_);
  if (Status opened = open(); !opened) return opened.error();
  const std::uint32_t stream = streams_++;
  if (Status written = append(frame_open, stream, line_of(description)); !written) return written.error();
  return stream;
}

Status TraceFile::write(std::uint32_t stream, std::uint64_t first, std::uint64_t entries,
                        const std::vector<std::vector<std::byte>>& columns) {
  std::string values;
  for (const std::vector<std::byte>& column : columns)
    values.append(reinterpret_cast<const char*>(column.data()), column.size());
  std::string payload;
  append_integer(payload, first, 8);
  append_integer(payload, entries, 8);
  const std::size_t head = payload.size();
  payload.resize(head + ZSTD_compressBound(values.size()));
  const std::size_t compressed = ZSTD_compress(payload.data() + head, payload.size() - head, values.data(),
                                               values.size(), compression_level);
  if (ZSTD_isError(compressed) != 0)
    return failure(std::string("entries cannot be compressed: ") + ZSTD_getErrorName(compressed));
  payload.resize(head + compressed);
  const std::lock_guard lock(mutex_);
  if (!problem_) return problem_.error();
  return append(frame_rows, stream, payload);
}

Status TraceFile::end(std::uint32_t stream, const TraceTotals& totals) {
  const std::lock_guard lock(mutex_);
  if (!problem_) return problem_.error();
  return append(frame_done, stream,
                dumped_line(Json{{"appended", totals.appended}, {"streamed", totals.streamed}}));
}

}  // namespace lynxpp::report
