// Lowers a handler to the LLVM function `lynxpp_handler` of a separate module. Shared by the files of this
// folder.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cod/codegen/function_generator.h"
#include "cod/device_code.h"

namespace lynxpp::cod {

// Address spaces of NVPTX.
inline constexpr unsigned global_space = 1;
inline constexpr unsigned shared_space = 3;
/// The unit of global memory accesses.
inline constexpr std::uint32_t sector_bytes = 32;
/// Size of the words of DEVICE_WORDS arrays.
inline constexpr std::uint64_t word_bytes_log2 = 2;
/// The mask of a full warp.
inline constexpr std::uint32_t all_lanes = 0xffffffffu;

class DeviceGenerator final : public FunctionGenerator {
 public:
  DeviceGenerator(llvm::Module& module, const Program& program, const DeviceTarget& target)
      : FunctionGenerator(module, program), target_(target) {
    skips_counted_ = !target.plain_counters;
  }

  void generate(const HandlerBody& body);
  void generate_lane_value(SiteValue value);
  int minimum_sm() const { return minimum_sm_; }
  int minimum_ptx() const { return minimum_ptx_; }

 private:
  enum class Effect { none, volatile_read, memory, convergent };

  llvm::Value* array_base(const Symbol& array) override;
  llvm::Value* variable_base(const Symbol& array) override;
  void begin_body() override;
  void write_lane_value(SiteValue value);
  void run_every(std::uint32_t every, llvm::Value* number);
  llvm::Value* find_entry(const Expression& index, const Collection& map, bool inserts) override;
  bool has_threads() const override { return true; }
  bool updates_atomically(const Expression& target) override;
  llvm::Value* add_atomically(const Element& element, const Expression& target, const Expression& addend,
                              bool subtracts, Wanted wanted) override;
  llvm::Value* swap_until_unchanged(const Element& element, const Expression& target, bool yields_old,
                                    const Update& update) override;
  void note_assignment(const Symbol& array, llvm::Value* value) override;
  // lanes_here.cpp
  llvm::Value* join_lanes(llvm::Value* condition) override;
  llvm::Value* opaque(llvm::Value* condition);
  bool depends_on_lanes() const override { return asks_about_lanes_; }
  llvm::Value* extent_value(Extent extent) override;
  bool surely_in_range(const Expression& index, const Dimension& dimension) override;
  void out_of_range(const Expression& element) override;
  void division_by_zero(llvm::Value*, const Expression&) override {}
  llvm::AllocaInst* state_slot(const Symbol& state, bool assigned) override;
  llvm::Value* read_state(std::uint32_t index, Type type);
  void write_state(std::uint32_t index, llvm::Value* value, Type type);
  llvm::Value* call_api(const Expression& call) override;
  void add_to_tally(const Statement& statement) override;

  /// Inline PTX. Operands are $1…, or $0… when `result` is void.
  llvm::Value* assembly(const std::string& text, llvm::Type* result,
                        const std::vector<llvm::Value*>& operands, Effect effect);
  /// The same for an instruction without a result that accesses memory.
  void memory_instruction(const std::string& text, const std::vector<llvm::Value*>& operands) {
    static_cast<void>(assembly(text, ir_.getVoidTy(), operands, Effect::memory));
  }
  /// The value that the splice pass inserts for `name`.
  llvm::Value* placeholder(const std::string& name, bool is_wide, Effect effect = Effect::none);
  llvm::Value* special_register(unsigned intrinsic);
  llvm::Value* word(Word::Kind kind, std::uint32_t index, Extent extent);
  llvm::Value* site_value(SiteValue value, std::uint64_t parameter = 0);
  void write_states();
  void require(int sm, int ptx);

  llvm::Value* thread_call(Api api);
  llvm::Value* warp_call(const Expression& call);
  llvm::Value* block_threads();    ///< i32
  llvm::Value* block_thread_id();  ///< i32
  llvm::Value* warps_per_block();  ///< i64
  llvm::Value* blocks();           ///< i64
  llvm::Value* block_id();         ///< i64
  llvm::Value* wide(llvm::Value* value);

