// A reference machine for random PTX programs: executes statements in lockstep on host arithmetic.
//
// A statement defines both its effect here and its spelling in PTX. Registers are 64-bit words for every PTX
// type; the spelling determines the number of significant bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lynxpp::random_ptx {

using Word = std::uint64_t;
using Mask = std::uint32_t;

inline constexpr std::uint32_t lanes_of_warp = 32;
inline constexpr std::size_t private_bytes = 64;  ///< per thread, in each of the three spaces

/// A PTX register. Two registers may have the same name: the inner scope's hides the outer one's.
struct Register {
  char type = 'r';  ///< p: predicate, h: 16 bits, r: 32, d: 64, f: f32, g: f64, x: f16, y: f16x2
  std::size_t index = 0;
  std::string name;
};

enum class Space { local, shared, global };

struct Thread {
  std::vector<Word> registers;  ///< of the current function
  bool carry = false;
  std::array<std::array<std::uint8_t, private_bytes>, 3> memory{};  ///< by Space
  Word offered = 0;                                                 ///< visible to other threads of the block
  std::uint32_t number = 0;                                         ///< index in the block
  const Word* input = nullptr;
  std::vector<Word>* sums = nullptr;  ///< accumulators that all threads add to
};

struct Warp {
  std::array<Thread, lanes_of_warp> lanes;
  Mask alive = 0;
};

struct Block {
  std::vector<Warp> warps;
  std::uint32_t threads = 0;
  std::vector<Word> sums;
};

struct Guard {
  Register predicate;
  bool negated = false;
};

struct Statement;
using Statements = std::vector<Statement>;

/// A device function; its parameters are its first registers.
struct Function {
  std::string name;
  std::size_t registers = 0;
  std::vector<Register> parameters;
  Register result;
  std::shared_ptr<Statements> body;
};

struct Statement {
  enum class Kind {
    lane,      ///< `lane` for each lane whose guard holds
    warp,      ///< `warp` for all active lanes together
    block,     ///< `block` for all threads of the block; top level only
    branch,    ///< `body` if the guard holds, otherwise `other`
    loop,      ///< `body`, then again while ++counter < trips
    leave,     ///< lanes whose guard holds leave the innermost loop
    exit,      ///< lanes whose guard holds exit
    call,      ///< calls `function`
    sequence,  ///< `body`, in a scope of its own
  };
  Kind kind = Kind::lane;
  std::optional<Guard> guard = {};
  std::function<void(Thread&)> lane = {};
  std::function<void(Warp&, Mask)> warp = {};
  std::function<void(Block&)> block = {};
  std::shared_ptr<Statements> body = {};
  std::shared_ptr<Statements> other = {};
  Register counter = {}, trips = {};
  const Function* function = nullptr;
  std::vector<Register> arguments = {};
  Register result = {};
};

/// Executes the statements of a kernel for all threads of a block.
void execute(const Statements& statements, Block& block);

}  // namespace lynxpp::random_ptx
