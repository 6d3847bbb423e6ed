// A probe routine: a compiled handler's code, ready to be copied into other functions any number of times.
//
// Each copy has its own registers and labels, and `ret` becomes a branch to the end of the copy. The
// routine's `.local` memory becomes the local depot that all copies in a function share, because nothing in
// it outlives a copy. Functions that it calls appear once in the variant (routine_functions.h) and are called
// by each copy. Operands whose names begin with one of four prefixes are placeholders for values that a
// SiteBinding supplies:
//   mov.b64 d, <word prefix>3;    a parameter slot
//   <state prefix>0               a per-thread state register, read or written
//   <variable prefix>1            the name of a variable of the variant, declared in
//                                 SplicedCode::variables
//   <site prefix>basic_block_id   a value known at the site: an immediate or a register
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ir/module.h"
#include "ptx/passes/probes/code_template.h"
#include "ptx/passes/probes/routine_functions.h"
#include "ptx/passes/probes/routine_parts.h"
#include "support/result.h"

namespace lynxpp::ptx {

class ProbeRoutine {
 public:
  /// Requires parsed bodies of `function` and the functions it calls, which are added to `functions`. Fails
  /// if the routine declares memory other than `.local`, or calls a function that add_function() rejects.
  static Result<ProbeRoutine> make(const Module& module, const Function& function,
                                   const PlaceholderPrefixes& prefixes, RoutineFunctions& functions);

  /// Returns a copy with names from `names`.
  Code copy(const SiteBinding& binding, NameSource& names) const {
    return (binding.invariants.empty() ? whole_ : in_loops_).copy(binding, names);
  }

  /// The types of the values that copies in loops may read from registers (routine_invariants.h).
  const std::vector<RegisterType>& invariants() const { return invariant_types_; }
  /// Returns code that computes invariant `index` into `target`. With equal `names`, code for the same value
  /// of any routine is equal.
  Code invariant(std::uint32_t index, const SiteBinding& binding, VirtualRegister target,
                 NameSource& names) const;

  /// nullopt: the routine does not begin with a test.
  const std::optional<RoutineParts>& parts() const { return parts_; }

  bool reads_site_value(std::string_view name) const { return uses_.site_values.contains(name); }
  const std::set<std::string, std::less<>>& site_values() const { return uses_.site_values; }
  const std::set<std::uint32_t>& functions() const { return functions_; }  ///< direct callees
  std::uint64_t depot_bytes() const { return depot_bytes_; }               ///< local memory that a copy needs
  std::uint32_t instructions() const { return instructions_; }
  const CodeTemplate& whole() const { return whole_; }
  /// True if the routine reads the value as 64 bits, false for 32.
  bool is_wide(std::string_view site_value) const { return wide_site_values_.contains(site_value); }

 private:
  friend class RoutineBuilder;

  CodeTemplate whole_;
  CodeTemplate in_loops_;                      ///< with invariants in registers, if there are any
  std::vector<CodeTemplate> invariant_code_;   ///< each moves its result to placeholder 0
  std::vector<RegisterType> invariant_types_;  ///< b32 or b64
  std::optional<RoutineParts> parts_;
  RoutineUses uses_;
  std::set<std::string, std::less<>> wide_site_values_;
  std::set<std::uint32_t> functions_;
  std::uint32_t instructions_ = 0;
  std::uint64_t depot_bytes_ = 0;
};

/// Returns the number that ends the name of a placeholder or a site value: 2 for "loaded_value_2".
std::uint32_t number_at_end(std::string_view name);

/// The local memory of a function's probes, aligned to 16 bytes.
inline constexpr std::string_view depot_variable = "__lynxpp_depot";
/// Returns its declaration.
std::string declaration_of_depot(std::uint64_t bytes);

}  // namespace lynxpp::ptx
