// Functions that probe routines call. Each appears once in a variant, however many sites, handlers and
// specifications call it.
//
// A function does not depend on its call site: what it needs of a site, of the parameter slots and of the
// thread's state is passed and returned by value. So functions with equal code are the same function.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/ir/module.h"
#include "support/result.h"

namespace lynxpp::ptx {

class RoutineFunctions {
 public:
  /// Returns the number of an equal function, or of a new one. `function` has no name yet; `callees` are the
  /// numbers of the functions that it calls, under the names that name() returns.
  std::uint32_t add(CodeFunction function, std::set<std::uint32_t> callees);

  /// Marks the functions and, transitively, their callees as used by the variant.
  void use(const std::set<std::uint32_t>& functions);

  static std::string name(std::uint32_t function);
  /// Returns the used functions, callees first, so that no forward declaration is needed.
  std::vector<CodeFunction> definitions() const;
  /// The number of PTX instructions of the used functions.
  std::uint64_t instructions() const;

 private:
  struct Entry {
    CodeFunction function;
    std::set<std::uint32_t> callees;
    bool is_used = false;
  };
  std::vector<Entry> entries_;
};

/// Adds function `name` of `module`, whose bodies must be parsed, with all its callees. Registers, labels,
/// parameters and local variables are renamed, so that the same code compiled twice is one function. Fails if
/// a function has no body, calls itself, calls through a pointer, or uses a name that starts with one of
/// `placeholders`.
Result<std::uint32_t> add_function(const Module& module, std::string_view name,
                                   const std::vector<std::string_view>& placeholders,
                                   RoutineFunctions& functions);

/// The prefix of the names of lynxpp's functions.
inline constexpr std::string_view routine_function_prefix = "__lynxpp_function_";

}  // namespace lynxpp::ptx
