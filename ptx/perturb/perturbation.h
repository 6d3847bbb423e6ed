// A perturbation: what a variant of a kernel does in addition, to learn what a class of operations costs.
//
//   again      every selected operation is repeated with the same pattern: the same banks, an equal number of
//              sectors, the same number of lanes per address
//   harmless   the same code is added, but the operation has the cheapest pattern: no bank conflicts, one
//              line, an address of the lane's own; for arithmetic and barriers only the code around the
//              operations is added
//
// In the class `reuse`, a load of global memory is repeated at the same address; the harmless form only has
// the code around it.
//
// The kernel's results stay bit-identical. The difference of both variants' times is an upper bound of what
// removing the pattern can gain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace lynxpp::ptx {

enum class Operation : std::uint8_t {
#define PTX_OPERATION(id, name, summary) id,
#include "ptx/perturb/operations.def"
};

enum class Form : std::uint8_t { again, harmless };

struct Perturbation {
  Operation operation = Operation::shared_access;
  Form form = Form::again;
  /// Lines of the module's PTX text whose operations are selected, in ascending order; empty: all.
  std::vector<std::uint32_t> lines;

  bool operator==(const Perturbation&) const = default;
};

struct OperationDescription {
  Operation operation;
  std::string_view name;  ///< "shared-access"
  std::string_view summary;
};

/// In the order of operations.def.
std::span<const OperationDescription> operation_table();

/// True if the operation is a class whose instructions can be repeated.
bool is_class(Operation operation);
/// True for classes with the form `harmless`.
bool has_harmless(Operation operation);
/// True for classes whose cost depends on the addresses that they access: their `harmless` form is an access.
bool has_pattern(Operation operation);
/// True if a variant for the operation differs from the kernel's text.
bool adds_code(Operation operation);
/// True if the variant may be faster than the kernel, and a change of the program can do the same.
bool is_remedy(Operation operation);
/// True if the variant counts (result_words): its times are of no interest.
bool counts(Operation operation);

/// 64-bit words that a variant that counts adds to the buffer of HiddenSlot::Kind::results, which is zeroed:
/// two for each operation, in the order of operations.def.
///   lanes   threads that executed operations of the class, and lanes of the warps that issued them; `fetch`:
///           of all instructions
///   waits   cycles that threads wait for the operation (barrier, async_copy), and their cycles in all
/// Operation::bytes marks bytes in two maps instead (memory_regions.h).
inline constexpr std::size_t result_words = 2 * (0
#define PTX_OPERATION(id, name, summary) +1
#include "ptx/perturb/operations.def"
                                                );

/// Returns "shared-access:again", or "shared-access:again@120+131" for two lines.
std::string to_text(const Perturbation& perturbation);

/// The inverse of to_text(); sorts the lines. Fails if the operation or the form is unknown, the operation
/// lacks the form (only classes have `harmless` and lines), or a line is not a positive number.
Result<Perturbation> parse_perturbation(std::string_view text);

/// An instruction that a perturbation selects.
struct PerturbedSite {
  std::uint32_t ptx_line = 0;  ///< in the module's PTX text, from 1
  std::string file;            ///< source file; empty if unknown
  std::uint32_t line = 0;      ///< source line; 0 if unknown
  std::string opcode;          ///< with all modifiers
  /// False if nothing is added at the instruction, for the reason in `note`.
  bool is_perturbed = true;
  std::string note;  ///< empty, or how the added operation differs from the instruction
};

}  // namespace lynxpp::ptx
