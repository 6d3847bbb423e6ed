// Where handlers would stand in a kernel, without instrumenting it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Fills unit.reached.transfers of the functions that are reached, for specifications that ask for them.
void find_transfers(ptx::InstrumentationUnit& unit);

/// What an instruction of the unit answers to, transfers included.
cod::LabelSets labels_of(const ptx::InstrumentationUnit& unit, const ptx::Instruction& instruction);

/// Whether a handler with this filter stands at `instruction` of the unit.
bool chooses(const cod::InstructionFilter& filter, const ptx::InstrumentationUnit& unit,
             const ptx::Instruction& instruction);

struct Place {
  std::string function;     ///< mangled
  std::uint32_t block = 0;  ///< basicBlockId()
  std::uint32_t line = 0;   ///< in the PTX
  std::string file;         ///< of the source; empty: not known
  std::uint32_t source_line = 0;
  std::string instruction;  ///< the text the handler stands at; empty where there is none
};

struct HandlerPlaces {
  std::uint32_t handler = 0;  ///< of Specification::handlers()
  std::vector<Place> places;
  std::string hint;  ///< when there are none: why, and what would match
};

/// One entry for each handler, in order. `module` is parsed where it is needed. Failure: no such kernel, or
/// PTX that does not parse.
Result<std::vector<HandlerPlaces>> find_places(ptx::Module& module, const std::string& kernel,
                                               const cod::Specification& specification);

}  // namespace lynxpp::engine
