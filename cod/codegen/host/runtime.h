// The functions of the language in ON_REPORT, and what else its native code calls by address. No LLVM types.
#pragma once

#include <bit>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
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
  /// Memory for the elements of arrays in LaunchView::sources; committed where the report touches it.
  struct Expanded {
    MappedMemory elements;
    bool is_filled = false;
  };
  std::map<std::uint32_t, Expanded> expanded = {};

  /// Returns a pointer to the array's first element; expands a source.
  std::byte* elements_of(std::uint32_t array);
  /// Returns the source of the array's contents; null if they are elements.
  std::shared_ptr<WordSource> source_of(std::uint32_t array) const;
  /// Returns `name`, or the first of "name#2", "name#3", … that is not taken.
  std::string take_name(const std::string& name);
  /// Passes the result on, with its name made unique in the same way.
  void emit(Emitted emitted);
  /// Emits a column of the table that `row` describes.
  void emit_column(Emitted row, const std::string& column, decltype(Emitted::values) values,
                   const std::string& unit, Folding folding);
  void add_mishap(const Position* place, const char* message);
  void add_mishap(const Expression* place, const char* message) { add_mishap(&place->position, message); }
};

LaunchExtents extents_of(const LaunchView& launch);

/// Checks that the sizes of the launch's arrays match its extents.
Status check_arrays(const Program& program, const LaunchView& launch, HostRun& run);

// ---- called by generated code
/// Calls a function of the language; `arguments` as in HostCall. Returns a number in the same representation,
/// or the address of a std::string.
std::uint64_t host_call(HostRun* run, const Expression* call, const std::uint64_t* arguments);
std::uint64_t host_extent(HostRun* run, std::uint64_t extent);
void* host_array(HostRun* run, std::uint64_t array);
void* host_variable(HostRun* run, std::uint64_t offset);
void host_out_of_range(HostRun* run, const Expression* place);
void host_endless_loop(HostRun* run, const Position* place);
void host_division_by_zero(HostRun* run, const Expression* place);
/// Returns the slot of a key in a map, or all ones; `lead` is the row-major leading index.
std::uint64_t host_find_entry(HostRun* run, const Collection* map, std::uint64_t lead,
                              const std::uint64_t* words);

/// A call of a function of the language, with the values of its arguments.
struct HostCall {
  HostRun& run;
  const Expression& expression;
  /// One per operand: a long, an unsigned long or a double; a text: the address of a std::string; an access
  /// to a trace, histogram or map: the row-major leading index, or all_of_them; another name: 0.
  const std::uint64_t* arguments;

  Api api() const { return expression.api->api; }
  const Symbol& symbol(std::size_t i) const { return *expression.operands[i]->symbol; }
  const std::string& text(std::size_t i) const { return *std::bit_cast<const std::string*>(arguments[i]); }
  /// The optional text at `i`; empty if it is omitted.
  std::string unit(std::size_t i) const { return i < expression.operands.size() ? text(i) : std::string(); }
};

/// Emits, for an array of words, the accesses to each of the program's arrays in that memory.
void emit_words(const HostCall& call);
/// Emits a table with the location of each of the program's arrays.
void emit_arrays(const HostCall& call);
/// The result of a site table function for an instruction or block.
std::uint64_t site_value(const HostCall& call);
const std::string& site_text(const HostCall& call);
/// The text of a value that `api` returned on the device: sourceId() and similar functions, allocationId().
std::string name_of_number(const LaunchView& launch, Api api, std::uint64_t number);
/// Values of the type from their bits as long, unsigned long or double.
decltype(Emitted::values) values_of(std::vector<std::uint64_t> bits, Type type);

// ---- traces, histograms, maps (collections.cpp)
std::uint64_t collection_value(const HostCall& call);  ///< length(), dropped(), underflow(), overflow()
std::uint64_t bin_bound(const HostCall& call);
std::uint64_t map_entry(const HostCall& call);
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
