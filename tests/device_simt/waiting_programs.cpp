#include "waiting_programs.h"

namespace lynxpp::device::cpu::test {
namespace {

constexpr std::uint32_t lanes = 32;
// Offsets of the kinds of words, 4 each.
constexpr std::uint32_t locks = 0;
constexpr std::uint32_t sums = 4;
constexpr std::uint32_t turns = 8;
constexpr std::uint32_t passed_on = 12;

std::string number(std::uint32_t value) { return std::to_string(value); }

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 99) {}

  WaitingProgram make() {
    program_.expected_words.assign(waiting_words, 0);
    for (std::uint32_t i = 0; i < waiting_threads; ++i) program_.in.push_back(below(1u << 30));
    value_ = program_.in;
    const std::uint32_t phases = 3 + below(2);
    for (std::uint32_t i = 0; i < phases; ++i) write_phase();
    program_.text =
        ".visible .entry test(.param .u64 out, .param .u64 in, .param .u64 words) {\n"
        "  .reg .b32 %x, %t, %u, %h, %i, %n, %lane, %own;\n  .reg .b64 %a, %w, %b;\n"
        "  .reg .pred %p, %q, %v;\n  mov.u32 %own, %tid.x;\n  and.b32 %lane, %own, 31;\n"
        "  ld.param.u64 %w, [words];\n  ld.param.u64 %a, [in];\n  mad.wide.u32 %a, %own, 4, %a;\n"
        "  ld.global.u32 %h, [%a];\n  mov.u32 %x, %h;\n" +
        text_ +
        "  ld.param.u64 %a, [out];\n  mad.wide.u32 %a, %own, 4, %a;\n  st.global.u32 [%a], %x;\n  ret;\n}\n";
    program_.expected = value_;
    return std::move(program_);
  }

