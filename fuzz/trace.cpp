// Reads any bytes as a file of streamed traces. Frames must have the size in their description.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "report/trace/trace_file.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const lynxpp::report::TraceDescription& of, const lynxpp::report::TraceRows& rows) {
  require(rows.columns.size() == of.fields.size());
  for (std::size_t i = 0; i < of.fields.size(); ++i)
    require(rows.columns[i].size() == rows.entries * lynxpp::report::bytes_of_trace_type(of.fields[i].type));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = memfd_create("fuzz.trace", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    return 0;
  int blocks = 0;
  lynxpp::report::TraceVisitor visitor;
  visitor.rows = [&](std::uint32_t, const auto& of, const auto& rows) {
    check(of, rows);
    return ++blocks < 100;
  };
  bool is_cut_off = false;
  const lynxpp::Status read = lynxpp::report::read_traces(path, visitor, is_cut_off);
  require(read || !read.error().diagnostics.empty());
  return 0;
}
