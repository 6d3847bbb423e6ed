// The members of every record in JSON Lines, each named once: the sink writes them in this order, and the
// reader looks them up.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "report/number.h"
#include "report/record.h"
#include "support/text.h"

namespace lynxpp::report {

/// The member with the record's kind.
inline constexpr const char* kind_member = "record";

/// The member with the record's process.
inline constexpr const char* process_member = "process";
/// The member with the number of a series, in its record and in its launches; and the kind of its record.
inline constexpr const char* series_member = "series";
/// The member with the launch's device, stream and times.
inline constexpr const char* place_member = "place";  // english: ok
/// The member with the folds of numeric results, by name, if they are set explicitly.
inline constexpr const char* folds_member = "folds";

template <typename Record>
inline constexpr std::string_view kind_of = "";
template <>
inline constexpr std::string_view kind_of<ProcessRecord> = "process";
template <>
inline constexpr std::string_view kind_of<SitesRecord> = "sites";
template <>
inline constexpr std::string_view kind_of<LaunchRecord> = "launch";
template <>
inline constexpr std::string_view kind_of<TotalRecord> = "total";
template <>
inline constexpr std::string_view kind_of<CoverageRecord> = "coverage";
template <>
inline constexpr std::string_view kind_of<TimingRecord> = "timing";
template <>
inline constexpr std::string_view kind_of<TrialRecord> = "trial";
template <>
inline constexpr std::string_view kind_of<DeviceRecord> = "device";
template <>
inline constexpr std::string_view kind_of<ActivityRecord> = "activity";

/// `T` is the struct when reading, const when writing.
template <typename T, typename Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

// visit_members() calls, for each member,
//   visit(name, member) if it is required,
//   visit.may_lack(name, member) if it is always written, but older files may lack it,
//   visit.if_any(name, member) if it is written only if it is not empty or the default,
//   visit.results(name, name of the units, member) for results,
//   visit.columns(name, member) and visit.values(name, member) for their parts in series (report/series.h),
//   visit.if_unusual(name, member, usual) if a launch in a series has it only if it is not the usual one,
//   visit.derived(name, function) for a function's value, which is written but not read.
// A member is of a plain type, a list or table of them, or a struct with members.

void visit_kernel(auto& record, auto&& visit) {
  visit("kernel", record.kernel);
  visit.derived("demangled", [&] { return demangle(record.kernel); });
}

/// For an array; a numeric result has a name only.
void visit_members(Is<ResultValue> auto& result, auto&& visit) {
  visit("extents", result.extents);
  visit.if_any("names", result.extent_names);
  visit.if_any("table", result.table);
  visit.if_any("fold", result.fold);
  visit.if_any("left_out", result.left_out);
  visit.if_any("labels", result.labels);
  visit.if_any("texts", result.texts);
  visit.if_any("bounds", result.bounds);
  if (!result.bounds.empty()) {
    visit("underflow", result.underflow);
    visit("overflow", result.overflow);
  }
  visit.if_any("denominators", result.denominators);
  if (result.denominators) {
    visit("numerators", result.values);
    visit.derived("values", [&] { return quotients(result); });
  } else {
    visit("values", result.values);
  }
}

/// True if the column's length differs between launches: its one extent is the number of its values.
inline bool has_rows(const ResultValue& column) {
  return !column.table.empty() && column.extents.size() == 1;
}

/// The part of a result that its series has. `is_array`: false for a number.
void visit_column(Is<ResultValue> auto& result, auto&& visit, bool is_array) {
  visit("name", result.name);
  visit.if_any("unit", result.unit);
  visit.ratio("ratio", result.denominators);
  visit.if_any("fold", result.fold);
  if (!is_array) return;
  visit.if_any("table", result.table);
  if (!has_rows(result)) visit.if_any("extents", result.extents);
  visit.if_any("names", result.extent_names);
  visit.if_any("bounds", result.bounds);
  if (result.table.empty()) visit.if_any("labels", result.labels);
}

void visit_members(Is<LaunchRecord::Sampling::Handler> auto& handler, auto&& visit) {
  visit("line", handler.line);
  visit("blocks", handler.blocks);
  visit("warps", handler.warps);
}

void visit_members(Is<LaunchRecord::Sampling> auto& sampling, auto&& visit) {
  visit("launches", sampling.launches);
  visit("blocks", sampling.blocks);
  visit("warps", sampling.warps);
  visit.if_any("handlers", sampling.handlers);
}

void visit_members(Is<LaunchResources::Multiprocessor> auto& limits, auto&& visit) {
  visit("threads", limits.threads);
  visit("blocks", limits.blocks);
  visit("registers", limits.registers);
  visit("shared_bytes", limits.shared_bytes);
  visit("shared_unit", limits.shared_unit);
  visit("reserved_shared_bytes", limits.reserved_shared_bytes);
  visit("block_shared_bytes", limits.block_shared_bytes);
}

void visit_members(Is<LaunchResources> auto& resources, auto&& visit) {
  visit("registers", resources.registers);
  visit("static_shared_bytes", resources.static_shared_bytes);
  visit("dynamic_shared_bytes", resources.dynamic_shared_bytes);
  visit("multiprocessor", resources.multiprocessor);
}

void visit_members(Is<ModelledTime::Cache> auto& cache, auto&& visit) {
  visit("hits", cache.hits);
  visit("misses", cache.misses);
}

void visit_members(Is<ModelledTime> auto& time, auto&& visit) {
  visit("machine", time.machine);
  visit("cycles", time.cycles);
  visit("seconds", time.seconds);
  visit("blocks_per_sm", time.blocks_per_sm);
  visit("warps_per_sm", time.warps_per_sm);
  visit("partitions", time.partitions);
  visit.if_any("l1", time.l1);
  visit.if_any("l2", time.l2);
}

void visit_members(Is<ProcessRecord> auto& record, auto&& visit) {
  visit(process_member, record.process);
  visit.if_any("host", record.host);
  visit.if_any("pid", record.pid);
  visit.if_any("rank", record.rank);
  visit.if_any("program", record.program);
  visit.if_any("command", record.command);
  visit.if_any("begin_us", record.begin_us);
  visit.if_any("file", record.file);
  visit.if_any("format", record.format);
}

/// The members of LaunchPlace that usually are the same in a series.
template <typename Place>
struct PlaceOfSeries {
  Place& place;
};

/// The other members, and those that differ from the series' usual ones.
template <typename Place>
struct PlaceOfLaunch {
  Place& place;
  const LaunchPlace& usual;
};

template <typename Place>
void visit_members(const PlaceOfSeries<Place>& part, auto&& visit) {
  visit("ordinal", part.place.ordinal);
  visit("context", part.place.context);
  visit("stream", part.place.stream);
  visit.if_any("module", part.place.module);
  visit("thread", part.place.thread);
}

void visit_times(Is<LaunchPlace> auto& place, auto&& visit) {
  visit("correlation", place.correlation);
  visit("begin_us", place.begin_us);
  visit("end_us", place.end_us);
  visit.if_any("device_ms", place.device_ms);
}

template <typename Place>
void visit_members(const PlaceOfLaunch<Place>& part, auto&& visit) {
  visit_times(part.place, visit);
  visit.if_unusual("ordinal", part.place.ordinal, part.usual.ordinal);
  visit.if_unusual("context", part.place.context, part.usual.context);
  visit.if_unusual("stream", part.place.stream, part.usual.stream);
  visit.if_unusual("module", part.place.module, part.usual.module);
  visit.if_unusual("thread", part.place.thread, part.usual.thread);
}

template <Is<LaunchPlace> Place>
void visit_members(Place& place, auto&& visit) {
  visit_times(place, visit);
  visit_members(PlaceOfSeries<Place>{place}, visit);
}

void visit_members(Is<NamedAllocation> auto& allocation, auto&& visit) {
  visit("name", allocation.name);
  visit.if_any("caller", allocation.caller);
  visit("address", allocation.address);
  visit("bytes", allocation.bytes);
}

void visit_members(Is<LaunchRecord::Shared> auto& shared, auto&& visit) {
  visit("launches", shared.launches);
  visit("last", shared.last);
}

/// Members that are the same in all launches of a series.
void visit_shared(Is<LaunchRecord> auto& record, auto&& visit) {
  visit_kernel(record, visit);
  visit("device", record.device);
  visit("spec", record.spec);
  visit.if_any("sites", record.sites);
  visit.if_any("sampling", record.sampling);
  visit.if_any("resources", record.resources);
}

/// Members that are usually the same in a series.
void visit_usual(Is<LaunchRecord> auto& record, auto&& visit) {
  visit("grid", record.grid);
  visit("block", record.block);
  visit.if_any("notes", record.notes);
  visit.if_any("ranges", record.ranges);
  visit.if_any("allocations", record.allocations);
}

/// Members that each launch has of its own.
void visit_own(Is<LaunchRecord> auto& record, auto&& visit) {
  visit("launch", record.launch);
  visit.if_any("shared", record.shared);
  visit.if_any("modelled", record.modelled);
}

/// Members that identify a series.
void visit_series_key(Is<LaunchRecord> auto& record, auto&& visit) {
  visit_shared(record, visit);
  visit.columns("columns", record.results);
}

/// The other members of a series' record, except labels. visit.enters(name, optional) is true if the member
/// is written or read.
void visit_series_usual(Is<LaunchRecord> auto& record, auto&& visit) {
  visit_usual(record, visit);
  if (!visit.enters(place_member, record.place)) return;
  PlaceOfSeries part{*record.place};
  visit(place_member, part);
}

/// The record of a launch in a series, without labels. `usual` is the series' record; it has a LaunchPlace
/// if the launch has one.
void visit_launch(Is<LaunchRecord> auto& record, const LaunchRecord& usual, auto&& visit) {
  visit_own(record, visit);
  visit.values("values", record.results);
  visit.if_unusual("grid", record.grid, usual.grid);
  visit.if_unusual("block", record.block, usual.block);
  visit.if_unusual("notes", record.notes, usual.notes);
  visit.if_unusual("ranges", record.ranges, usual.ranges);
  visit.if_unusual("allocations", record.allocations, usual.allocations);
  if (!visit.enters(place_member, record.place)) return;
  PlaceOfLaunch part{*record.place, *usual.place};
  visit(place_member, part);
}

/// A launch record that is complete in itself.
void visit_members(Is<LaunchRecord> auto& record, auto&& visit) {
  visit_shared(record, visit);
  visit_own(record, visit);
  visit.results("results", "units", record.results);
  visit_usual(record, visit);
  visit.if_any(place_member, record.place);
}

void visit_members(Is<DeviceRecord> auto& record, auto&& visit) {
  visit("device", record.device);
  visit.may_lack("ordinal", record.ordinal);
  visit.if_any("uuid", record.uuid);
  visit("compute_capability", record.compute_capability);
  visit("multiprocessors", record.multiprocessors);
  visit("clock_khz", record.clock_khz);
  visit("memory_clock_khz", record.memory_clock_khz);
  visit("memory_bus_bits", record.memory_bus_bits);
  visit("threads_per_sm", record.threads_per_sm);
  visit("blocks_per_sm", record.blocks_per_sm);
  visit("registers_per_sm", record.registers_per_sm);
  visit("shared_per_sm", record.shared_per_sm);
  visit("shared_per_block_besides", record.reserved_shared_per_block);
}

void visit_members(Is<ActivityRecord::Launch> auto& launch, auto&& visit) {
  visit_kernel(launch, visit);
  visit("launch", launch.launch);
  visit("shared_bytes", launch.shared_bytes);
  visit.if_any("registers", launch.registers);
  visit("registers_are_estimated", launch.registers_are_estimated);
  visit.if_any("milliseconds", launch.milliseconds);
  visit.if_any("memory_bytes", launch.memory_bytes);
  visit("array_numbers", launch.array_numbers);
  visit("array_bytes", launch.array_bytes);
}

void visit_members(Is<ActivityRecord::Copy> auto& copy, auto&& visit) {
  visit("bytes", copy.bytes);
  visit("direction", copy.direction);
  visit("asynchronous", copy.asynchronous);
}

void visit_members(Is<ActivityRecord> auto& record, auto&& visit) {
  visit("order", record.order);
  visit("stream", record.stream);
  visit("host_ms", record.host_ms);
  visit.if_any("ranges", record.ranges);
  visit.if_any("launch", record.launch);
  visit.if_any("copy", record.copy);
  visit("wait", record.wait);
}

void visit_members(Is<TotalRecord> auto& record, auto&& visit) {
  visit("spec", record.spec);
  visit.results("results", "units", record.results);
  visit.if_any("notes", record.notes);
}

void visit_members(Is<CoverageRecord::Shape> auto& shape, auto&& visit) {
  visit("grid", shape.grid);
  visit("block", shape.block);
  visit.if_any("differs", shape.differs);
  visit.if_any("registers", shape.registers);
}

void visit_members(Is<CoverageRecord> auto& record, auto&& visit) {
  visit_kernel(record, visit);
  visit("instrumented", record.instrumented);
  visit("reason", record.reason);
  visit("launches", record.launches);
  visit("instrumented_launches", record.instrumented_launches);
  visit("sites", record.sites);
  visit.may_lack("notes", record.notes);
  visit.if_any("module", record.module);
  visit.if_any("specs", record.specs);
  visit.if_any("ptx_from", record.ptx_origin);
  visit.if_any("lacks_ptx", record.lacks_ptx);
  visit.if_any("shape", record.shape);
}

void visit_members(Is<KernelResources> auto& resources, auto&& visit) {
  visit("registers", resources.registers);
  visit("local_bytes", resources.local_bytes);
  visit("shared_bytes", resources.shared_bytes);
  visit("blocks_per_sm", resources.blocks_per_sm);
  visit("warps_per_sm", resources.warps_per_sm);
  visit("most_warps_per_sm", resources.most_warps_per_sm);
}

void visit_members(Is<TimingRecord> auto& record, auto&& visit) {
  visit_kernel(record, visit);
  visit("parse_ms", record.parse);
  visit("instrument_ms", record.instrument);
  visit("emit_ms", record.emit);
  visit("load_ms", record.load);
  visit("execute_ms", record.execute);
  visit.if_any("buffers_ms", record.buffers);
  visit.may_lack("launches", record.launches);
  visit.may_lack("device", record.device);
  visit.if_any("modelled", record.modelled);
  visit.if_any("original", record.original);
  visit.if_any("variant", record.variant);
}

void visit_members(Is<TrialRecord::Site> auto& site, auto&& visit) {
  visit("ptx_line", site.ptx_line);
  visit.if_any("file", site.file);
  visit.if_any("line", site.line);
  visit("opcode", site.opcode);
  visit.if_any("note", site.note);
  visit.if_any("is_left_out", site.is_left_out);
}

void visit_members(Is<TrialRecord::Count> auto& each, auto&& visit) {
  visit("operation", each.operation);
  visit("count", each.count);
  visit("of", each.of);
}

void visit_members(Is<TrialRecord> auto& record, auto&& visit) {
  visit_kernel(record, visit);
  visit.if_any("module", record.module);
  visit("device", record.device);
  visit("grid", record.grid);
  visit("block", record.block);
  visit("shared_bytes", record.shared_bytes);
  visit("perturbation", record.perturbation);
  visit("sites", record.sites);
  visit("ms", record.ms);
  visit("is_modelled", record.is_modelled);
  visit("registers", record.registers);
  visit("spill_bytes", record.spill_bytes);
  visit("blocks_per_sm", record.blocks_per_sm);
  visit("launches", record.launches);
  visit("replays", record.replays);
  visit.if_any("counts", record.counts);
  visit.if_any("results", record.results);
  visit("note", record.note);
}

void visit_members(Is<SitesRecord::PtxPart> auto& part, auto&& visit) {
  visit("line", part.line);
  visit("text", part.text);
}

void visit_members(Is<SitesRecord> auto& record, auto&& visit) {
  visit_kernel(record, visit);
  visit("table", record.table);
  visit.may_lack("functions", record.functions);
  visit.may_lack("opcodes", record.opcodes);
  visit.may_lack("files", record.files);
  visit("labels", record.labels);
  visit("blocks", record.blocks);
  visit("instructions", record.instructions);
  visit.if_any("objects", record.objects);
  visit.if_any("strides", record.strides);
  visit.if_any("call_sites", record.call_sites);
  visit.if_any("ptx", record.ptx);
}

template <typename T>
concept HasMembers = requires(T& value, int& visit) {
  visit_members(value, visit);
};

/// The columns of a table of `Row`: calls visit(name, pointer to the member, may be absent). An unknown
/// number is null; a column without any known number may be absent.
template <std::same_as<SitesRecord::Block> Row>
void visit_columns(auto&& visit) {
  visit("function", &Row::function);
  visit("first", &Row::first);
  visit("instructions", &Row::instructions);
  visit("falls_to", &Row::falls_to, true);
  visit("branches_to", &Row::branches_to, true);
  visit("join", &Row::join, true);
  visit("loop", &Row::loop, true);
}

template <std::same_as<SitesRecord::CallSite> Row>
void visit_columns(auto&& visit) {
  visit("file", &Row::file);
  visit("line", &Row::line);
  visit("outer", &Row::outer, true);
}

template <std::same_as<SitesRecord::Instruction> Row>
void visit_columns(auto&& visit) {
  visit("block", &Row::block);
  visit("opcode", &Row::opcode);
  visit("labels", &Row::labels);
  visit("ptx_line", &Row::ptx_line);
  visit("file", &Row::file);
  visit("line", &Row::line);
  visit("call_site", &Row::call_site, true);
  visit("object", &Row::object, true);
  visit("stride", &Row::stride, true);
}

template <typename Row>
concept HasColumns = std::same_as<Row, SitesRecord::Block> || std::same_as<Row, SitesRecord::Instruction> ||
    std::same_as<Row, SitesRecord::CallSite>;

}  // namespace lynxpp::report
