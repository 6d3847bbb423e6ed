// Values that are linear combinations of a few measured ones.
//
// Every execution count that a specification requests is a linear form over other counts: flow into a block
// equals flow out of it, a complement is the number of launched warps minus the warps counted. A variable is
// either measured (a device counter or a launch property) or defined as a linear form. Planning defines
// variables until few are left to measure; the host then evaluates the definitions. All arithmetic is modulo
// 2^64, so factors may be negative.
//
//   LinearSystem system;
//   const VariableId launched = system.measure(), back = system.measure();
//   const VariableId header = system.define({{launched, 1}, {back, 1}});   // entry edge plus back edge
//   if (const std::optional<SolvedSystem> solved = system.solve()) solved->evaluate(values);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "support/check.h"

namespace lynxpp::ptx {

using VariableId = std::uint32_t;
inline constexpr VariableId no_variable = 0xffffffff;

struct LinearTerm {
  VariableId variable = no_variable;
  std::uint64_t factor = 1;

  auto operator<=>(const LinearTerm&) const = default;
};

/// The sum of its terms; the empty form is 0.
using LinearForm = std::vector<LinearTerm>;

inline constexpr std::uint64_t minus_one = ~std::uint64_t{0};

/// An acyclic system with an order of its variables. Nothing changes it.
class SolvedSystem {
 public:
  SolvedSystem() = default;  ///< without variables

  std::size_t size() const { return definitions_.size(); }
  bool is_measured(VariableId variable) const { return !definitions_[variable]; }
  /// Requires a defined variable.
  const LinearForm& definition(VariableId variable) const {
    LYNXPP_CHECK(!is_measured(variable), "the definition of a measured variable");
    return *definitions_[variable];
  }
  /// The defined variables, each after the variables in its definition.
  const std::vector<VariableId>& order() const { return order_; }
  /// Returns the variable's rank: greater than the ranks of the variables in its definition.
  std::uint32_t rank(VariableId variable) const { return rank_[variable]; }

  /// Computes the defined variables from the measured ones. `values` has one element per variable.
  void evaluate(std::vector<std::uint64_t>& values) const;

 private:
  friend class LinearSystem;
  using Definitions = std::vector<std::optional<LinearForm>>;  ///< per variable; nullopt: measured

  /// Sorts the variables. Returns nullopt if the definitions are cyclic.
  static std::optional<SolvedSystem> make(Definitions definitions);

  Definitions definitions_;
  std::vector<VariableId> order_;
  std::vector<std::uint32_t> rank_;
};

/// A system under construction.
class LinearSystem {
 public:
  VariableId measure() { return add(std::nullopt); }
  VariableId define(LinearForm form) { return add(std::move(form)); }
  /// Replaces the variable's definition; a measured variable becomes a defined one.
  void redefine(VariableId variable, LinearForm form) { definitions_[variable] = std::move(form); }
  std::size_t size() const { return definitions_.size(); }

  /// Returns the system as it is now, or nullopt if the definitions are cyclic.
  std::optional<SolvedSystem> solve() const& { return SolvedSystem::make(definitions_); }
  std::optional<SolvedSystem> solve() && { return SolvedSystem::make(std::move(definitions_)); }

 private:
  VariableId add(std::optional<LinearForm> definition);

  SolvedSystem::Definitions definitions_;
};

/// The column of a measured variable: its coefficient in each requested sum. Variables with equal columns can
/// share a counter; a variable with an empty column needs none.
class LinearColumns {
 public:
  /// Adds `factor` times the variable to the sum.
  struct Use {
    VariableId variable = no_variable;
    std::uint32_t sum = 0;
    std::uint64_t factor = 1;
  };
  struct Entry {
    std::uint32_t sum = 0;
    std::uint64_t factor = 0;

    auto operator<=>(const Entry&) const = default;
  };
  using Column = std::vector<Entry>;  ///< ascending by sum; no factor is 0

  /// `budget` limits the number of terms visited for all columns together, so that large functions take
  /// linear time.
  LinearColumns(SolvedSystem system, std::span<const Use> uses, std::size_t budget);

  /// nullopt: the budget is exhausted.
  std::optional<Column> column_of(VariableId measured);

 private:
  SolvedSystem system_;
  std::vector<LinearForm> users_of_;         ///< per variable: the variables defined by it, with its factor
  std::vector<std::vector<Entry>> sums_of_;  ///< per variable
  std::vector<std::uint64_t> growth_;        ///< per variable; 0 between calls
  std::size_t budget_;
};

}  // namespace lynxpp::ptx
