// Functions that native code of ON_REPORT calls, by address. Plain functions without LLVM types.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cod/host_report.h"
#include "cod/sema/program.h"
#include "support/mapped_memory.h"

namespace lynxpp::cod {

/// One run of ON_REPORT; the generated code passes it to every function below.
struct HostRun {
  const Program& program;
  const LaunchView& launch;
  LaunchExtents extents;
  std::vector<std::uint64_t> counts;  ///< elements per array
  struct Mishap {
    const Position* place;
    const char* message;
    std::uint64_t times;
  };
  std::vector<Mishap> mishaps;  ///< one per location, in order of first occurrence
  /// Occupied slots of a map, for each leading index queried (collections.cpp).
  struct Entries {
    std::vector<std::uint64_t> slots;                            ///< by entry index
    std::map<std::vector<std::uint64_t>, std::uint64_t> by_key;  ///< key words ▶ slot
  };
  std::map<std::pair<const Collection*, std::uint64_t>, Entries> entries;

  std::byte* host = nullptr;  ///< LaunchView::host, or variables of this run only
  std::string kernel_name;    ///< demangled
  std::string device_name;
  /// By instruction, computed on demand.
  std::map<SiteGrouping, std::vector<std::uint32_t>> first_of_group = {};
  std::deque<std::string> texts = {};        ///< strings returned to the report
  std::set<std::string> taken_names = {};    ///< as passed to emit and similar functions
  std::set<std::string> emitted_names = {};  ///< of results, including columns
  /// Memory for the elements of arrays in LaunchView::runs; committed where the report touches it.
  struct Expanded {
    MappedMemory elements;
    bool is_filled = false;
  };
  std::map<std::uint32_t, Expanded> expanded = {};

  /// Returns a pointer to the array's first element; expands runs.
  std::byte* elements_of(std::uint32_t array);
  /// Returns the array's contents as runs; nullopt if they are elements.
  std::optional<std::span<const ElementRun>> runs_of(std::uint32_t array) const;
  /// Returns `name`, or the first of "name#2", "name#3", … that is not taken.
  std::string take_name(const std::string& name);
  /// Passes the result on, with its name made unique in the same way.
  void emit(Emitted emitted);
  void add_mishap(const Position* place, const char* message);
  void add_mishap(const Expression* place, const char* message) { add_mishap(&place->position, message); }
};

LaunchExtents extents_of(const LaunchView& launch);

/// Checks that the sizes of the launch's arrays match its extents.
Status check_arrays(const Program& program, const LaunchView& launch, HostRun& run);

// ---- called by generated code; `call` is the expression in ON_REPORT
std::uint64_t host_extent(HostRun* run, std::uint64_t extent);
void* host_array(HostRun* run, std::uint64_t array);
std::uint64_t host_launch_value(HostRun* run, std::uint64_t api);
const std::string* host_launch_text(HostRun* run, std::uint64_t api);
void* host_variable(HostRun* run, std::uint64_t offset);
/// Emits an array, or an array of structures, whose fields become the columns of a table.
void host_emit_record(HostRun* run, const Expression* call, const std::string* name, const std::string* unit);
/// The bits are in the representation of host_emit_value().
void host_emit_ratio(HostRun* run, const Expression* call, const std::string* name, const std::string* unit,
                     std::uint64_t numerator, std::uint64_t denominator);
void host_emit_table(HostRun* run, const Expression* call);
/// Emits, for an array of words, the accesses to each of the program's arrays in that memory.
void host_emit_words(HostRun* run, const Expression* call, const std::string* name, const std::string* unit);
/// Emits a table with the location of each of the program's arrays.
void host_emit_arrays(HostRun* run, const std::string* name);
/// Emits, for live ranges of words of shared memory, a table of the program's arrays and a table of records.
void host_emit_ranges(HostRun* run, const Expression* call);
void host_out_of_range(HostRun* run, const Expression* place);
void host_endless_loop(HostRun* run, const Position* place);
void host_division_by_zero(HostRun* run, const Expression* place);
/// `unit` may be null.
void host_emit_value(HostRun* run, const Expression* call, const std::string* name, const std::string* unit,
                     std::uint64_t bits);
void host_emit_array(HostRun* run, const Expression* call, const std::string* name, const std::string* unit);
/// The result of a site table function for instruction or block `index`; for texts the address of a
/// std::string.
std::uint64_t host_site_value(HostRun* run, const Expression* call, std::uint64_t index);
const std::string* host_site_text(HostRun* run, const Expression* call, std::uint64_t index);
/// The text of a value that `api` returned on the device: sourceId() and similar functions, allocationId().
std::string name_of_number(const LaunchView& launch, Api api, std::uint64_t number);
std::uint64_t host_reduce(HostRun* run, const Expression* call);
void host_print(HostRun* run, const Expression* call, const std::uint64_t* values);

// ---- traces, histograms, maps (collections.cpp); `lead` is the row-major leading index
std::uint64_t host_find_entry(HostRun* run, const Collection* map, std::uint64_t lead,
                              const std::uint64_t* words);
std::uint64_t host_collection_value(HostRun* run, const Expression* call, std::uint64_t lead);
std::uint64_t host_bin_bound(HostRun* run, const Expression* call, std::uint64_t bin);
std::uint64_t host_entry(HostRun* run, const Expression* call, std::uint64_t lead, std::uint64_t number);
void host_emit_collection(HostRun* run, const Expression* call, const std::string* name,
                          const std::string* unit, std::uint64_t most);
/// Trace and map: at most `most` valid entries, as columns of a table; histogram: the bins.
void emit_collection(HostRun& run, const Collection& collection, const std::string& name,
                     const std::string& unit, std::uint64_t most);
/// The positions of valid entries in the arrays of a trace or a map.
std::vector<std::uint64_t> entry_slots(HostRun& run, const Collection& collection);
/// Reports dropped entries as a note of the launch, for each trace and map.
void note_dropped(HostRun& run);
/// A leading index that selects all of them.
inline constexpr std::uint64_t all_of_them = ~std::uint64_t{0};

/// Emits the whole array under `name`.
void emit_array(HostRun& run, std::uint32_t array, const std::string& name, const std::string& unit);

}  // namespace lynxpp::cod
