// Instructions computed in C++ for all lanes of a warp: matrices, barrier objects, asynchronous
// copies, packed and video arithmetic, and others with more operands than a lane operation takes.
//
// An operation is created once per instruction of a kernel from its opcode and the shape of its operands.
// Creation fails with a reason if the form is unknown. Values have 64 bits per lane: registers are
// zero-extended, predicates are 0 or 1.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/counters/counters.h"
#include "device/cpu/simt/operations/operation_counts.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

/// One value per lane.
using Lanes = std::array<std::uint64_t, warp_size>;

/// The parts of an opcode after its root, consumed from the front.
class OpcodeWords {
 public:
  explicit OpcodeWords(std::string_view opcode);
  std::string_view root() const { return root_; }
  bool take(std::string_view word);
  /// Consumes and returns the next word if it is in `words`; otherwise returns an empty string.
  std::string_view take_of(std::initializer_list<std::string_view> words);
  /// Consumes and returns the next word; empty at the end.
  std::string_view take_any();
  /// Returns the next word; empty at the end.
  std::string_view front() const { return next_ < words_.size() ? words_[next_] : std::string_view(); }

 private:
  std::string_view root_;
  std::vector<std::string_view> words_;
  std::size_t next_ = 0;
};

/// Source of one input value of an operation.
struct SourceSlot {
  /// object: the handle of a texture or surface, which precedes the coordinates of an address. descriptor: a
  /// register with a matrix descriptor. tensor: an address in tensor memory.
  enum class Kind { reg, predicate, address, object, descriptor, tensor, constant } kind = Kind::reg;
  unsigned bits = 0;               ///< reg
  bool negated = false;            ///< reg: `-%r1`; the value is passed unnegated
  std::string_view selector = {};  ///< "b3" of `%r1.b3`
  std::int64_t constant = 0;
};

struct OperationRequest {
  OpcodeWords words;
  unsigned results = 0;  ///< number of result values
  std::vector<SourceSlot> sources;
  std::vector<std::string_view> result_selectors = {};  ///< "b3" of a destination `%r1.b3`
  std::uint32_t line = 0;
};

struct OperationCall {
  WarpContext* warp = nullptr;
  std::uint32_t mask = 0;  ///< active lanes; not 0
  const Lanes* in = nullptr;
  Lanes* out = nullptr;
  const std::vector<const AccessSite*>* sites = nullptr;  ///< one per address, in order
  AccessRecord* record = nullptr;                         ///< counted launches only
  SiteCounts* counts = nullptr;                           ///< of the instruction, likewise

  /// Adds to a count of the instruction, in counted launches.
  void count(std::uint64_t OperationCounts::*what, std::uint64_t amount) const {
    if (counts != nullptr) counts->operations.*what += amount;
  }

  /// Returns the memory that `lane` accesses. Returns null and raises a fault if the access is illegal.
  std::byte* place(std::size_t site, std::uint64_t address, std::uint32_t lane, std::uint64_t bytes,
                   std::uint64_t alignment) const;
};

struct Operation {
  struct Address {
    ptx::StateSpace space = ptx::StateSpace::generic;
    unsigned bytes = 0;  ///< per access, for diagnostics
  };
  std::function<void(const OperationCall&)> run;
  std::vector<Address> addresses = {};  ///< one per source that refers to memory
  bool needs_converged_warp = false;    ///< `.aligned`: all lanes of the warp must execute it together
  std::uint32_t line = 0;               ///< PTX line
  // Set during code generation:
  std::vector<const AccessSite*> sites = {};
  CountedSides counted = {};  ///< counted launches only
};

/// Fails if the instruction is not supported; the message gives the reason and may be empty.
Result<Operation> make_operation(OperationRequest request);

/// Called by compiled code.
void run_operation(WarpContext* warp, std::uint32_t mask, const Lanes* in, Lanes* out,
                   const Operation* operation);

// Constructors for one opcode root each, registered in operation.cpp.
Result<Operation> make_mma(OperationRequest& request);
Result<Operation> make_ldmatrix(OperationRequest& request);
Result<Operation> make_stmatrix(OperationRequest& request);
Result<Operation> make_movmatrix(OperationRequest& request);
Result<Operation> make_wmma(OperationRequest& request);
Result<Operation> make_wgmma(OperationRequest& request);
Result<Operation> make_tensor_core(OperationRequest& request);  ///< tcgen05
Result<Operation> make_mbarrier(OperationRequest& request);
Result<Operation> make_copy(OperationRequest& request);
Result<Operation> make_tensor_map(OperationRequest& request);
Result<Operation> make_hint(OperationRequest& request);
Result<Operation> make_conversion(OperationRequest& request);
Result<Operation> make_packed(OperationRequest& request);
Result<Operation> make_video(OperationRequest& request);
Result<Operation> make_wide_atomic(OperationRequest& request);
// Defined in device/cpu/simt/textures.
Result<Operation> make_texture_fetch(OperationRequest& request);
Result<Operation> make_texture_gather(OperationRequest& request);
Result<Operation> make_texture_query(OperationRequest& request);
Result<Operation> make_type_test(OperationRequest& request);
Result<Operation> make_surface_load(OperationRequest& request);
Result<Operation> make_surface_store(OperationRequest& request);
Result<Operation> make_surface_reduction(OperationRequest& request);
Result<Operation> make_surface_query(OperationRequest& request);
Result<Operation> make_reduction(OperationRequest& request);  ///< red
Result<Operation> make_async_store(OperationRequest& request);
Result<Operation> make_cluster_address(OperationRequest& request);        ///< mapa
Result<Operation> make_rank(OperationRequest& request);                   ///< getctarank
Result<Operation> make_conversion_of_address(OperationRequest& request);  ///< cvta of shared::cluster
Result<Operation> make_is_in_cluster(OperationRequest& request);          ///< isspacep.shared::cluster
Result<Operation> make_stack_allocation(OperationRequest& request);       ///< alloca
Result<Operation> make_stack_save(OperationRequest& request);
Result<Operation> make_stack_restore(OperationRequest& request);

/// Returns the error for an unsupported form, naming the unknown modifier.
Failure refuse(const OperationRequest& request);

/// Consumes `.shared{::cta,::cluster}` or `.global`; returns generic if neither is next.
ptx::StateSpace take_space(OpcodeWords& words);

/// Consumes the address type `.u32` or `.u64`. Returns false if neither is next.
bool take_width(OpcodeWords& words);

}  // namespace lynxpp::device::cpu