  // functions.cpp
  using OutOfLineBody = std::function<llvm::Value*(const std::vector<llvm::Value*>&)>;
  /// Calls the function `name`, which a variant contains once instead of at every site: for rarely executed
  /// or long code. The first call creates it: `body` receives the parameters and returns the result, or null
  /// if `result` is void. Everything that belongs to the handler must be passed as an argument: parameter
  /// slots, site values, variables, and the active mask; special registers and warp operations are available.
  /// `name` must encode everything that the body depends on at compile time. A call costs tens of cycles and
  /// keeps few registers alive across it, so the common path should stay inline.
  llvm::Value* out_of_line(const std::string& name, llvm::Type* result,
                           const std::vector<llvm::Value*>& arguments, const OutOfLineBody& body);
  llvm::Function* make_out_of_line(const std::string& name, llvm::Type* result,
                                   const std::vector<llvm::Value*>& arguments, const OutOfLineBody& body);
  static void add_handler_attributes(llvm::Function& function);

  llvm::Value* active_mask_here();  ///< queries the mask again
  // lanes_here.cpp
  struct BankCounts {
    llvm::Value* conflicts = nullptr;
    llvm::Value* spared = nullptr;  ///< groups that need no separate wavefront
  };
  /// For warp operations in the current basic block. Other lanes may have joined after it.
  llvm::Value* active_mask();
  const BankCounts& bank_counts();
  llvm::Value* lane_id();      ///< i32
  llvm::Value* lower_lanes();  ///< mask of the lanes below this one
  llvm::Value* population_count(llvm::Value* mask);
  llvm::Value* lowest_lane(llvm::Value* mask);                           ///< its index; undefined for 0
  llvm::Value* highest_lane(llvm::Value* mask, llvm::Value* otherwise);  ///< its index; `otherwise` for 0
  llvm::Value* is_lowest_of(llvm::Value* mask);                          ///< i1

  // collections.cpp
  struct Bin {
    llvm::Value* number = nullptr;
    llvm::Value* below = nullptr;
    llvm::Value* beyond = nullptr;
  };
  llvm::Value* element_address(const Symbol& array, llvm::Value* offset);  ///< i64
  llvm::Value* call_collection(const Expression& call);
  llvm::Value* append(const Expression& call, const Collection& trace);
  llvm::Value* reserve_together(llvm::Value* counter);
  llvm::Value* is_kept(const Expression& call, const Collection& trace);
  llvm::Value* record(const Expression& call, const Collection& histogram);
  Bin bin_of(llvm::Value* value, bool is_signed_value, const Collection& histogram);
  llvm::Value* hash_of(const std::vector<llvm::Value*>& words);
  struct Matched {
    llvm::BasicBlock* same = nullptr;    ///< the slot has the key
    llvm::BasicBlock* other = nullptr;   ///< the slot has a different key
    llvm::BasicBlock* absent = nullptr;  ///< the key is not in the map, or an earlier slot would have it
    llvm::BasicBlock* again = nullptr;   ///< the lane has tried to occupy the slot: probes it again
  };
  void match_slot(const Collection& map, const std::vector<llvm::Value*>& words, llvm::Value* slot,
                  bool inserts, const Matched& next);
  /// The search for a key's slot in a map.
  struct Search {
    const Collection& map;
    const std::vector<llvm::Value*>& words;  ///< of the key
    bool inserts = false;
    llvm::BasicBlock* found = nullptr;
    llvm::BasicBlock* absent = nullptr;
    llvm::AllocaInst* slot = nullptr;  ///< i64: the slot being probed
  };
  void probe_zero_slot(const Search& search, llvm::Value* zero_slot);
  void probe_slots(const Search& search, llvm::Value* base);
  void search_entry(const Collection& map, const std::vector<llvm::Value*>& words, llvm::Value* lead,
                    bool inserts, llvm::AllocaInst* result);
  void count_dropped(std::uint64_t place = 0);  ///< Program::count_of_drops()

