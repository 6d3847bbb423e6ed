#include "lane_programs.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <vector>

namespace lynxpp::device::cpu::test {
namespace {

constexpr std::uint32_t lanes = 32;
constexpr std::uint32_t all_lanes = ~0u;

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

bool has(std::uint32_t mask, std::uint32_t lane) { return (mask >> lane & 1) != 0; }

std::string number(std::uint32_t value) { return std::to_string(value); }

/// One operation at which lanes synchronize. Its result is folded into the lane's value.
struct Meeting {
  std::string opcode;
  std::uint32_t members = 0;
  std::uint32_t arriving = 0;  ///< members that have not exited
  std::uint32_t number = 0;    ///< a lane, a distance, or a bit, depending on the opcode

  /// Returns the lane whose value `lane` reads.
  std::uint32_t partner(std::uint32_t lane) const {
    return arriving == all_lanes ? (lane + number) % lanes : number;
  }
};

/// An operation of a set of lanes, whichever path each of them takes to it.
struct Step {
  enum class Kind { meeting, repeat, partition, leave };
  Kind kind = Kind::meeting;
  Meeting meeting = {};
  std::uint32_t count = 0;             ///< repeat: times; partition, leave: the bit of `side` that decides
  std::vector<Step> steps = {};        ///< repeat; partition: for lanes whose bit is set
  std::vector<Step> other_steps = {};  ///< partition: for the other lanes
};

/// The next action of one lane.
struct Action {
  enum class Kind { compute, meeting, leave };
  Kind kind = Kind::compute;
  std::uint32_t factor = 0;
  std::uint32_t addend = 0;
  Meeting meeting = {};
};
using Actions = std::array<std::vector<Action>, lanes>;

/// Computes the lanes' results of a meeting from the values that they contribute.
LaneValues meet(const Meeting& meeting, const LaneValues& value) {
  const std::string& opcode = meeting.opcode;
  const auto contains = [&](const char* part) { return holds(opcode, part); };
  const auto votes = [&](std::uint32_t lane) { return (value[lane] >> meeting.number & 1) != 0; };
  LaneValues result = value;
  std::uint32_t ballot = 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if (has(meeting.arriving, lane) && votes(lane)) ballot |= 1u << lane;
  }
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if (!has(meeting.arriving, lane)) continue;
    std::uint32_t got = 0;
    std::uint32_t flag = 0;
    if (opcode.starts_with("shfl.sync.idx") || opcode.starts_with("bar")) {
      got = value[meeting.partner(lane)];
      flag = opcode.starts_with("shfl") ? 1 : 0;
    } else if (opcode.starts_with("shfl")) {
      const int own = static_cast<int>(lane);
      const int distance = static_cast<int>(meeting.number);
      const int source = contains("bfly") ? own ^ distance : contains("up") ? own - distance : own + distance;
      flag = source >= 0 && source < static_cast<int>(lanes) ? 1 : 0;
      got = value[flag != 0 ? static_cast<std::uint32_t>(source) : lane];
    } else if (opcode.starts_with("vote")) {
      const bool all = ballot == meeting.arriving;
      got = contains("ballot") ? ballot
            : contains("any")  ? ballot != 0
            : contains("all")  ? all
                               : all || ballot == 0;
    } else if (opcode.starts_with("match")) {
      for (std::uint32_t other = 0; other < lanes; ++other) {
        const bool same = (value[other] & 3) == (value[lane] & 3);
        if (has(meeting.arriving, other) && same) got |= 1u << other;
      }
      if (contains("all")) flag = got == meeting.arriving;
      if (contains("all") && flag == 0) got = 0;
    } else if (opcode.starts_with("elect")) {
      got = static_cast<std::uint32_t>(std::countr_zero(meeting.arriving));
      flag = got == lane;
    } else {
      got = value[lane];
      for (std::uint32_t other = 0; other < lanes; ++other) {
        if (!has(meeting.arriving, other) || other == lane) continue;
        const std::uint32_t its = value[other];
        const auto less = [&](std::uint32_t x, std::uint32_t y) {
          return contains("s32") ? static_cast<std::int32_t>(x) < static_cast<std::int32_t>(y) : x < y;
        };
        got = contains("add")   ? got + its
              : contains("min") ? (less(its, got) ? its : got)
              : contains("max") ? (less(got, its) ? its : got)
              : contains("xor") ? got ^ its
              : contains("and") ? got & its
                                : got | its;
      }
    }
    result[lane] = value[lane] * 31 + got * 2 + flag;
  }
  return result;
}

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  LaneProgram make() {
    LaneProgram program;
    for (std::uint32_t& side : side_) side = below(256);
    const std::vector<Step> steps = make_steps(all_lanes, 2 + below(3), 0, true);
    write(all_lanes, steps, 0, actions_);
    program.side = side_;
    program.text =
        ".visible .entry test(.param .u64 out, .param .u64 side) {\n"
        "  .reg .b32 %x, %t, %u, %s, %lane, %m;\n  .reg .b32 %c<8>;\n  .reg .b64 %a, %b;\n"
        "  .reg .pred %p, %q, %v, %g<8>;\n  .shared .align 4 .b8 memory[128];\n"
        "  mov.u32 %lane, %tid.x;\n  ld.param.u64 %a, [side];\n  mad.wide.u32 %a, %lane, 4, %a;\n"
        "  ld.global.u32 %s, [%a];\n  ld.param.u64 %a, [out];\n  mad.wide.u32 %a, %lane, 4, %a;\n"
        "  mul.lo.u32 %x, %lane, 2654435761;\n" +
        text_ + "  st.global.u32 [%a], %x;\n  ret;\n}\n";
    run(program);
    return program;
  }

 private:
  std::uint32_t below(std::uint32_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33) % limit;
  }

  std::uint32_t with_bit(std::uint32_t among, std::uint32_t bit) const {
    std::uint32_t mask = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      if (has(among, lane) && has(side_[lane], bit)) mask |= 1u << lane;
    }
    return mask;
  }

  // ---- operations of the lanes

  Meeting make_meeting(std::uint32_t members) {
    static const char* const opcodes[] = {
        "shfl.sync.idx.b32",    "shfl.sync.bfly.b32", "shfl.sync.up.b32",   "shfl.sync.down.b32",
        "vote.sync.ballot.b32", "vote.sync.any.pred", "vote.sync.all.pred", "vote.sync.uni.pred",
        "match.any.sync.b32",   "match.all.sync.b32", "redux.sync.add.u32", "redux.sync.min.s32",
        "redux.sync.max.u32",   "redux.sync.xor.b32", "redux.sync.and.b32", "redux.sync.or.b32",
        "elect.sync",           "bar.warp.sync",      "bar.warp.sync",      "shfl.sync.idx.b32"};
    Meeting meeting{opcodes[below(std::size(opcodes))], members, members & ~left_, 0};
    const bool by_distance = meeting.opcode.starts_with("shfl") && !holds(meeting.opcode, "idx");
    if (by_distance && meeting.arriving != all_lanes) meeting.opcode = "shfl.sync.idx.b32";
    do {
      meeting.number = below(lanes);
    } while (meeting.arriving != all_lanes && !has(meeting.arriving, meeting.number));
    return meeting;
  }

  std::vector<Step> make_steps(std::uint32_t members, std::uint32_t count, int depth, bool may_leave) {
    std::vector<Step> steps;
    for (std::uint32_t i = 0; i < count && (members & ~left_) != 0; ++i) {
      const std::uint32_t choice = below(10);
      if (choice == 0 && depth < 2) {
        steps.push_back({.kind = Step::Kind::repeat, .count = 2 + below(2)});
        steps.back().steps = make_steps(members, 1 + below(2), depth + 1, false);
      } else if (choice <= 2 && depth < 3) {
        const std::uint32_t bit = below(8);
        const std::uint32_t set = with_bit(members, bit);
        steps.push_back({.kind = Step::Kind::partition, .count = bit});
        steps.back().steps = make_steps(set, 1 + below(2), depth + 1, false);
        steps.back().other_steps = make_steps(members & ~set, 1 + below(2), depth + 1, false);
      } else if (choice == 3 && may_leave && left_ == 0) {
        steps.push_back({.kind = Step::Kind::leave, .count = below(8)});
        left_ = with_bit(all_lanes, steps.back().count);
      } else {
        steps.push_back({.meeting = make_meeting(members)});
      }
    }
    return steps;
  }

  // ---- paths to the operations

  void line(const std::string& code) { text_ += "  " + code + "\n"; }
  std::string label() { return "L" + number(labels_++); }

  void add(std::uint32_t who, const Action& action, Actions& actions) {
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      if (has(who, lane)) actions[lane].push_back(action);
    }
  }

  void compute(std::uint32_t who, Actions& actions) {
    const Action action{Action::Kind::compute, below(50) * 2 + 1, below(1000)};
    line("mad.lo.u32 %x, %x, " + number(action.factor) + ", " + number(action.addend) + ";");
    add(who, action, actions);
  }

  std::string bit_into(const std::string& predicate, std::uint32_t bit) {
    line("and.b32 %t, %s, " + number(1u << bit) + ";");
    line("setp.ne.u32 " + predicate + ", %t, 0;");
    return predicate;
  }

  /// Writes code of `steps` for the lanes `who`, which all reach it.
  void write(std::uint32_t who, const std::vector<Step>& steps, int depth, Actions& actions) {
    for (std::size_t i = 0; i < steps.size();) {
      if (below(2) == 0) compute(who, actions);
      if (depth < 2 && below(4) == 0) {
        const std::size_t end = i + 1 + below(static_cast<std::uint32_t>(steps.size() - i));
        write_branch(who, below(8),
                     {steps.begin() + static_cast<std::ptrdiff_t>(i),
                      steps.begin() + static_cast<std::ptrdiff_t>(end)},
                     nullptr, depth, actions);
        i = end;
        continue;
      }
      write_step(who, steps[i++], depth, actions);
    }
  }

  /// `other_steps`: null if both sides execute the same.
  void write_branch(std::uint32_t who, std::uint32_t bit, const std::vector<Step>& steps,
                    const std::vector<Step>* other_steps, int depth, Actions& actions) {
    const std::string other = label();
    const std::string end = label();
    line("@!" + bit_into("%p", bit) + " bra " + other + ";");
    const std::uint32_t set = with_bit(who, bit);
    write(set, steps, depth + 1, actions);
    if (below(2) == 0) compute(set, actions);
    line("bra " + end + ";");
    text_ += other + ":\n";
    write(who & ~set, other_steps == nullptr ? steps : *other_steps, depth + 1, actions);
    if (below(2) == 0) compute(who & ~set, actions);
    text_ += end + ":\n";
  }

  void write_step(std::uint32_t who, const Step& step, int depth, Actions& actions) {
    switch (step.kind) {
      case Step::Kind::meeting: return write_meeting(who, step.meeting, actions);
      case Step::Kind::partition:
        return write_branch(who, step.count, step.steps, &step.other_steps, depth, actions);
      case Step::Kind::leave: {
        bit_into("%p", step.count);
        line("@%p st.global.u32 [%a], %x;");
        line("@%p exit;");
        return add(with_bit(who, step.count), {.kind = Action::Kind::leave}, actions);
      }
      case Step::Kind::repeat: break;
    }
    if (below(2) == 0) {
      for (std::uint32_t i = 0; i < step.count; ++i) write(who, step.steps, depth + 1, actions);
      return;
    }
    const std::string counter = "%c" + number(static_cast<std::uint32_t>(depth));
    const std::string again = label();
    line("mov.u32 " + counter + ", 0;");
    text_ += again + ":\n";
    Actions once;
    write(who, step.steps, depth + 1, once);
    line("add.u32 " + counter + ", " + counter + ", 1;");
    line("setp.lt.u32 %p, " + counter + ", " + number(step.count) + ";");
    line("@%p bra " + again + ";");
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      for (std::uint32_t i = 0; i < step.count; ++i)
        actions[lane].insert(actions[lane].end(), once[lane].begin(), once[lane].end());
    }
  }

  void write_meeting(std::uint32_t who, const Meeting& meeting, Actions& actions) {
    add(who, {.kind = Action::Kind::meeting, .meeting = meeting}, actions);
    std::string members = number(meeting.members);
    if (below(2) == 0) {
      line("mov.b32 %m, " + members + ";");
      members = "%m";
    }
    line("mov.u32 %u, 0;");
    line("setp.ne.u32 %q, %u, 0;");
    if (below(4) != 0) {
      write_operation(meeting, members, "");
    } else {
      // Two instructions under opposite guards.
      const std::string guard = bit_into("%g0", below(8));
      write_operation(meeting, members, "@" + guard + " ");
      write_operation(meeting, members, "@!" + guard + " ");
    }
    line("selp.u32 %u, 1, 0, %q;");
    line("mad.lo.u32 %u, %t, 2, %u;");
    line("mad.lo.u32 %x, %x, 31, %u;");
  }

  /// Stores the results in %t and %q.
  void write_operation(const Meeting& meeting, const std::string& members, const std::string& guard) {
    const std::string& opcode = meeting.opcode;
    const bool shifts = meeting.arriving == all_lanes;
    const auto partner_into = [&](const std::string& reg) {
      line("add.u32 " + reg + ", %lane, " + number(meeting.number) + ";");
      if (!shifts) line("mov.u32 " + reg + ", " + number(meeting.number) + ";");
      line("and.b32 " + reg + ", " + reg + ", 31;");
    };
    const auto emit = [&](const std::string& operands) { line(guard + opcode + " " + operands + ";"); };
    if (opcode.starts_with("shfl.sync.idx")) {
      partner_into("%u");
      return emit("%t|%q, %x, %u, 31, " + members);
    }
    if (opcode.starts_with("shfl")) {
      const std::string bound = holds(opcode, "up") ? "0" : "31";
      return emit("%t|%q, %x, " + number(meeting.number) + ", " + bound + ", " + members);
    }
    if (opcode.starts_with("vote")) {
      line("and.b32 %u, %x, " + number(1u << meeting.number) + ";");
      line("setp.ne.u32 %v, %u, 0;");
      if (holds(opcode, "ballot")) return emit("%t, %v, " + members);
      emit("%v, %v, " + members);
      return line(guard + "selp.u32 %t, 1, 0, %v;");
    }
    if (opcode.starts_with("match")) {
      line("and.b32 %u, %x, 3;");
      return emit((holds(opcode, "all") ? "%t|%q, %u, " : "%t, %u, ") + members);
    }
    if (opcode.starts_with("elect")) return emit("%t|%q, " + members);
    if (opcode.starts_with("redux")) return emit("%t, %x, " + members);
    line("mov.u64 %b, memory;");
    line("mad.wide.u32 %b, %lane, 4, %b;");
    line(guard + "st.shared.u32 [%b], %x;");
    emit(members);
    partner_into("%u");
    line("mov.u64 %b, memory;");
    line("mad.wide.u32 %b, %u, 4, %b;");
    line(guard + "ld.shared.u32 %t, [%b];");
    emit(members);
  }

  // ---- expected results

  void run(LaneProgram& program) const {
    LaneValues value;
    std::array<std::size_t, lanes> next{};
    for (std::uint32_t lane = 0; lane < lanes; ++lane) value[lane] = lane * 2654435761u;
    for (bool progress = true; progress;) {
      progress = false;
      const Meeting* met = nullptr;
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const std::vector<Action>& actions = actions_[lane];
        while (next[lane] < actions.size() && actions[next[lane]].kind == Action::Kind::compute) {
          const Action& action = actions[next[lane]++];
          value[lane] = value[lane] * action.factor + action.addend;
        }
        if (next[lane] < actions.size() && actions[next[lane]].kind == Action::Kind::leave)
          next[lane] = actions.size();
      }
      for (std::uint32_t lane = 0; lane < lanes && met == nullptr; ++lane) {
        if (next[lane] >= actions_[lane].size()) continue;
        const Meeting& meeting = actions_[lane][next[lane]].meeting;
        bool complete = true;
        for (std::uint32_t other = 0; other < lanes; ++other) {
          if (!has(meeting.arriving, other)) continue;
          complete &= next[other] < actions_[other].size() &&
                      actions_[other][next[other]].meeting.members == meeting.members;
        }
        if (complete) met = &meeting;
      }
      if (met == nullptr) continue;
      value = meet(*met, value);
      for (std::uint32_t lane = 0; lane < lanes; ++lane) next[lane] += has(met->arriving, lane) ? 1 : 0;
      ++program.meetings;
      progress = true;
    }
    program.expected = value;
  }

  std::uint64_t state_;
  LaneValues side_{};
  std::uint32_t left_ = 0;  ///< lanes that have exited before the code being generated runs
  std::uint32_t labels_ = 0;
  std::string text_;
  Actions actions_;
};

}  // namespace

LaneProgram random_lane_program(std::uint32_t seed) { return Generator(seed).make(); }

}  // namespace lynxpp::device::cpu::test