 private:
  std::uint32_t below(std::uint32_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33) % limit;
  }
  std::uint32_t odd() { return below(500) * 2 + 1; }

  void line(const std::string& code) { text_ += "  " + code + "\n"; }
  void place(const std::string& label) { text_ += label + ":\n"; }
  std::string label() { return "L" + number(labels_++); }
  std::uint32_t bits(std::uint32_t thread, std::uint32_t shift, std::uint32_t mask) const {
    return program_.in[thread] >> shift & mask;
  }
  void bits_into(const std::string& reg, std::uint32_t shift, std::uint32_t mask) {
    line("shr.u32 " + reg + ", %h, " + number(shift) + ";");
    line("and.b32 " + reg + ", " + reg + ", " + number(mask) + ";");
  }

  void write_phase() {
    switch (below(has_turns_ ? 4 : 5)) {
      case 0: return write_loop(all_threads());
      case 1: return write_lock();
      case 2: return write_sides();
      case 3: return write_voted_loop();
      default: return write_turns();
    }
  }

  static std::vector<std::uint32_t> all_threads() {
    std::vector<std::uint32_t> threads;
    for (std::uint32_t i = 0; i < waiting_threads; ++i) threads.push_back(i);
    return threads;
  }

  /// Lanes exit it at different times and diverge within it.
  void write_loop(const std::vector<std::uint32_t>& who) {
    const std::uint32_t shift = below(20);
    const std::uint32_t factor = odd();
    const std::uint32_t addend = below(1000);
    const std::uint32_t pattern = below(1u << 20);
    const std::string again = label();
    const std::string behind = label();
    bits_into("%n", shift, 15);
    line("mov.u32 %i, 0;");
    place(again);
    line("mad.lo.u32 %x, %x, " + number(factor) + ", " + number(addend) + ";");
    line("and.b32 %t, %x, 64;");
    line("setp.eq.u32 %p, %t, 0;");
    line("@%p bra " + behind + ";");
    line("xor.b32 %x, %x, " + number(pattern) + ";");
    place(behind);
    line("add.u32 %i, %i, 1;");
    line("setp.le.u32 %p, %i, %n;");
    line("@%p bra " + again + ";");
    for (const std::uint32_t thread : who) {
      for (std::uint32_t i = 0; i <= bits(thread, shift, 15); ++i) {
        value_[thread] = value_[thread] * factor + addend;
        if ((value_[thread] & 64) != 0) value_[thread] ^= pattern;
      }
    }
  }

  /// Threads add to one of four sums under its lock.
  void write_lock() {
    const std::uint32_t shift = below(20);
    const std::string again = label();
    bits_into("%n", shift, 3);
    line("mad.wide.u32 %b, %n, 4, %w;");
    place(again);
    line("atom.global.cas.b32 %t, [%b+" + number(locks * 4) + "], 0, 1;");
    line("setp.ne.u32 %p, %t, 0;");
    line("@%p bra " + again + ";");
    const std::string sum = "[%b+" + number(sums * 4) + "]";
    line("ld.volatile.global.u32 %u, " + sum + ";");
    line("add.u32 %u, %u, %x;");
    line("st.volatile.global.u32 " + sum + ", %u;");
    line("membar.gl;");
    line("atom.global.exch.b32 %t, [%b+" + number(locks * 4) + "], 0;");
    line("bar.sync 0;");
    line("ld.volatile.global.u32 %u, " + sum + ";");
    line("bar.sync 0;");
    line("mad.lo.u32 %x, %x, 31, %u;");
    std::vector<std::uint32_t>& words = program_.expected_words;
    for (std::uint32_t i = 0; i < waiting_threads; ++i) words[sums + bits(i, shift, 3)] += value_[i];
    for (std::uint32_t i = 0; i < waiting_threads; ++i)
      value_[i] = value_[i] * 31 + words[sums + bits(i, shift, 3)];
  }

  /// Each thread waits for its turn, possibly for a lane of its own warp, in any order.
  void write_turns() {
    has_turns_ = true;
    const std::uint32_t order = below(waiting_threads);
    const std::string again = label();
    const std::string turn = "[%w+" + number(turns * 4) + "]";
    const std::string passed = "[%w+" + number(passed_on * 4) + "]";
    line("xor.b32 %n, %own, " + number(order) + ";");
    place(again);
    line("ld.volatile.global.u32 %t, " + turn + ";");
    line("setp.ne.u32 %p, %t, %n;");
    line("@%p bra " + again + ";");
    line("ld.volatile.global.u32 %u, " + passed + ";");
    line("mad.lo.u32 %u, %u, 5, %x;");
    line("st.volatile.global.u32 " + passed + ", %u;");
    line("membar.gl;");
    line("add.u32 %t, %n, 1;");
    line("st.volatile.global.u32 " + turn + ", %t;");
    line("add.u32 %x, %x, %u;");
    std::uint32_t& last = program_.expected_words[passed_on];
    for (std::uint32_t i = 0; i < waiting_threads; ++i) {
      std::uint32_t& value = value_[i ^ order];
      last = last * 5 + value;
      value += last;
    }
    program_.expected_words[turns] = waiting_threads;
  }

  std::vector<std::uint32_t> with_bit(std::uint32_t shift, std::uint32_t bit) const {
    std::vector<std::uint32_t> threads;
    for (std::uint32_t i = 0; i < waiting_threads; ++i) {
      if (bits(i, shift, 1) == bit) threads.push_back(i);
    }
    return threads;
  }

  /// Lanes exchange values from both sides of a branch, each preceded by a loop.
  void write_sides() {
    const std::uint32_t shift = below(25);
    const std::uint32_t distance = below(lanes);
    const std::uint32_t bit = below(lanes);
    const std::string other = label();
    const std::string join = label();
    bits_into("%n", shift, 1);
    line("setp.ne.u32 %q, %n, 0;");
    line("@%q bra " + other + ";");
    for (const std::uint32_t side : {0u, 1u}) {
      if (side == 1) place(other);
      write_loop(with_bit(shift, side));
      line("add.u32 %u, %lane, " + number(distance) + ";");
      line("and.b32 %u, %u, 31;");
      line("shfl.sync.idx.b32 %t, %x, %u, 31, -1;");
      line("and.b32 %u, %x, " + number(1u << bit) + ";");
      line("setp.ne.u32 %v, %u, 0;");
      line("vote.sync.ballot.b32 %u, %v, -1;");
      line("mad.lo.u32 %x, %x, 31, %t;");
      line("add.u32 %x, %x, %u;");
      if (side == 0) line("bra " + join + ";");
    }
    place(join);
    const std::vector<std::uint32_t> before = value_;
    for (std::uint32_t i = 0; i < waiting_threads; ++i) {
      const std::uint32_t warp = i / lanes * lanes;
      std::uint32_t ballot = 0;
      for (std::uint32_t lane = 0; lane < lanes; ++lane) ballot |= (before[warp + lane] >> bit & 1) << lane;
      value_[i] = before[i] * 31 + before[warp + (i + distance) % lanes] + ballot;
    }
  }

  /// Loops while any lane of the warp wants to continue; the other lanes skip the body.
  void write_voted_loop() {
    const std::uint32_t factor = odd();
    const std::uint32_t addend = below(1000);
    const std::uint32_t wanted = 1 + below(7);
    const std::string again = label();
    const std::string around = label();
    line("mov.u32 %i, 0;");
    place(again);
    line("and.b32 %t, %x, " + number(wanted << 8) + ";");
    line("setp.ne.u32 %q, %t, 0;");
    line("setp.lt.and.u32 %q, %i, 40, %q;");
    line("add.u32 %i, %i, 1;");
    line("@!%q bra " + around + ";");
    line("mad.lo.u32 %x, %x, " + number(factor) + ", " + number(addend) + ";");
    place(around);
    line("vote.sync.any.pred %v, %q, -1;");
    line("@%v bra " + again + ";");
    for (std::uint32_t warp = 0; warp < waiting_threads; warp += lanes) {
      bool any = true;
      for (std::uint32_t round = 0; any; ++round) {
        any = false;
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
          std::uint32_t& value = value_[warp + lane];
          if ((value & wanted << 8) == 0 || round >= 40) continue;
          any = true;
          value = value * factor + addend;
        }
      }
    }
  }

  std::uint64_t state_;
  WaitingProgram program_;
  std::vector<std::uint32_t> value_;
  bool has_turns_ = false;
  std::uint32_t labels_ = 0;
  std::string text_;
};

}  // namespace

WaitingProgram random_waiting_program(std::uint32_t seed) { return Generator(seed).make(); }

}  // namespace lynxpp::device::cpu::test
