// Builds the statements of one function, and their PTX.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "machine.h"
#include "operations.h"

namespace lynxpp::random_ptx {

class Random {
 public:
  explicit Random(std::uint32_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 32);
  }
  std::uint32_t below(std::size_t bound) { return static_cast<std::uint32_t>(next() % bound); }
  bool chance(std::uint32_t in) { return below(in) == 0; }

 private:
  std::uint64_t state_;
};

class Builder {
 public:
  Builder(Random& random, std::uint32_t threads, std::uint32_t trips)
      : random_(random), threads_(threads), trips_(trips) {}

  /// Allows statements that are valid only in kernels: memory, exchanges with other threads, exits, calls.
  void allow_kernel_statements(const std::vector<Function>& functions, bool by_memory);
  /// Declares registers of each type.
  void begin(std::span<const std::pair<char, std::size_t>> sizes);
  void load_inputs();
  void zero_all(const std::vector<Register>& except);
  /// Appends up to `count` random statements at the given nesting depth.
  void statements(std::uint32_t count, int depth);
  std::string store_outputs(std::size_t& words);

  Register pick(char type);
  std::string declarations() const { return declarations_; }
  std::string prologue(std::size_t words) const;
  const std::string& text() const { return text_; }
  std::shared_ptr<Statements> finish() { return std::make_shared<Statements>(std::move(*into_)); }
  std::size_t register_count() const { return registers_; }
  const std::vector<std::size_t>& outputs() const { return outputs_; }

 private:
  using Pools = std::map<char, std::vector<Register>>;

  Register declare(char type, const std::string& name);
  Register control_register(char type);
  Statement& append(Statement statement);
  std::optional<Guard> maybe_guard(std::uint32_t in);
  static std::string text_of(const std::optional<Guard>& guard);
  std::shared_ptr<Statements> nested(std::uint32_t count, int depth);

  void add_operation(const Operation& operation, bool may_be_guarded);
  void add_random_operation();
  void add_chain();
  void add_branch(int depth);
  void add_lane_branch(int depth);
  void add_loop(int depth);
  void add_scope(int depth);
  void add_call();
  void add_exit();
  void add_load();
  void add_store();
  void add_private_atomic();
  void add_sum();
  void add_warp_exchange();
  void add_block_exchange();
  void add_shuffle(Mask members);
  void add_vote(Mask members);
  void add_reduction(Mask members);
  bool add_kernel_statement(int depth);

  Random& random_;
  const std::uint32_t threads_;
  const std::uint32_t trips_;
  const std::vector<Function>* functions_ = nullptr;
  bool by_memory_ = false;  ///< functions take their parameters in memory
  bool is_kernel_ = false;
  Pools pools_;
  std::size_t registers_ = 0;
  std::uint32_t labels_ = 0;
  std::uint32_t controls_ = 0;
  std::string declarations_;
  std::string text_;
  std::unique_ptr<Statements> top_ = std::make_unique<Statements>();
  Statements* into_ = top_.get();
  std::optional<Mask> together_;  ///< lanes of every warp that execute this, if known
  bool has_exits_ = false;
  std::string leave_label_;  ///< of the innermost loop; empty outside loops
  std::vector<std::size_t> outputs_;
};

}  // namespace lynxpp::random_ptx