  // streams.cpp
  struct Appended {
    const Expression& call;
    const Collection& trace;
    const std::vector<llvm::Value*>& values;  ///< of the trace's leaves
    llvm::Value* counter;                     ///< i64: the address
    llvm::Value* number;                      ///< i64
  };
  std::optional<TraceStream> streamed(const Collection& trace) const;
  void stream(const Appended& entry, const TraceStream& stream, llvm::AllocaInst* result);
  enum class Freshness {
    constant,   ///< does not change during the launch
    passes_by,  ///< usually bypasses the L1 cache, without a guarantee
    anew,
  };
  llvm::Value* load_of_stream(llvm::Value* address, std::uint64_t offset, Freshness freshness);
  /// The state of a waiting lane: i64 each.
  struct Waiting {
    llvm::Value* consumed = nullptr;
    llvm::Value* since = nullptr;  ///< time at which `consumed` last changed
    llvm::Value* looks = nullptr;  ///< polls since then
  };
  struct Look {
    llvm::Value* has_room = nullptr;  ///< i1
    llvm::Value* gives_up = nullptr;  ///< i1
    Waiting waiting;
  };
  /// An entry that needs a slot of the ring: i64 each.
  struct Sought {
    llvm::Value* counter = nullptr;
    llvm::Value* number = nullptr;
    llvm::Value* entries = nullptr;  ///< of the ring
  };
  /// i64 each.
  struct Seen {
    llvm::Value* consumed = nullptr;
    llvm::Value* gave_up = nullptr;
  };
  void write_entry(const Appended& entry, const TraceStream& stream, llvm::Value* ring);
  Look look_for_room(const Sought& sought, const Waiting& before);
  Seen look_at_host(llvm::Value* counter, llvm::Value* looks);
  llvm::Value* waits_too_long(llvm::Value* counter, llvm::Value* nanoseconds, llvm::Value* looks);

  // atomics.cpp
  llvm::Value* atomic_call(const Expression& call);
  void add_for_all(const Element& element, const Expression& place, llvm::Value* addend, bool uniform_addend,
                   bool elected);
  void aggregated_add(const Element& element, llvm::Value* mask, llvm::Value* addend, bool uniform_addend);
  void add_where_lanes_may_conflict(const Element& element, llvm::Value* addend, bool uniform_addend);
  bool is_own_element(const Expression& target) const;
  llvm::Value* sum_over(llvm::Value* mask, llvm::Value* addend);
  llvm::Value* sum_by_redux(llvm::Value* mask, llvm::Value* addend);
  llvm::Value* sum_by_shuffles(llvm::Value* mask, llvm::Value* addend);
  llvm::Value* shuffled(llvm::Value* value, llvm::Value* lane, llvm::Value* mask);
  llvm::Value* old_of_atomic(const char* operation, const Element& element, const Expression& place,
                             llvm::Value* value);
  void reduce_to_memory(const char* operation, const Element& element, llvm::Value* value);
  bool is_uniform(const Expression& expression) const;

  // warp.cpp
  llvm::Value* vote(llvm::Value* condition, llvm::Value* mask);  ///< one bit per lane of the mask
  llvm::Value* unique_count(llvm::Value* value, bool in_halves);
  llvm::Value* unique_call(const Expression& call);
  llvm::Value* warp_value_call(const Expression& call);
  llvm::Value* extreme_over(llvm::Value* mask, llvm::Value* value, Api api, Type type);
  llvm::Value* extreme_by_gathering(llvm::Value* mask, llvm::Value* value, bool is_max, Type type);
  llvm::Value* first_by_elimination(llvm::Value* mask, llvm::Value* value, llvm::Value* group);
  llvm::Value* floating_sum(llvm::Value* mask, llvm::Value* value);
  /// Combines the values of all lanes, one after the other.
  using Combine = std::function<llvm::Value*(llvm::Value* total, llvm::Value* other, llvm::Value* lane)>;
  llvm::Value* gathered(llvm::Value* mask, llvm::Value* value, llvm::Value* start, const Combine& combine);
  llvm::Function* new_routine();
  llvm::AllocaInst* unique_slot(const Symbol& array, bool in_halves);
  /// i1: this lane is the lowest of those in `mask` and its `group` that hold the value.
  llvm::Value* first_with_value(llvm::Value* value, llvm::Value* mask, llvm::Value* group);

  // memory.cpp
  llvm::Value* first_in_sector();
  llvm::Value* bulk_sectors();

  // words.cpp
  void count_words(const Expression& call);
  llvm::Value* word_of_device(llvm::Value* address);
  // allocations.cpp
  llvm::Value* address_call(const Expression& call);
  llvm::Value* search_allocation(llvm::Value* table, llvm::Value* address);
  llvm::Value* address_in_shared_window();
  llvm::Value* address_in_space();
  llvm::Value* is_sampled();
  void add_to_word(const Symbol& array, llvm::Value* element);
  llvm::Value* executions();  ///< i32
  struct WordCounter {
    llvm::Value* address = nullptr;  ///< i64, in its state space
    std::uint32_t bits = 32;
    const char* space = "global";
    /// i64: the element in device memory that receives the carry of the counter. Null: no carry.
    llvm::Value* carry_address = nullptr;
  };
  WordCounter counter_of(const Symbol& array, llvm::Value* element);
  void add_watching_wraps(const WordCounter& counter);
  llvm::Value* limited(llvm::Value* addend, llvm::Value* count, llvm::BasicBlock* full);
  void add_plainly(const WordCounter& counter);
  void add_in_word(const WordCounter& counter);

