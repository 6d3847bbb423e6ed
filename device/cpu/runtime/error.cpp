#include "device/cpu/runtime/error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>

#include "device/cpu/runtime/devices.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

thread_local bool runtime_used = false;
thread_local cudaError_t last_error = cudaSuccess;
std::array<std::atomic<cudaError_t>, most_devices> device_errors{};

std::atomic<cudaError_t>& error_of_device(int device) {
  return device_errors[static_cast<std::size_t>(device)];
}

struct ErrorText {
  int code;
  const char* name;
  const char* text;
};

constexpr ErrorText error_texts[] = {
#define LYNXPP_CUDA_ERROR(code, name, text) {code, #name, text},
#include "device/cpu/runtime/errors.def"
#undef LYNXPP_CUDA_ERROR
};
static_assert(std::is_sorted(std::begin(error_texts), std::end(error_texts),
                             [](const ErrorText& a, const ErrorText& b) { return a.code < b.code; }));

const ErrorText* find(cudaError_t error) {
  const auto* found =
      std::lower_bound(std::begin(error_texts), std::end(error_texts), static_cast<int>(error),
                       [](const ErrorText& entry, int code) { return entry.code < code; });
  return found != std::end(error_texts) && found->code == static_cast<int>(error) ? found : nullptr;
}

constexpr const char* unknown_code = "unrecognized error code";

}  // namespace

cudaError_t record_error(cudaError_t error) {
  // "Not ready" is the answer to a query, not an error.
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t peek_last_error() {
  const cudaError_t sticky = sticky_error();
  return sticky != cudaSuccess ? sticky : last_error;
}

cudaError_t take_last_error() {
  const cudaError_t error = peek_last_error();
  last_error = cudaSuccess;
  return error;
}

void note_use_of_runtime() { runtime_used = true; }
bool uses_runtime() { return runtime_used; }

void set_sticky_error(cudaError_t error) {
  error_of_device(current_device()).store(error, std::memory_order_relaxed);
}
cudaError_t sticky_error() { return sticky_error(current_device()); }
cudaError_t sticky_error(int device) { return error_of_device(device).load(std::memory_order_relaxed); }
void clear_sticky_error(int device) { error_of_device(device).store(cudaSuccess, std::memory_order_relaxed); }

const char* error_name(cudaError_t error) {
  const ErrorText* found = find(error);
  return found != nullptr ? found->name : unknown_code;
}

const char* error_text(cudaError_t error) {
  const ErrorText* found = find(error);
  return found != nullptr ? found->text : unknown_code;
}

void log_unsupported(const char* function, std::atomic<bool>& named) {
  if (named.exchange(true)) return;
  log().error("the cpu device does not have {}; the call returns cudaErrorNotSupported", function);
}

std::string one_line(const Failure& failure) {
  const std::string rendered = render(failure.diagnostics);
  std::string_view text = trim(rendered);
  constexpr std::string_view severity = "error: ";  // the logger adds its own severity
  if (text.starts_with(severity)) text.remove_prefix(severity.size());
  std::string line;
  for (const std::string& part : split(text, '\n')) line.append(line.empty() ? "" : "; ").append(trim(part));
  return line;
}

}  // namespace lynxpp::device::cpu
