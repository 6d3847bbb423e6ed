// The code of each class of operations: one file per class.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptx/ir/module.h"
#include "ptx/perturb/additions.h"

namespace lynxpp::ptx {

/// The result of OperationCode::add().
struct Outcome {
  bool is_perturbed = true;
  std::string note;  ///< PerturbedSite::note
};

/// The outcome where the program's operation does not wait for the added one.
inline Outcome independent() { return {true, "an independent operation"}; }

inline Outcome left_out(std::string why) { return {false, std::move(why)}; }

class OperationCode {
 public:
  OperationCode() = default;
  OperationCode(const OperationCode&) = delete;
  OperationCode& operator=(const OperationCode&) = delete;
  virtual ~OperationCode() = default;

  /// True if the instruction, of the function, is of the class.
  virtual bool selects(const FunctionUnit& function, const Instruction& instruction) const = 0;
  /// Builds the code before Additions::site(). If the site is left out, the caller discards it.
  virtual Outcome add(Additions& additions) = 0;
};

/// Returns null unless the operation is a class.
std::unique_ptr<OperationCode> code_of(const Perturbation& perturbation);

std::unique_ptr<OperationCode> shared_access_code();
std::unique_ptr<OperationCode> global_access_code();
std::unique_ptr<OperationCode> atomic_code();
/// `is_everywhere`: every barrier of the kernel is selected. With `timed_by`, a predicate that holds in all
/// threads, the code after the added barrier is issued when all threads have arrived.
std::unique_ptr<OperationCode> barrier_code(bool is_everywhere, std::optional<VirtualRegister> timed_by = {});
std::unique_ptr<OperationCode> async_copy_code();
std::unique_ptr<OperationCode> branch_code();
/// `is_waited_for` false: the program never waits for what is added.
std::unique_ptr<OperationCode> fp32_code(bool is_waited_for = true);
std::unique_ptr<OperationCode> fp64_code(bool is_waited_for = true);
std::unique_ptr<OperationCode> integer_code(bool is_waited_for = true);
std::unique_ptr<OperationCode> integer_division_code();
std::unique_ptr<OperationCode> special_function_code();
std::unique_ptr<OperationCode> tensor_code();
std::unique_ptr<OperationCode> fetch_code();
std::unique_ptr<OperationCode> local_memory_code();
std::unique_ptr<OperationCode> reuse_code();
std::unique_ptr<OperationCode> arithmetic_code();

/// Adds the code of Operation::lanes to the kernel.
void count_lanes(Additions& additions);
/// Adds the code of Operation::waits. Appends each wait, and why it is left out if it is.
void time_waits(Additions& additions, std::vector<PerturbedSite>& sites);

/// Adds the code of Operation::bytes. Appends each access, and why it is left out if it is.
void mark_bytes(Additions& additions, std::vector<PerturbedSite>& sites);

/// Changes the kernel's plain loads of global memory to ld.global.nc. The caller guarantees that nothing
/// writes what the kernel reads while it runs.
void use_read_only_loads(InstrumentationUnit& unit, std::vector<PerturbedSite>& sites);

PerturbedSite describe(const Module& module, const Instruction& instruction, Outcome outcome);

}  // namespace lynxpp::ptx
