// Numbers that follow linearly from a few that are measured.
//
// Whatever a specification asks of executions is a sum of multiples of other numbers: what enters a block
// leaves it, a loop body runs as often as the trip count says, a complement is the launched warps less those
// that were seen. A variable is either measured (a counter of the device, or what the launch tells) or
// defined as such a sum. Planning a count means to define variables until few are left to measure; the host
// then evaluates the definitions. All arithmetic is modulo 2^64, so a factor may be negative.
//
//   LinearSystem system;
//   const VariableId launched = system.measure(), back = system.measure();
//   const VariableId header = system.define({{launched, 1}, {back, 1}});   // entered, and gone back to
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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

class LinearSystem {
 public:
  VariableId measure() { return add(std::nullopt); }
  VariableId define(LinearForm form) { return add(std::move(form)); }
  /// The variable follows from others from now on; it was measured, or defined differently.
  void redefine(VariableId variable, LinearForm form) { definitions_[variable] = std::move(form); }

  std::size_t size() const { return definitions_.size(); }
  bool is_measured(VariableId variable) const { return !definitions_[variable]; }
  /// Of a variable that is defined.
  const LinearForm& definition(VariableId variable) const { return *definitions_[variable]; }

  /// Orders the variables so that each stands after those it is defined by. False: some definitions need each
  /// other. Everything below asks for it, and for no change since.
  bool order();

  /// `values` has an element for each variable, those of measured ones are given; all others are filled in.
  void evaluate(std::vector<std::uint64_t>& values) const;

 private:
  friend class LinearColumns;

  VariableId add(std::optional<LinearForm> definition);

  std::vector<std::optional<LinearForm>> definitions_;  ///< per variable; nullopt: it is measured
  std::vector<VariableId> order_;                       ///< of the variables that are defined
  std::vector<std::uint32_t> position_;                 ///< per variable, in that order; 0 for measured ones
};

/// By how much each of some sums grows when a measured variable grows by one: its column. Variables with
/// equal columns need not be told apart, one whose column is empty need not be measured.
class LinearColumns {
 public:
  /// `factor` times the variable is part of the sum.
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
  using Column = std::vector<Entry>;  ///< ascending by sum, no factor is 0

  /// `budget` limits the terms looked at for all columns together, so that large functions take linear time.
  /// `system` is ordered and outlives this.
  LinearColumns(const LinearSystem& system, std::span<const Use> uses, std::size_t budget);

  /// nullopt: the budget is spent.
  std::optional<Column> column_of(VariableId measured);

 private:
  const LinearSystem& system_;
  std::vector<LinearForm> wholes_of_;        ///< per variable: what is defined by it, with its factor there
  std::vector<std::vector<Entry>> sums_of_;  ///< per variable
  std::vector<std::uint64_t> growth_;        ///< per variable; 0 between calls
  std::size_t budget_;
};

}  // namespace lynxpp::ptx
