// PTX instructions of one thread, each with its result in host arithmetic.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "machine.h"

namespace lynxpp::random_ptx {

struct Operation {
  std::string text;          ///< "add.u32 $0, $1, $2;", or several instructions in a scope of their own
  std::string destinations;  ///< types of registers, as Register::type
  std::string sources;
  std::function<void(const Word* in, Word* out, bool& carry)> apply;
  bool reads_carry = false;
  bool writes_carry = false;
  bool takes_immediate = false;  ///< as its last source, which is an integer
  bool compiles_guarded = true;  ///< ptxas preserves the destination of lanes whose guard does not hold

  bool may_be_guarded() const { return compiles_guarded && text.front() != '{'; }
};

std::vector<Operation> integer_operations();
std::vector<Operation> bit_operations();
std::vector<Operation> float_operations();
std::vector<Operation> predicate_operations();
/// Returns operations that read or write the carry flag; no others affect it.
std::vector<Operation> carry_operations();

}  // namespace lynxpp::random_ptx
