// Random handlers that query lanes under conditions, in loops and after jumps, and the expected results for
// each lane: all lanes execute the statements in lockstep.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace lynxpp::cod {

class RandomLanes {
 public:
  explicit RandomLanes(std::uint64_t seed);

  /// A specification with the handler at global stores, where thread t stores to element t of an array that
  /// begins at a sector boundary. hashes[t] receives the results of lane queries; elected[…] and added[…]
  /// count executions of statements. These are the first three arrays.
  std::string text() const;

  struct Expected {
    std::vector<std::uint64_t> hashes;
    std::vector<std::uint64_t> elected;
    std::vector<std::uint64_t> added;
  };
  /// Expected results for thread blocks of this many threads in a row. `executions` returns the lanes of a
  /// warp at each execution of the stores, in order, from the existing lanes and the index of its first
  /// thread in the block.
  using Executions = std::vector<std::uint32_t> (*)(std::uint32_t exist, std::uint32_t first);
  Expected expected(std::uint32_t blocks, std::uint32_t threads, Executions executions) const;

 private:
  enum class Kind : std::uint8_t {
    // numbers
    variable,
    lane,
    mask,
    count,
    least,
    ballot,
    sum,
    greatest,
    smallest,
    any,
    all,
    divergent,
    unique,
    unique_halves,
    sectors,
    choice,
    helper,
    // conditions
    bits,
    lanes_modulo,
    both,
    either,
    negation,
    crowded,
    any_of,
    uniform,
    // statements
    hash,
    change,
    if_else,
    for_loop,
    while_loop,
    do_loop,
    cases,
    breaks,
    continues,
    returns,
    elect,
    add,
    list,
  };
  struct Node {
    Kind kind = Kind::list;
    std::uint32_t a = 0, b = 0;
    std::vector<Node> parts;
  };
  using Values = std::array<std::uint64_t, 32>;
  /// The variables of a handler or a helper, by lane, and the lanes that have jumped.
  struct Frame {
    Values v{}, h{};
    std::uint32_t broke = 0, continued = 0, returned = 0;
  };
  struct Machine {
    Expected result;
    std::uint32_t block = 0;
    std::uint64_t first_thread = 0;
  };

  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(engine_() % end); }
  Node number(int depth);
  Node condition(int depth);
  Node statement(int depth, bool in_loop, bool in_switch);
  Node statements(int depth, bool in_loop, bool in_switch);
  Node cases(int depth, bool in_loop);

  std::string print(const Node& node, bool in_helper) const;
  std::string print_cases(const Node& node, bool in_helper) const;

  std::uint64_t value(const Node& node, std::uint32_t mask, std::uint32_t lane, const Values& inner,
                      const Frame& frame, const Machine& machine) const;
  Values evaluate(const Node& node, std::uint32_t mask, Frame& frame, Machine& machine) const;
  Values call(const Node& node, std::uint32_t mask, const Values& argument, Machine& machine) const;
  std::uint32_t holds(const Node& node, std::uint32_t mask, Frame& frame, Machine& machine) const;
  /// Returns the lanes that reach the code after the node.
  std::uint32_t run(const Node& node, std::uint32_t mask, Frame& frame, Machine& machine) const;
  std::uint32_t run_loop(const Node& node, std::uint32_t mask, Frame& frame, Machine& machine) const;
  std::uint32_t run_cases(const Node& node, std::uint32_t mask, Frame& frame, Machine& machine) const;

  std::mt19937_64 engine_;
  std::uint32_t loops_ = 0, places_ = 0;
  std::vector<Node> helpers_;
  Node body_;
};

}  // namespace lynxpp::cod
