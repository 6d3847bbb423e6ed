#include "device/cpu/simt/execute/builtins.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "device/cpu/simt/compile/frame_layout.h"
#include "device/cpu/simt/execute/device_output.h"
#include "device/cpu/simt/execute/faults.h"
#include "device/cpu/simt/execute/memory/device_heap.h"
#include "device/cpu/simt/lanes/access_check.h"

namespace lynxpp::device::cpu {
namespace {

/// Reads memory for a lane's call. Every address is checked.
class CallMemory {
 public:
  explicit CallMemory(const BuiltinCall& call) : call_(call) {}

  /// Returns the bytes from `address` on that the lane may access.
  std::string_view bytes_at(std::uint64_t address) const {
    const AddressRange range = generic_range(*call_.warp, address, call_.lane);
    if (!range.holds(address, 1)) return {};
    return {reinterpret_cast<const char*>(address), range.bytes - (address - range.begin)};
  }
  /// Returns the null-terminated text at `address`, or `instead` for a null pointer. If there is no such
  /// text, the call fails.
  std::string_view text_at(std::uint64_t address, std::string_view instead) {
    if (address == 0) return instead;
    const std::string_view bytes = bytes_at(address);
    const void* const end = bytes.empty() ? nullptr : std::memchr(bytes.data(), 0, bytes.size());
    if (end != nullptr)
      return bytes.substr(0, static_cast<std::size_t>(static_cast<const char*>(end) - bytes.data()));
    miss("a string", address);
    return {};
  }
  void miss(const char* what, std::uint64_t address) {
    if (failure_) return;
    failure_ = failure("illegal address: " + std::string(what) + " at " + hexadecimal(address) + ": " +
                       call_.memory->describe(address));
  }
  const std::optional<Failure>& failed() const { return failure_; }

 private:
  const BuiltinCall& call_;
  std::optional<Failure> failure_;
};

/// Reads the arguments of vprintf: each at its natural alignment, at least 4 bytes.
class ArgumentReader {
 public:
  ArgumentReader(CallMemory& memory, std::uint64_t address)
      : memory_(memory), address_(address), bytes_(memory.bytes_at(address)) {}

  template <typename T>
  T next() {
    offset_ = align_up(offset_, sizeof(T));
    T value{};
    if (offset_ + sizeof(T) <= bytes_.size()) {
      std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    } else {
      memory_.miss("an argument of printf", address_ + offset_);
    }
    offset_ += sizeof(T);
    return value;
  }
  std::string next_text() { return std::string(memory_.text_at(next<std::uint64_t>(), "(null)")); }

