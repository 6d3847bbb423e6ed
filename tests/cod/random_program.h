// Random functions in the common subset of C and C-on-Demand without undefined behaviour. The same seed
// yields the same text.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace lynxpp::cod {

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : engine_(seed) {}

  struct Function {
    std::string text;
    bool is_real = false;  ///< the result is a double, else an unsigned long
  };

  /// Helpers and tables that the functions use; once per file.
  static std::string prelude();

  /// `static unsigned long NAME(void) { … }`, which computes random statements.
  Function function(const std::string& name);

  /// Number of operators, calls and conversions in the functions generated so far.
  std::uint64_t operations() const { return operations_; }

 private:
  enum Kind { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, kinds };
  struct Value {
    std::string text;
    Kind kind;
  };

  std::uint64_t below(std::uint64_t end) { return engine_() % end; }
  bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }
  static const char* name_of(Kind kind);
  static bool is_floating(Kind kind) { return kind >= f32; }
  static Kind promoted(Kind kind) { return kind < i32 ? i32 : kind; }
  static Kind common(Kind a, Kind b);

  Value leaf();
  Value expression(int depth);
  Value integer(int depth);                  ///< of an integer type
  Value to_integer(Value value, Kind kind);  ///< defined for every value
  Value binary(int depth);
  Value shift(int depth);
  Value division(int depth);
  Value unary(int depth);
  Value cast(int depth);
  std::string assignment(int depth);
  std::string statement(int depth);

  std::mt19937_64 engine_;
  std::uint64_t operations_ = 0;
  std::vector<Value> variables_;
  std::vector<Value> arrays_;  ///< with four elements
};

}  // namespace lynxpp::cod
