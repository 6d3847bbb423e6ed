#include "device/cpu/simt/execute/order/explore.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "device/cpu/simt/execute/launch_control.h"

namespace lynxpp::device::cpu {
namespace {

/// A run is abandoned after this multiple of the segments of order 1, plus an allowance for short turns.
constexpr std::uint64_t most_work = 64;
constexpr std::uint64_t work_allowance = std::uint64_t{1} << 22;
/// Runs that reduce the deviations of one finding.
constexpr int most_reductions = 48;
constexpr std::size_t most_described = 8;
/// Shuffles from inactive lanes that are judged one by one if results depend on any of a launch.
constexpr int most_judged_shuffles = 32;

/// Identifies a fault across orders: accesses race in either order, and a hang may show at any warp.
using FaultKey = std::tuple<FindingKind, std::uint32_t, std::uint32_t>;

FaultKey key_of(const Finding& finding) {
  std::uint32_t first = finding.place.line;
  std::uint32_t second = finding.other ? finding.other->line : 0;
  FindingKind kind = finding.kind;
  if (kind == FindingKind::endless_barrier || kind == FindingKind::failing_order) return {kind, 0, 0};
  if (check_of(kind) == "race" && second < first) std::swap(first, second);
  if (kind == FindingKind::unfinished_operation) kind = FindingKind::race;
  return {kind, first, second};
}

/// Bytes with which launches are repeated in place of undefined values: both values of each bit, and great
/// and small numbers of either sign in all types.
constexpr std::byte fills[] = {std::byte{0x7b}, std::byte{0x84}, std::byte{0xfb}};

/// Kinds of findings about undefined values, which may be unused.
constexpr FindingKind kinds_of_undefined[] = {FindingKind::uninitialized_read, FindingKind::inactive_source};

bool may_be_unused(const Finding& finding) { return finding.may_be_unused; }

/// Counts launches, to notice those that run at the same time.
class Presence {
 public:
  Presence() : begun_(++begun()), alone_(++running() == 1) {}
  ~Presence() { --running(); }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;
  bool was_alone() const { return alone_ && begun() == begun_; }

 private:
  static std::atomic<std::uint64_t>& begun() {
    static std::atomic<std::uint64_t> count{0};
    return count;
  }
  static std::atomic<std::uint64_t>& running() {
    static std::atomic<std::uint64_t> count{0};
    return count;
  }
  const std::uint64_t begun_;
  const bool alone_;
};

/// True for the first call with this kernel and fault in the process: others are not reduced again.
bool is_first_sight(const std::string& kernel, const FaultKey& key) {
  static std::mutex mutex;
  static auto* const known = new std::set<std::pair<std::string, FaultKey>>;
  const std::lock_guard lock(mutex);
  return known->emplace(kernel, key).second;
}

class Explorer {
 public:
  Explorer(const ExplorableLaunch& launch, LaunchChecks& checks) : launch_(launch), checks_(checks) {}

  Status explore();

 private:
  struct Judged {
    LaunchChecks checks;
    Status status = success();
    bool is_abandoned = false;
    std::vector<Deviation> deviations;
  };
  Judged judge(Schedule schedule);
  bool has_same_results(const ExploredRun& run, const Schedule* schedule, const Status& status,
                        UndefinedValues undefined);
  void drop_unused_values(const ExploredRun& run, const Schedule* schedule, const Status& status,
                          std::vector<Finding>& findings);
  static void drop_shuffles(std::vector<Finding>& findings);
  void explore_others(const Status& status);
  void add(std::uint32_t seed, std::vector<Finding> findings);
  bool appears(const FaultKey& key, const std::vector<Deviation>& deviations);
  std::vector<Deviation> reduce(const FaultKey& key, std::vector<Deviation> deviations);
  void keep(Finding& finding, const std::vector<Deviation>& deviations);