 private:
  CallMemory& memory_;
  const std::uint64_t address_;
  const std::string_view bytes_;
  std::uint64_t offset_ = 0;
};

/// One directive of a format string: "%-8.3lf".
struct Directive {
  std::string flags;  ///< flags, width and precision, with '*' already replaced
  bool is_long = false;
  char conversion = '\0';
};

/// Parses the directive at `at`, which points after the '%', and moves `at` past it.
Directive parse_directive(const char*& at, ArgumentReader& arguments) {
  Directive directive;
  while (*at != '\0' && std::strchr("-+ #0123456789.*", *at) != nullptr) {
    directive.flags += *at == '*' ? std::to_string(arguments.next<std::int32_t>()) : std::string(1, *at);
    ++at;
  }
  while (*at != '\0' && std::strchr("hlLqjzt", *at) != nullptr) {
    directive.is_long |= *at != 'h';
    ++at;
  }
  if (*at != '\0') directive.conversion = *at++;
  return directive;
}

template <typename T>
void append(std::string& text, const std::string& format, T value) {
  const int length = std::snprintf(nullptr, 0, format.c_str(), value);
  if (length <= 0) return;
  const std::size_t begin = text.size();
  text.resize(begin + static_cast<std::size_t>(length) + 1);
  std::snprintf(text.data() + begin, static_cast<std::size_t>(length) + 1, format.c_str(), value);
  text.pop_back();
}

/// Returns false if the conversion is unknown; it takes no argument then.
bool append_directive(std::string& text, const Directive& directive, ArgumentReader& arguments) {
  const std::string prefix = "%" + directive.flags;
  switch (directive.conversion) {
    case 'd':
    case 'i':
      append(text, prefix + "lld",
             directive.is_long ? arguments.next<long long>()
                               : static_cast<long long>(arguments.next<std::int32_t>()));
      return true;
    case 'u':
    case 'x':
    case 'X':
    case 'o': {
      const unsigned long long value =
          directive.is_long ? arguments.next<unsigned long long>() : arguments.next<std::uint32_t>();
      append(text, prefix + "ll" + directive.conversion, value);
      return true;
    }
    case 'c': append(text, prefix + "c", arguments.next<std::int32_t>()); return true;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': append(text, prefix + directive.conversion, arguments.next<double>()); return true;
    case 's': append(text, prefix + "s", arguments.next_text().c_str()); return true;
    case 'p':
      append(text, prefix + "p", reinterpret_cast<const void*>(arguments.next<std::uint64_t>()));
      return true;
    default: return false;
  }
}

/// Returns the number of arguments, or -1 without a format.
Result<std::uint64_t> print(const BuiltinCall& call) {
  if (call.arguments[0] == 0) return static_cast<std::uint64_t>(-1);
  CallMemory memory(call);
  const std::string format(memory.text_at(call.arguments[0], ""));
  const char* at = format.c_str();
  ArgumentReader arguments(memory, call.arguments[1]);
  std::string text;
  std::int32_t count = 0;
  while (*at != '\0') {
    if (*at != '%') {
      text += *at++;
      continue;
    }
    const char* const begin = at++;
    const Directive directive = parse_directive(at, arguments);
    if (directive.conversion == '%') {
      text += '%';
    } else if (append_directive(text, directive, arguments)) {
      ++count;
    } else {
      text.append(begin, at);
    }
  }
  if (memory.failed()) return *memory.failed();
  if (call.explored != nullptr)
    call.explored->printed = 31 * call.explored->printed + std::hash<std::string>()(text);
  if (!call.is_silent()) device_output().append(text);
  return static_cast<std::uint64_t>(count);
}

Result<std::uint64_t> free_memory(const BuiltinCall& call) {
  const std::uint64_t address = call.arguments[0];
  if (address == 0 || device_heap(call.memory->device()).free(reinterpret_cast<void*>(address), *call.memory))
    return std::uint64_t{0};
  CallMemory memory(call);
  memory.miss("free of a pointer that device malloc did not return,", address);
  return *memory.failed();
}

/// assertfail(message, file, line, function, bytes per character)
Failure report_assertion(const BuiltinCall& call) {
  CallMemory memory(call);
  const auto text = [&](int index) { return std::string(memory.text_at(call.arguments[index], "")); };
  const WarpContext& warp = *call.warp;
  if (!call.is_silent())
    std::fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                 text(1).c_str(), static_cast<unsigned>(call.arguments[2]), text(3).c_str(), warp.ctaid[0],
                 warp.ctaid[1], warp.ctaid[2], warp.tid[0][call.lane], warp.tid[1][call.lane],
                 warp.tid[2][call.lane], text(0).c_str());
  return failure("device-side assert `" + text(0) + "` failed");
}

/// Stores the result of a call of device code's own runtime where its first argument points. Returns
/// cudaSuccess.
Result<std::uint64_t> store_result(const BuiltinCall& call, std::uint64_t value) {
  CallMemory memory(call);
  const std::string_view place = memory.bytes_at(call.arguments[0]);
  if (place.size() < sizeof value) {
    memory.miss("the result of a runtime function", call.arguments[0]);
    return *memory.failed();
  }
  std::memcpy(reinterpret_cast<void*>(call.arguments[0]), &value, sizeof value);
  return std::uint64_t{0};
}

std::uint64_t allocate(const BuiltinCall& call, std::uint64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(device_heap(call.memory->device()).allocate(bytes, *call.memory));
}

Result<std::uint64_t> allocate_as_runtime(const BuiltinCall& call) {
  constexpr std::uint64_t exhausted = 2;  // cudaErrorMemoryAllocation
  const std::uint64_t address = allocate(call, call.arguments[1]);
  return address != 0 ? store_result(call, address) : Result<std::uint64_t>(exhausted);
}

/// Streams and events of device code need no state.
constexpr std::uint64_t handle_of_device_code = 0x4c59'0001'0000'0000u;

Dim3 extents_at(std::uint64_t host_address) {
  std::uint32_t extents[3];
  std::memcpy(extents, reinterpret_cast<const void*>(host_address), sizeof extents);
  return {extents[0], extents[1], extents[2]};
}

}  // namespace

Result<std::uint64_t> run_builtin(const BuiltinCall& call) {
  switch (call.builtin) {
    case Builtin::vprintf: return print(call);
    case Builtin::malloc: return allocate(call, call.arguments[0]);
    case Builtin::device_malloc: return allocate_as_runtime(call);
    case Builtin::free:
    case Builtin::device_free: return free_memory(call);
    case Builtin::assertfail: return report_assertion(call);
    case Builtin::launch_parameters:
      return call.launches->request(call.arguments[0],
                                    {extents_at(call.arguments[1]), extents_at(call.arguments[2]),
                                     static_cast<std::uint32_t>(call.arguments[3])});
    case Builtin::device_launch: return call.launches->launch(call.arguments[0], call.arguments[1]);
    case Builtin::device_handle: return store_result(call, handle_of_device_code);
    case Builtin::device_success:
    case Builtin::none: break;
  }
  return std::uint64_t{0};
}

}  // namespace lynxpp::device::cpu
