#include "cli/progress/reading.h"

#include "report/number.h"

namespace lynxpp::cli {

void ReadingProgress::begin(const std::string& file) {
  ++file_;
  name_ = file;
  show();
}

void ReadingProgress::count() {
  constexpr std::uint64_t between_looks_at_the_clock = 256;
  if (++records_ % between_looks_at_the_clock == 0) show();
}

void ReadingProgress::show() {
  const std::string of =
      files_ == 1 ? "" : " (file " + std::to_string(file_) + " of " + std::to_string(files_) + ")";
  progress_.show("reading " + name_ + of + ": " + report::to_text(report::Number::of(records_)) + " records");
}

}  // namespace lynxpp::cli
