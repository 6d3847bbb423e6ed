// What native code of ON_REPORT calls. No LLVM type here: plain functions, reached by address.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cod/sema/program.h"
#include "cod/specification.h"

namespace lynxpp::cod {

/// One run of ON_REPORT; the generated code hands it to every function below.
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
  std::vector<Mishap> mishaps;  ///< one per place, in order of the first
  /// Places of a map that are taken, for each leading index asked for (collections.cpp)
  struct Entries {
    std::vector<std::uint64_t> places;                           ///< in the order of their numbers
    std::map<std::vector<std::uint64_t>, std::uint64_t> by_key;  ///< words of the key ▶ place
  };
  std::map<std::pair<const Collection*, std::uint64_t>, Entries> entries;

  std::byte* host = nullptr;  ///< LaunchView::host, or variables of this run alone
  std::string kernel_name;    ///< demangled
  std::string device_name;
  /// By instruction, once asked for.
  std::map<SiteGrouping, std::vector<std::uint32_t>> first_of_group = {};
  std::deque<std::string> texts = {};        ///< that the report has been given
  std::set<std::string> taken_names = {};    ///< as calls of emit and its kin give them
  std::set<std::string> emitted_names = {};  ///< of results, columns included

  /// `name`, or the first of "name#2", "name#3", … that no call before has taken.
  std::string take_name(const std::string& name);
  /// Hands the result on, its name made to differ from those before in the same way.
  void emit(Emitted emitted);
  void add_mishap(const Position* place, const char* message);
  void add_mishap(const Expression* place, const char* message) { add_mishap(&place->position, message); }
};

LaunchExtents extents_of(const LaunchView& launch);

/// Checks that the launch's arrays have the sizes that its extents ask for.
Status check_arrays(const Program& program, const LaunchView& launch, HostRun& run);

// ---- called by generated code; `call` is the expression that stands in ON_REPORT
std::uint64_t host_extent(HostRun* run, std::uint64_t extent);
void* host_array(HostRun* run, std::uint64_t array);
std::uint64_t host_launch_value(HostRun* run, std::uint64_t api);
const std::string* host_launch_text(HostRun* run, std::uint64_t api);
void* host_variable(HostRun* run, std::uint64_t offset);
/// Of an array, or of an array of structures, whose fields become the columns of a table.
void host_emit_record(HostRun* run, const Expression* call, const std::string* name, const std::string* unit);
/// The bits as host_emit_value() has them.
void host_emit_ratio(HostRun* run, const Expression* call, const std::string* name, const std::string* unit,
                     std::uint64_t numerator, std::uint64_t denominator);
void host_emit_table(HostRun* run, const Expression* call);
/// Of an array of words: what the program's arrays in that memory were accessed.
void host_emit_words(HostRun* run, const Expression* call, const std::string* name, const std::string* unit);
/// Where the program's arrays are: a table with a row for each.
void host_emit_arrays(HostRun* run, const std::string* name);
/// Of live ranges of words of shared memory: a table of the program's arrays, and one of records.
void host_emit_ranges(HostRun* run, const Expression* call);
void host_out_of_range(HostRun* run, const Expression* place);
void host_endless_loop(HostRun* run, const Position* place);
void host_division_by_zero(HostRun* run, const Expression* place);
/// `unit` may be null.
void host_emit_value(HostRun* run, const Expression* call, const std::string* name, const std::string* unit,
                     std::uint64_t bits);
void host_emit_array(HostRun* run, const Expression* call, const std::string* name, const std::string* unit);
/// What a function of the site table says of instruction or block `index`; for texts the address of a
/// std::string.
std::uint64_t host_site_value(HostRun* run, const Expression* call, std::uint64_t index);
const std::string* host_site_text(HostRun* run, const Expression* call, std::uint64_t index);
/// The text that a number stands for which `api` has given on the device: sourceId() and its kin,
/// allocationId().
std::string name_of_number(const LaunchView& launch, Api api, std::uint64_t number);
std::uint64_t host_reduce(HostRun* run, const Expression* call);
void host_print(HostRun* run, const Expression* call, const std::uint64_t* values);

// ---- traces, histograms, maps (collections.cpp); `lead` counts the leading indices row by row
std::uint64_t host_find_entry(HostRun* run, const Collection* map, std::uint64_t lead,
                              const std::uint64_t* words);
std::uint64_t host_collection_value(HostRun* run, const Expression* call, std::uint64_t lead);
std::uint64_t host_bin_bound(HostRun* run, const Expression* call, std::uint64_t bin);
std::uint64_t host_entry(HostRun* run, const Expression* call, std::uint64_t lead, std::uint64_t number);
void host_emit_collection(HostRun* run, const Expression* call, const std::string* name,
                          const std::string* unit, std::uint64_t most);
/// Trace and map: the entries that are there, at most `most`, as columns of a table; histogram: the bins.
void emit_collection(HostRun& run, const Collection& collection, const std::string& name,
                     const std::string& unit, std::uint64_t most);
/// Where in the arrays of a trace or a map its entries are.
std::vector<std::uint64_t> entry_places(HostRun& run, const Collection& collection);
/// What found no room, as a note of the launch for each trace and map.
void note_dropped(HostRun& run);
/// Leading index meaning all of them.
inline constexpr std::uint64_t all_of_them = ~std::uint64_t{0};

/// The whole array under `name`.
void emit_array(HostRun& run, std::uint32_t array, const std::string& name, const std::string& unit);

}  // namespace lynxpp::cod
