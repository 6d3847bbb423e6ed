#include "cli/progress/progress.h"

#include <unistd.h>

#include "cli/terminal.h"
#include "report/kernel_name.h"
#include "report/tables/table_sink.h"

namespace lynxpp::cli {

Progress::Progress() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string& text) {
  constexpr std::chrono::milliseconds pause(100);
  const auto now = std::chrono::steady_clock::now();
  if (!is_terminal_ || now < next_) return;
  next_ = now + pause;
  const std::size_t width = report::terminal_width(STDERR_FILENO) - 1;
  std::string line = report::printable(text);
  if (report::width_of(line) > width) line = line.substr(0, width);
  write_control(STDERR_FILENO, "\r" + line + "\x1b[K");
  is_shown_ = true;
}

void Progress::clear() {
  if (is_shown_) write_control(STDERR_FILENO, "\r\x1b[K");
  is_shown_ = false;
}

}  // namespace lynxpp::cli
