#include "report/cluster/record_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "support/text.h"

namespace lynxpp::report {
namespace {

constexpr std::size_t read_at_once = 1 << 18;

gzFile open_file(const std::string& path) {
  const int descriptor = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  struct stat status = {};
  if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(descriptor);
    errno = EISDIR;
    return nullptr;
  }
  const gzFile file = gzdopen(descriptor, "rb");
  if (file == nullptr) {
    ::close(descriptor);
  } else {
    gzbuffer(file, read_at_once);
  }
  return file;
}

}  // namespace

void RecordLines::Closer::operator()(void* file) const { gzclose(static_cast<gzFile>(file)); }

Result<RecordLines> RecordLines::open(const std::string& path, std::size_t longest_line) {
  RecordLines lines;
  lines.longest_line_ = longest_line;
  lines.path_ = path == "-" ? "standard input" : path;
  lines.file_.reset(open_file(path));
  if (lines.file_ == nullptr) return failure(cannot_read(path));
  lines.buffer_.resize(read_at_once);
  return lines;
}

bool RecordLines::read_more() {
  if (begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= longest_line_) {
      status_ = failure(path_ + ":" + std::to_string(number_ + 1) + ": the line is longer than " +
                        std::to_string(longest_line_) + " bytes");
      begin_ = end_;
      return false;
    }
    buffer_.resize(2 * buffer_.size());
  }
  const auto room = static_cast<unsigned>(std::min(buffer_.size() - end_, std::size_t{1} << 30));
  const auto file = static_cast<gzFile>(file_.get());
  const int bytes = gzread(file, buffer_.data() + end_, room);
  int error = Z_OK;
  const char* const text = gzerror(file, &error);
  // A truncated compressed file yields the lines before the error.
  if (bytes < 0 || (bytes == 0 && error != Z_OK && error != Z_STREAM_END)) {
    const std::string reason = error == Z_ERRNO ? std::strerror(errno) : text;
    status_ = failure("cannot read " + path_ + " to its end: " + reason);
  }
  if (bytes <= 0) return false;
  end_ += static_cast<std::size_t>(bytes);
  return true;
}

std::optional<std::string_view> RecordLines::next() {
  std::size_t searched = begin_;
  while (true) {
    const void* const found = std::memchr(buffer_.data() + searched, '\n', end_ - searched);
    if (found != nullptr) {
      const auto length =
          static_cast<std::size_t>(static_cast<const char*>(found) - (buffer_.data() + begin_));
      const std::string_view line(buffer_.data() + begin_, length);
      begin_ += length + 1;
      ++number_;
      return line;
    }
    const std::size_t waiting = end_ - begin_;
    if (!is_at_end_ && read_more()) {
      searched = begin_ + waiting;
      continue;
    }
    is_at_end_ = true;
    if (begin_ == end_) return std::nullopt;
    const std::string_view line(buffer_.data() + begin_, end_ - begin_);
    begin_ = end_;
    ++number_;
    return line;
  }
}

}  // namespace lynxpp::report