  // banks.cpp
  struct BankAccess {
    llvm::Value* mask = nullptr;
    llvm::Value* lane = nullptr;
    llvm::Value* address = nullptr;       ///< i32, in the window of shared memory
    llvm::Value* unit = nullptr;          ///< the lane's address divided by the access size
    llvm::Value* bank = nullptr;          ///< of the units of a row
    llvm::Value* group = nullptr;         ///< lanes that are served together with this one
    llvm::Value* first_lane = nullptr;    ///< index of the group's first lane
    llvm::Value* group_starts = nullptr;  ///< bits of the first lanes of all groups
    llvm::Value* is_wide = nullptr;       ///< more than 4 bytes
    llvm::Value* is_widest = nullptr;     ///< more than 8 bytes
    llvm::Value* is_atomic = nullptr;
    llvm::Value* is_load = nullptr;
  };
  BankCounts measure_banks(llvm::BasicBlock* settled);
  BankCounts hoisted_bank_counts();
  llvm::Value* bank_groups();
  llvm::Value* bank_call(Api api);
  BankAccess bank_access();
  using BankValue = llvm::Value* (DeviceGenerator::*)(BankAccess);
  llvm::Value* unless_banks_apart(const BankAccess& access, BankValue body, llvm::BasicBlock* settled);
  llvm::Value* count_bank_conflicts(BankAccess access);
  BankCounts counts_of_served(const BankAccess& access, llvm::Value* served);
  llvm::Value* represents_unit(const BankAccess& access, llvm::Value* lanes);
  llvm::Value* packed(const BankCounts& counts);  ///< conflicts in the low bits, spared above
  BankCounts unpacked(llvm::Value* counts);
  void join_groups(BankAccess& access);
  llvm::Value* leaves_row(const BankAccess& access);
  llvm::Value* may_meet(const BankAccess& access);
  llvm::Value* lanes_at_bank(const BankAccess& access);
  llvm::Value* lanes_agree(const BankAccess& access, llvm::Value* pair, std::uint32_t distance);
  llvm::Value* any_lanes_bits(llvm::Value* bits, llvm::Value* mask);

  // lanes.cpp
  struct LaneDistance {
    llvm::Value* limited = nullptr;  ///< i32
    llvm::Value* ascends = nullptr;  ///< i1: not negative
  };
  LaneDistance distance_from(llvm::Value* lower, llvm::Value* address, llvm::Value* mask);
  llvm::Value* bank_lanes_apart(BankAccess access);
  llvm::Value* banks_of_some_lanes();
  llvm::Value* sector_threshold();
  llvm::Value* least_distance(llvm::Value* mask, llvm::Value* address);
  llvm::Value* address_from_leader();

  const DeviceTarget target_;
  std::optional<SiteValue> lane_value_;      ///< the value that the routine computes
  llvm::Value* relative_address_ = nullptr;  ///< i32: replaces the address when banks are counted
  int minimum_sm_ = 0;
  int minimum_ptx_ = 0;
  struct {
    llvm::BasicBlock* block = nullptr;
    llvm::Value* mask = nullptr;
  } mask_here_;
  Sampling sampling_;  ///< of the handler
  bool asks_about_lanes_ = false;
  bool measures_banks_ = false;  ///< Handler::Measures::banks: nothing to do without conflicts
  struct {
    llvm::BasicBlock* block = nullptr;  ///< that the counts belong to; any if measures_banks_
    BankCounts counts;
  } banks_here_;
  std::map<std::pair<const Symbol*, bool>, llvm::AllocaInst*> unique_slots_;
  std::map<std::size_t, llvm::Value*> words_;
  std::map<std::pair<SiteValue, std::uint64_t>, llvm::Value*> sites_;
  struct State {
    llvm::AllocaInst* slot = nullptr;
    bool assigned = false;
    std::uint64_t elements = 1;
  };
  std::map<const Symbol*, State> states_;
};

}  // namespace lynxpp::cod
