#include "models/cumapz/exploration.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/cumapz/changes.h"

namespace lynxpp::models::cumapz {
namespace {

using Given = std::map<std::string, std::int64_t>;
/// The index of each change's value.
using Selection = std::vector<std::size_t>;

constexpr std::size_t most_combinations = 1'000;

/// Replaces the element of the fetch with this index; without an expression, removes the fetch.
void replace_fetch(std::vector<Statement>& statements, std::uint32_t reference, const Element& by) {
  for (Statement& statement : statements) {
    replace_fetch(statement.statements, reference, by);
    if (statement.kind != Statement::Kind::fetch || statement.reference != reference) continue;
    if (by.index.empty()) {
      statement.kind = Statement::Kind::block;
      statement.elements.clear();
    } else {
      statement.elements[1] = by;
    }
  }
}

bool uses_shared(const std::vector<Statement>& statements, std::uint32_t shared) {
  return std::ranges::any_of(statements, [&](const Statement& statement) {
    return uses_shared(statement.statements, shared) ||
           std::ranges::any_of(statement.elements, [&](const Element& element) {
             return element.is_shared && element.array == shared;
           });
  });
}

class Explorer {
 public:
  Explorer(const Description& description, const Given& given, const Machine& machine)
      : description_(description),
        given_(given),
        machine_(machine),
        changes_(changes_of(description, given)) {
    if (machine.global.channel_width == 0)  // hashed addresses: no term depends on the block order
      std::erase_if(changes_, [](const Change& change) { return change.kind == Change::Kind::blocks; });
  }

  Result<Exploration> run() {
    Result<std::vector<Variant>> variants = variants_of(description_, given_);
    if (!variants) return variants.error();
    std::size_t combinations = variants->size();
    for (const Change& change : changes_)
      combinations = std::min(combinations * change.values.size(), most_combinations + 1);
    result_.is_complete = combinations <= most_combinations;
    for (Variant& variant : *variants) {
      Result<Alternative> alternative = cumapz::alternative_of(description_, std::move(variant), machine_);
      if (!alternative) return alternative.error();
      choices_ = alternative->variant.choices;
      accesses_ = alternative->terms.accesses;
      tried_.clear();
      tried_[Selection(changes_.size(), 0)] = alternative->merit();
      result_.alternatives.push_back(std::move(*alternative));
      if (result_.is_complete) {
        try_all();
      } else {
        climb();
      }
    }
    // Among equal merits, the variant with the fewest changes comes first.
    std::ranges::stable_sort(result_.alternatives, {}, [](const Alternative& alternative) {
      return std::pair(-alternative.merit(), alternative.changes.size());
    });
    return std::move(result_);
  }

 private:
  void try_all() {
    Selection selection(changes_.size(), 0);
    for (;;) {
      std::size_t i = changes_.size();
      while (i > 0 && ++selection[i - 1] == changes_[i - 1].values.size()) selection[--i] = 0;
      if (i == 0) return;
      merit_of(selection);
    }
  }

  /// Applies the best single change repeatedly; also evaluates every single change of the description.
  void climb() {
    Selection here(changes_.size(), 0);
    double best = tried_[here];
    for (bool is_better = true; is_better;) {
      is_better = false;
      Selection next = here;
      for (std::size_t i = 0; i < changes_.size(); ++i) {
        for (std::size_t value = 0; value < changes_[i].values.size(); ++value) {
          Selection selection = here;
          selection[i] = value;
          const double merit = merit_of(selection);
          if (merit <= best) continue;
          best = merit;
          next = selection;
          is_better = true;
        }
      }
      here = next;
    }
  }

  /// Returns the merit of a variant, which is recorded if it is valid; otherwise -1.
  double merit_of(const Selection& selection) {
    const auto [known, is_new] = tried_.try_emplace(selection, -1);
    if (!is_new) return known->second;
    std::optional<Alternative> alternative = alternative_of(selection);
    if (!alternative) return known->second;
    known->second = alternative->merit();
    result_.alternatives.push_back(std::move(*alternative));
    return known->second;
  }

  /// Returns nullopt if a change does not apply, if the variant does not fit, or if it does other work.
  std::optional<Alternative> alternative_of(const Selection& selection) {
    Given given = given_;
    for (const auto& [name, value] : choices_) given[name] = value;
    Description description = description_;
    std::vector<std::pair<std::string, std::string>> changes;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const Change& change = changes_[i];
      const std::size_t value = selection[i];
      if (value == 0) continue;
      changes.emplace_back(change.name, change.values[value]);
      if (change.kind == Change::Kind::constant) given[change.name] = change.numbers[value];
      if (change.kind == Change::Kind::fetch)
        replace_fetch(description.statements, change.number, change.elements[value]);
    }
    Result<std::vector<Variant>> variants = variants_of(description, given);
    if (!variants) return left_out();
    Variant variant = std::move(variants->front());
    variant.choices = choices_;
    for (std::uint32_t i = 0; i < description.shared.size(); ++i) {
      if (!uses_shared(description.statements, i)) variant.shared_elements[i] = 0;
    }
    if (!arrange(description, selection, variant)) return std::nullopt;
    Result<Alternative> alternative = cumapz::alternative_of(description, std::move(variant), machine_);
    if (!alternative || alternative->terms.accesses != accesses_) return left_out();
    alternative->changes = std::move(changes);
    return std::move(*alternative);
  }

  std::nullopt_t left_out() {
    ++result_.left_out;
    return std::nullopt;
  }

  /// Applies layouts, thread and block changes to the variant; returns false if one does not apply.
  bool arrange(const Description& description, const Selection& selection, Variant& variant) const {
    variant.layouts.assign(description.shared.size(), {});
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (selection[i] == 0) continue;
      const Change& change = changes_[i];
      switch (change.kind) {
        case Change::Kind::padding:
        case Change::Kind::layout: {
          SharedLayout& layout = variant.layouts[change.number];
          layout.row = row_of(description, variant, change.number);
          if (layout.row == 0) return false;
          if (change.kind == Change::Kind::padding) layout.padding = 1;
          if (change.kind == Change::Kind::layout) layout.by_columns = true;
          break;
        }
        case Change::Kind::threads:
          if (variant.block[0] != variant.block[1] || variant.block[0] == 1) return false;
          variant.swaps_threads = true;
          break;
        case Change::Kind::blocks:
          if (variant.grid[0] == 1 || variant.grid[1] == 1) return false;
          variant.is_diagonal = true;
          break;
        default: break;
      }
    }
    return true;
  }

  const Description& description_;
  const Given& given_;
  const Machine& machine_;
  std::vector<Change> changes_;
  Exploration result_;
  // For the base variant of the search:
  std::vector<std::pair<std::string, std::int64_t>> choices_;
  std::int64_t accesses_ = 0;
  std::map<Selection, double> tried_;
};

}  // namespace

Result<Alternative> alternative_of(const Description& description, Variant variant, const Machine& machine) {
  Result<Totals> totals = execute(description, variant, machine);
  if (!totals) return totals.error();
  Alternative alternative;
  alternative.terms = terms_of(*totals, machine);
  if (has_bounds(machine)) alternative.bounds = bounds_of(*totals, machine);
  alternative.variant = std::move(variant);
  alternative.totals = std::move(*totals);
  return alternative;
}

Result<Exploration> explore(const Description& description, const Given& given, const Machine& machine) {
  return Explorer(description, given, machine).run();
}

}  // namespace lynxpp::models::cumapz
