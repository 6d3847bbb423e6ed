// vprintf, malloc, free and __assertfail as device code sees them.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "device/cpu/simt/execute/scheduler.h"

namespace lynxpp::device::cpu {
namespace {

/// Reads the arguments of vprintf: each at its natural alignment, at least 4 bytes.
class ArgumentReader {
 public:
  explicit ArgumentReader(std::uint64_t address) : begin_(reinterpret_cast<const std::byte*>(address)) {}

  template <typename T>
  T next() {
    offset_ = align_up(offset_, sizeof(T));
    T value;
    std::memcpy(&value, begin_ + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

 private:
  const std::byte* begin_;
  std::uint64_t offset_ = 0;
};

/// One directive of a format string: "%-8.3lf".
struct Directive {
  std::string flags;  ///< flags, width and precision, '*' already replaced
  bool is_long = false;
  char conversion = '\0';
};

/// `at` stands behind the '%' and is moved behind the directive.
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

/// False: the conversion is unknown and takes no argument.
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
    case 's': {
      const auto string = reinterpret_cast<const char*>(arguments.next<std::uint64_t>());
      append(text, prefix + "s", string == nullptr ? "(null)" : string);
      return true;
    }
    case 'p':
      append(text, prefix + "p", reinterpret_cast<const void*>(arguments.next<std::uint64_t>()));
      return true;
    default: return false;
  }
}

/// The number of arguments, or -1 without a format.
std::int32_t print(std::uint64_t format, std::uint64_t arguments_address) {
  const char* at = reinterpret_cast<const char*>(format);
  if (at == nullptr) return -1;
  ArgumentReader arguments(arguments_address);
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
  std::fwrite(text.data(), 1, text.size(), stdout);
  return count;
}

/// assertfail(message, file, line, function, bytes per character)
Failure report_assertion(const BuiltinCall& call) {
  const auto text = [&call](int index) {
    const auto string = reinterpret_cast<const char*>(call.arguments[index]);
    return string == nullptr ? "" : string;
  };
  std::fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", text(1),
               static_cast<unsigned>(call.arguments[2]), text(3), call.block[0], call.block[1], call.block[2],
               call.thread[0], call.thread[1], call.thread[2], text(0));
  return failure("device-side assert `" + std::string(text(0)) + "` failed");
}

}  // namespace

Result<std::uint64_t> run_builtin(const BuiltinCall& call) {
  switch (call.builtin) {
    case Builtin::vprintf: return static_cast<std::uint64_t>(print(call.arguments[0], call.arguments[1]));
    case Builtin::malloc: return reinterpret_cast<std::uintptr_t>(std::malloc(call.arguments[0]));
    case Builtin::free: std::free(reinterpret_cast<void*>(call.arguments[0])); return std::uint64_t{0};
    case Builtin::assertfail: return report_assertion(call);
    case Builtin::none: break;
  }
  return std::uint64_t{0};
}

}  // namespace lynxpp::device::cpu