  const ExplorableLaunch& launch_;
  LaunchChecks& checks_;
  std::vector<Finding> findings_;
  std::map<FaultKey, std::size_t> known_;
  std::map<std::uint32_t, std::vector<Deviation>> deviations_;  // by seed
  std::uint64_t most_segments_ = 0;
  std::uint32_t judged_ = 0;  // orders
  bool first_failed_ = false;
  int reductions_left_ = 0;
};

void Explorer::add(std::uint32_t seed, std::vector<Finding> findings) {
  ++judged_;
  for (Finding& each : findings) {
    const auto [known, is_new] = known_.try_emplace(key_of(each), findings_.size());
    if (is_new) findings_.push_back(std::move(each));
    std::vector<std::uint32_t>& seeds = findings_[known->second].orders.seeds;
    if (seeds.empty() || seeds.back() != seed) seeds.push_back(seed);
  }
}

/// Repeats a launch and restores memory. Returns true if the results are those of `run`. Precondition: memory
/// is as before `run`, whose order `schedule` gives, and its log has been exchanged.
bool Explorer::has_same_results(const ExploredRun& run, const Schedule* schedule, const Status& status,
                                UndefinedValues undefined) {
  WriteLog log(*launch_.memory);
  std::optional<Schedule> same;
  if (schedule != nullptr) same.emplace(*schedule);
  ExploredRun repeated{.schedule = same ? &*same : nullptr,
                       .log = &log,
                       .repeats = true,
                       .undefined = undefined,
                       .most_segments = most_work * run.segments + work_allowance};
  LaunchChecks ignored{.selection = checks_.selection};
  const Status ended = launch_.run(repeated, ignored);
  const bool is_same = !repeated.is_abandoned && repeated.printed == run.printed &&
                       static_cast<bool>(ended) == static_cast<bool>(status) && log.has_results_of(*run.log);
  log.exchange();
  return is_same && !launches_abandoned();
}

/// Drops findings about undefined values if the launch has the same results whatever the values are: its code
/// ignores them, as where it reads past a tile before it compares the index, or reduces in fewer lanes than a
/// warp has. Same precondition.
void Explorer::drop_unused_values(const ExploredRun& run, const Schedule* schedule, const Status& status,
                                  std::vector<Finding>& findings) {
  if (!run.obstacle.empty() || run.is_abandoned) return drop_shuffles(findings);
  for (const FindingKind kind : kinds_of_undefined) {
    const auto is_used = [&](std::uint32_t line) {
      return !std::ranges::all_of(fills, [&](std::byte fill) {
        return has_same_results(run, schedule, status, {.fill = fill, .of = kind, .line = line});
      });
    };
    const auto is_of_kind = [kind](const Finding& each) { return each.may_be_unused && each.kind == kind; };
    if (std::ranges::none_of(findings, is_of_kind)) continue;
    if (!is_used(0)) {
      std::erase_if(findings, is_of_kind);
    } else if (kind == FindingKind::inactive_source) {
      // Results that differ in each run, such as times, prove nothing.
      if (!has_same_results(run, schedule, status, {})) return drop_shuffles(findings);
      int judged = 0;
      std::erase_if(findings, [&](const Finding& each) {
        return is_of_kind(each) && (judged++ >= most_judged_shuffles || !is_used(each.place.line));
      });
    }
  }
}

/// Drops shuffles from inactive lanes: in many programs their values are not used, so they are reported only
/// if a repetition proves that results depend on them.
void Explorer::drop_shuffles(std::vector<Finding>& findings) {
  std::erase_if(findings, [](const Finding& each) { return each.kind == FindingKind::inactive_source; });
}

/// Runs the launch in another order and restores memory.
Explorer::Judged Explorer::judge(Schedule schedule) {
  Judged judged;
  const Schedule begun = schedule;
  WriteLog log(*launch_.memory);
  ExploredRun run{.schedule = &schedule, .log = &log, .most_segments = most_segments_};
  judged.checks.selection = checks_.selection;
  judged.status = launch_.run(run, judged.checks);
  log.exchange();
  drop_unused_values(run, &begun, judged.status, judged.checks.findings);
  judged.is_abandoned = run.is_abandoned;
  judged.deviations = schedule.deviations();
  const auto explains = [](const Finding& each) {
    return each.kind == FindingKind::endless_barrier || each.kind == FindingKind::failing_order ||
           check_of(each.kind) == "memory";
  };
  std::vector<Finding>& findings = judged.checks.findings;
  if (first_failed_)
    std::erase_if(findings, [](const Finding& each) { return each.kind == FindingKind::failing_order; });
  const bool is_failure = !judged.status && !launches_abandoned() && !first_failed_;
  if (is_failure && checks_.selection.sync && std::ranges::none_of(findings, explains)) {
    const Diagnostic& why = judged.status.error().diagnostics.front();
    Finding& made = findings.emplace_back();
    made.kind = FindingKind::failing_order;
    made.place.action = "the launch fails";
    made.place.has_thread = false;
    made.place.line = static_cast<std::uint32_t>(why.location.line);
    made.detail = "the launch does not fail in schedule 1: " + why.message;
    made.count = 1;
  }
  return judged;
}

bool Explorer::appears(const FaultKey& key, const std::vector<Deviation>& deviations) {
  --reductions_left_;
  const Judged judged = judge(Schedule(deviations));
  return std::ranges::any_of(judged.checks.findings,
                             [&](const Finding& each) { return key_of(each) == key; });
}

/// Removes deviations without which the fault still appears: kinds first, then ever smaller parts.
std::vector<Deviation> Explorer::reduce(const FaultKey& key, std::vector<Deviation> deviations) {
  reductions_left_ = most_reductions;
  const auto try_without = [&](const auto& is_removed) {
    std::vector<Deviation> fewer;
    for (std::size_t i = 0; i < deviations.size(); ++i) {
      if (!is_removed(i)) fewer.push_back(deviations[i]);
    }
    if (fewer.size() == deviations.size() || !appears(key, fewer)) return false;
    deviations = std::move(fewer);
    return true;
  };
  for (const ChoiceKind kind : {ChoiceKind::slice, ChoiceKind::side, ChoiceKind::rounds,
                                ChoiceKind::completion, ChoiceKind::rotation, ChoiceKind::delay})
    try_without([&](std::size_t i) { return deviations[i].kind == kind; });
  std::size_t part = (deviations.size() + 1) / 2;
  while (part != 0 && !deviations.empty() && reductions_left_ > 0 && !launches_abandoned()) {
    bool has_removed = false;
    for (std::size_t begin = 0; begin < deviations.size() && reductions_left_ > 0;) {
      if (try_without([&](std::size_t i) { return i - begin < part; })) {
        has_removed = true;
      } else {
        begin += part;
      }
    }
    if (part == 1 && !has_removed) break;
    part = part == 1 ? 1 : (part + 1) / 2;
  }
  return deviations;
}

void Explorer::keep(Finding& finding, const std::vector<Deviation>& deviations) {
  for (const Deviation& each : deviations) {
    if (finding.orders.deviations.size() == most_described) {
      finding.orders.deviations.push_back("and " + std::to_string(deviations.size() - most_described) +
                                          " more");
      return;
    }
    finding.orders.deviations.push_back(describe(each, launch_.shape));
  }
}

/// Precondition: memory is as before the launch.
void Explorer::explore_others(const Status& status) {
  first_failed_ = !status;
  std::string unfinished;
  for (const std::uint32_t seed : checks_.seeds) {
    if (seed == 1) continue;
    if (launches_abandoned()) return;
    Judged judged = judge(Schedule(seed));
    if (judged.is_abandoned) unfinished += (unfinished.empty() ? "" : ", ") + std::to_string(seed);
    deviations_[seed] = std::move(judged.deviations);
    add(seed, std::move(judged.checks.findings));
  }
  if (!unfinished.empty()) checks_.unexplored = "not run to the end: schedule " + unfinished;
  for (Finding& each : findings_) {
    const std::uint32_t seed = each.orders.seeds.front();
    const FaultKey key = key_of(each);
    if (seed != 1 && !launches_abandoned() && is_first_sight(launch_.name, key))
      keep(each, reduce(key, deviations_[seed]));
  }
}

Status Explorer::explore() {
  const Presence presence;
  WriteLog first(*launch_.memory);
  ExploredRun run{.log = &first};
  LaunchChecks own{.selection = checks_.selection};
  Status status = launch_.run(run, own);
  std::string obstacle = launch_.obstacle;
  if (obstacle.empty()) obstacle = run.obstacle;
  if (obstacle.empty() && first.may_signal_host()) obstacle = "the kernel may wait for the host or signal it";
  if (obstacle.empty() && !presence.was_alone()) obstacle = "another launch ran at the same time";
  const bool can_repeat = obstacle.empty() && !launches_abandoned();
  const bool orders_differ = explores(checks_);
  const bool repeats = can_repeat && (orders_differ || std::ranges::any_of(own.findings, may_be_unused));
  if (repeats) first.exchange();
  if (repeats) {
    drop_unused_values(run, nullptr, status, own.findings);
  } else {
    drop_shuffles(own.findings);
  }
  if (!orders_differ) {
    if (repeats) first.exchange();
    checks_.findings.insert(checks_.findings.end(), std::make_move_iterator(own.findings.begin()),
                            std::make_move_iterator(own.findings.end()));
    return status;
  }
  const bool judges_first = std::ranges::find(checks_.seeds, 1u) != checks_.seeds.end();
  if (judges_first || !obstacle.empty()) add(1, std::move(own.findings));
  if (repeats) {
    most_segments_ = most_work * run.segments + work_allowance;
    const std::vector<Finding> of_first = findings_;
    explore_others(status);
    first.exchange();
    if (!presence.was_alone()) {
      findings_ = of_first;
      judged_ = 1;
      obstacle = "another launch ran at the same time";
    }
  }
  if (!obstacle.empty()) checks_.unexplored = obstacle;
  for (Finding& each : findings_) each.orders.judged = judged_;
  checks_.findings.insert(checks_.findings.end(), std::make_move_iterator(findings_.begin()),
                          std::make_move_iterator(findings_.end()));
  return status;
}

std::string ordinal_turn(std::uint32_t occasion) { return std::to_string(occasion + 1); }

std::string rounds_text(std::uint32_t rounds) {
  return std::to_string(rounds) + (rounds == 1 ? " round" : " rounds");
}

}  // namespace

bool explores(const LaunchChecks& checks) {
  return std::ranges::any_of(checks.seeds, [](std::uint32_t seed) { return seed != 1; });
}

Status explore(const ExplorableLaunch& launch, LaunchChecks& checks) {
  return Explorer(launch, checks).explore();
}

std::string describe(const Deviation& deviation, const LaunchShape& shape) {
  const auto [block, warp] = std::pair(deviation.actor.block, deviation.actor.warp);
  const Dim3& grid = shape.grid;
  const std::string where = "block (" + std::to_string(block % grid.x) + ", " +
                            std::to_string(block / grid.x % grid.y) + ", " +
                            std::to_string(block / grid.x / grid.y) + ")";
  std::string who = "warp " + std::to_string(warp) + " of " + where;
  if (warp == Actor::whole_block) who = where;
  if (warp == Actor::whole_cluster) who = shape.cluster ? "the cluster of " + where : where;
  const std::string turn = ordinal_turn(deviation.occasion);
  const std::uint32_t chosen = deviation.alternative;
  switch (deviation.kind) {
    case ChoiceKind::rotation: {
      const std::uint32_t warps = (shape.block.x * shape.block.y * shape.block.z + warp_size - 1) / warp_size;
      return "the warps of " + where +
             (chosen == warps ? " run in reverse order"
                              : " run beginning with warp " + std::to_string(chosen));
    }
    case ChoiceKind::delay:
      return who + " waits for " + rounds_text(delay_rounds[chosen]) + " before its turn " + turn;
    case ChoiceKind::slice: {
      const std::uint32_t accesses = slice_accesses[chosen - 1];
      return who + " is preempted in its turn " + turn + " after " + std::to_string(accesses) +
             " atomic or volatile " + (accesses == 1 ? "access" : "accesses");
    }
    case ChoiceKind::rounds: return who + " is preempted in its turn " + turn;
    case ChoiceKind::side: return who + " runs the other side of its divergence " + turn + " first";
    case ChoiceKind::completion: {
      const std::uint32_t rounds = completion_rounds[chosen - 1];
      return "asynchronous operation " + turn + " of " + who + " takes effect " +
             (rounds == 0 ? "at once" : "after " + rounds_text(rounds));
    }
  }
  return who;
}

}  // namespace lynxpp::device::cpu
