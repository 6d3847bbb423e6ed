// Functions that probe routines call: each stands once in a variant, whatever number of sites, handlers and
// specifications calls it.
//
// A function knows nothing of the site it is called from. What it needs of a site, of the hidden parameter's
// words and of the thread's state comes in by value, and results go back by value, so functions of the same
// code are the same function.
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
  /// The number of an equal function, else of a new one; it has no name yet. `callees` are numbers of
  /// functions that it calls, by the names that name() gives them.
  std::uint32_t add(CodeFunction function, std::set<std::uint32_t> callees);

  /// Notes that the variant calls the functions, and so those that they call.
  void use(const std::set<std::uint32_t>& functions);

  static std::string name(std::uint32_t function);
  /// The used ones, callees first: no forward declaration is needed.
  std::vector<CodeFunction> definitions() const;
  /// PTX instructions of the used ones.
  std::uint64_t instructions() const;

 private:
  struct Entry {
    CodeFunction function;
    std::set<std::uint32_t> callees;
    bool is_used = false;
  };
  std::vector<Entry> entries_;
};

/// Adds the function `name` of `module`, bodies parsed, with all that it calls. Registers, labels, parameters
/// and local variables are named anew, so that the same code compiled twice is one function. Failure: it has
/// no body, calls itself, calls through a pointer, or names what starts with one of `placeholders`.
Result<std::uint32_t> add_function(const Module& module, std::string_view name,
                                   const std::vector<std::string_view>& placeholders,
                                   RoutineFunctions& functions);

/// The names of lynxpp's functions start with it.
inline constexpr std::string_view routine_function_prefix = "__lynxpp_function_";

}  // namespace lynxpp::ptx
