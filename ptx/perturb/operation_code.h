// The code of each class of operations: one file per class.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ptx/ir/module.h"
#include "ptx/perturb/additions.h"

namespace lynxpp::ptx {

/// The result of OperationCode::add().
struct Outcome {
  bool is_perturbed = true;
  std::string note;  ///< PerturbedSite::note
};

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

std::unique_ptr<OperationCode> shared_access_code();
std::unique_ptr<OperationCode> global_access_code();
std::unique_ptr<OperationCode> atomic_code();
/// `is_everywhere`: every barrier of the kernel is selected.
std::unique_ptr<OperationCode> barrier_code(bool is_everywhere);
std::unique_ptr<OperationCode> async_copy_code();
std::unique_ptr<OperationCode> branch_code();
std::unique_ptr<OperationCode> fp32_code();
std::unique_ptr<OperationCode> fp64_code();
std::unique_ptr<OperationCode> integer_code();
std::unique_ptr<OperationCode> special_function_code();
std::unique_ptr<OperationCode> tensor_code();
std::unique_ptr<OperationCode> fetch_code();
std::unique_ptr<OperationCode> local_memory_code();

}  // namespace lynxpp::ptx
