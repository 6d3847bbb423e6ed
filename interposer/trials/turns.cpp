#include "interposer/trials/turns.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace lynxpp::interposer {
namespace {

namespace limits = models::limits;

/// Returns the PTX lines of the sites, those of each source line together.
std::vector<std::vector<std::uint32_t>> groups_of(const std::vector<ptx::PerturbedSite>& sites) {
  using Place = std::tuple<std::string, std::uint32_t, std::uint32_t>;
  std::map<Place, std::vector<std::uint32_t>> by_place;
  for (const ptx::PerturbedSite& site : sites) {
    if (!site.is_perturbed) continue;
    std::vector<std::uint32_t>& lines = by_place[{site.file, site.line, site.line == 0 ? site.ptx_line : 0}];
    if (lines.empty() || lines.back() != site.ptx_line) lines.push_back(site.ptx_line);
  }
  std::vector<std::vector<std::uint32_t>> groups;
  for (auto& [place, lines] : by_place) groups.push_back(std::move(lines));
  return groups;
}

std::vector<limits::ClassOfOperations> described(const std::vector<ClassSites>& classes) {
  std::vector<limits::ClassOfOperations> all;
  for (const ClassSites& each : classes) {
    all.push_back({.groups = groups_of(each.sites),
                   .has_harmless = ptx::has_harmless(each.operation),
                   .has_pattern = ptx::has_pattern(each.operation),
                   .is_timed = !ptx::counts(each.operation),
                   .is_baseline = each.operation == ptx::Operation::copy});
  }
  return all;
}

class TurnsOfClasses final : public Turns {
 public:
  TurnsOfClasses(const std::vector<ClassSites>& classes, const limits::Budget& budget)
      : schedule_(described(classes), budget) {
    for (const ClassSites& each : classes) operations_.push_back(each.operation);
  }

  std::optional<TrialId> next() override { return schedule_.next(); }
  std::optional<ptx::Perturbation> perturbation(TrialId id) const override {
    const limits::Variant& variant = schedule_.variant(id);
    if (variant.form == limits::TrialForm::native) return std::nullopt;
    const bool is_again = variant.form == limits::TrialForm::again;
    return ptx::Perturbation{operations_[variant.class_index],
                             is_again ? ptx::Form::again : ptx::Form::harmless, variant.lines};
  }
  void add(TrialId id, double milliseconds) override { schedule_.add(id, milliseconds); }
  void drop(TrialId id) override { schedule_.drop(id); }

 private:
  limits::Schedule schedule_;
  std::vector<ptx::Operation> operations_;  // by class
};

class TurnsOfList final : public Turns {
 public:
  TurnsOfList(std::vector<ptx::Perturbation> perturbations, std::size_t launches)
      : perturbations_(std::move(perturbations)),
        is_dropped_(perturbations_.size() + 1),
        remaining_(launches) {}

  std::optional<TrialId> next() override {
    if (remaining_ == 0) return std::nullopt;
    --remaining_;
    while (is_dropped_[turn_]) turn_ = (turn_ + 1) % is_dropped_.size();
    return static_cast<TrialId>(std::exchange(turn_, (turn_ + 1) % is_dropped_.size()));
  }
  std::optional<ptx::Perturbation> perturbation(TrialId id) const override {
    if (id == limits::native_trial) return std::nullopt;
    return perturbations_[id - 1];
  }
  void add(TrialId /*id*/, double /*milliseconds*/) override {}
  void drop(TrialId id) override {
    if (id != limits::native_trial) is_dropped_[id] = true;
  }

 private:
  const std::vector<ptx::Perturbation> perturbations_;
  std::vector<bool> is_dropped_;  // by TrialId; never the original
  std::size_t turn_ = 0;
  std::size_t remaining_;
};

}  // namespace

std::unique_ptr<Turns> turns_of_classes(const std::vector<ClassSites>& classes, std::size_t launches,
                                        bool is_deterministic) {
  limits::Budget budget;
  budget.class_launches = budget.line_launches = launches;
  budget.is_deterministic = is_deterministic;
  return std::make_unique<TurnsOfClasses>(classes, budget);
}

std::unique_ptr<Turns> turns_of_list(std::vector<ptx::Perturbation> perturbations, std::size_t launches) {
  return std::make_unique<TurnsOfList>(std::move(perturbations), launches);
}

}  // namespace lynxpp::interposer
