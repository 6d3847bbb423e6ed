#include "observe/records.h"

#include <algorithm>
#include <map>
#include <set>

#include "support/text.h"

namespace lynxpp::observe {
namespace {

using models::AccessKind;
using models::AccessSite;
using models::Observation;
using models::WarpAccess;
using report::LaunchRecord;
using report::ResultValue;
using report::SitesRecord;

constexpr std::uint32_t writes_bit = 1, shared_bit = 2;
/// Value of `kind` for an exiting lane of a chosen block.
constexpr std::uint64_t chosen_block = 2;

const ResultValue* find_result(const LaunchRecord& record, std::string_view name) {
  const auto found = std::ranges::find(record.results, name, &ResultValue::name);
  return found == record.results.end() ? nullptr : &*found;
}

/// Columns of integers by name; records which of them are missing.
class Columns {
 public:
  explicit Columns(const LaunchRecord& record) : record_(record) {}

  /// Empty if there is no such result.
  std::vector<std::uint64_t> operator()(const std::string& name) {
    const ResultValue* result = find_result(record_, name);
    if (result == nullptr) {
      missing_ = name;
      return {};
    }
    if (const auto* values = std::get_if<std::vector<std::uint64_t>>(&result->values)) return *values;
    if (const auto* values = std::get_if<std::vector<std::int64_t>>(&result->values))
      return {values->begin(), values->end()};
    return {};  // an empty list has no element type
  }
  std::uint64_t number(const std::string& name) {
    const std::vector<std::uint64_t> values = (*this)(name);
    return values.empty() ? 0 : values.front();
  }
  const std::string& missing() const { return missing_; }

 private:
  const LaunchRecord& record_;
  std::string missing_;
};

AccessKind kind_of(const std::vector<std::string>& labels) {
  const auto has = [&](const char* label) { return std::ranges::find(labels, label) != labels.end(); };
  if (has("ATOMIC")) return AccessKind::atomic;
  return has("MEM_READ") ? AccessKind::read : AccessKind::write;
}

void add_sites(const SitesRecord& sites, const Transfers* transfers, Observation& observation) {
  std::map<std::uint32_t, std::uint32_t> by_line;
  for (std::uint32_t i = 0; i < sites.instructions.size(); ++i) {
    const SitesRecord::Instruction& from = sites.instructions[i];
    AccessSite site;
    site.opcode = sites.opcodes.at(from.opcode);
    if (from.file != SitesRecord::unknown) site.file = sites.files.at(from.file);
    site.line = from.line;
    site.ptx_line = from.ptx_line;
    site.kind = kind_of(sites.labels.at(from.labels));
    site.reference = i;
    by_line[from.ptx_line] = i;
    observation.sites.push_back(std::move(site));
  }
  if (transfers == nullptr) return;
  const auto site_of = [&](std::uint32_t line) {
    const auto found = by_line.find(line);
    return found == by_line.end() ? AccessSite::none : found->second;
  };
  for (const auto& [store, load] : transfers->fetched_by) {
    const std::uint32_t site = site_of(store), source = site_of(load);
    if (site != AccessSite::none) observation.sites[site].fetched_by = source;
  }
  for (const auto& [load, first] : transfers->reference) {
    const std::uint32_t site = site_of(load), reference = site_of(first);
    if (site != AccessSite::none && reference != AccessSite::none)
      observation.sites[site].reference = reference;
  }
}

void add_arrays(const LaunchRecord& record, Columns& column, Observation& observation) {
  if (find_result(record, "arrays.address") == nullptr) return;  // the kernel has no known arrays
  const std::vector<std::uint64_t> address = column("arrays.address"), bytes = column("arrays.bytes"),
                                   shared = column("arrays.shared");
  const ResultValue& named = *find_result(record, "arrays.address");
  for (std::size_t i = 0; i < std::min({address.size(), bytes.size(), shared.size()}); ++i) {
    const std::string name = i < named.labels.size() ? named.labels[i] : std::to_string(i);
    observation.arrays.push_back({name, address[i], bytes[i], shared[i] != 0});
  }
}

/// Accesses in order, and the threads of each block that have exited the kernel.
struct Stream {
  std::map<std::uint64_t, std::map<std::uint32_t, std::uint32_t>> left;  ///< lanes, by block and warp
  std::set<std::uint64_t> broken;                                        ///< blocks with missing addresses
  std::set<std::uint64_t> chosen;                                        ///< blocks observed entirely
};

void add_accesses(Columns& column, Observation& observation, Stream& stream) {
  const std::vector<std::uint64_t> block = column("accesses.block"), first = column("accesses.first"),
                                   lanes = column("accesses.lanes"),
                                   instruction = column("accesses.instruction"),
                                   warp = column("accesses.warp"), bytes = column("accesses.bytes"),
                                   arithmetic = column("accesses.arithmetic"), kind = column("accesses.kind");
  const std::size_t count = std::min({block.size(), first.size(), lanes.size(), instruction.size(),
                                      warp.size(), bytes.size(), arithmetic.size(), kind.size()});
  observation.accesses.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    WarpAccess access;
    access.block = block[i];
    access.warp = static_cast<std::uint32_t>(warp[i]);
    access.lanes = static_cast<std::uint32_t>(lanes[i]);
    if (instruction[i] >= observation.sites.size()) {
      stream.left[access.block][access.warp] |= access.lanes;
      if (kind[i] == chosen_block) stream.chosen.insert(access.block);
      continue;
    }
    access.site = static_cast<std::uint32_t>(instruction[i]);
    access.bytes = static_cast<std::uint32_t>(bytes[i]);
    access.arithmetic = static_cast<std::uint32_t>(arithmetic[i]);
    access.writes = (kind[i] & writes_bit) != 0;
    access.is_shared = (kind[i] & shared_bit) != 0;
    access.first = first[i];
    const bool has_addresses = access.first + access.lane_count() <= observation.addresses.size();
    if (!has_addresses || access.bytes == 0) {
      stream.broken.insert(access.block);  // bulk copies have no size per lane
      continue;
    }
    observation.accesses.push_back(access);
  }
}

bool has_left(const Observation& observation, const std::map<std::uint32_t, std::uint32_t>& lanes) {
  std::uint32_t threads = 0;
  for (const auto& [warp, mask] : lanes) threads += static_cast<std::uint32_t>(std::popcount(mask));
  return threads == observation.block_threads();
}

/// Finds complete blocks: all records of a block are present if the last ones, of its exiting lanes, were
/// stored.
void find_whole_blocks(const Stream& stream, Observation& observation) {
  std::set<std::uint64_t> whole;
  for (const auto& [block, lanes] : stream.left) {
    if (has_left(observation, lanes) && !stream.broken.contains(block)) whole.insert(block);
  }
  for (const std::uint64_t block : whole) {
    if (stream.chosen.contains(block)) observation.blocks.push_back(block);
  }
  while (whole.contains(observation.first_blocks)) ++observation.first_blocks;
}

}  // namespace

Result<std::vector<Observation>> observations_of(
    const std::vector<report::Record>& records,
    const std::function<const Transfers*(const std::string& kernel)>& transfers_of) {
  std::map<std::pair<std::string, std::uint64_t>, const SitesRecord*> tables;
  std::vector<Observation> observations;
  for (const report::Record& each : records) {
    if (const auto* sites = std::get_if<SitesRecord>(&each)) tables[{sites->kernel, sites->table}] = sites;
    const auto* record = std::get_if<LaunchRecord>(&each);
    if (record == nullptr) continue;
    Observation observation;
    observation.kernel = demangle(record->kernel);
    observation.launch = record->launch;
    observation.device = record->device;
    std::copy(std::begin(record->grid), std::end(record->grid), observation.grid);
    std::copy(std::begin(record->block), std::end(record->block), observation.block);
    const auto table = tables.find({record->kernel, record->sites.value_or(0)});
    if (table == tables.end()) return failure("a launch of " + observation.kernel + " has no site table");
    add_sites(*table->second, transfers_of(record->kernel), observation);
    Columns column(*record);
    observation.addresses = column("addresses.value");
    const std::vector<std::uint64_t> executions = column("executions");
    for (std::size_t i = 0; i < std::min(executions.size(), observation.sites.size()); ++i)
      observation.sites[i].executions = executions[i];
    add_arrays(*record, column, observation);
    Stream stream;
    add_accesses(column, observation, stream);
    find_whole_blocks(stream, observation);
    observation.dropped = column.number("dropped");
    if (!column.missing().empty())
      return failure("a launch of " + observation.kernel + " has no result '" + column.missing() + "'");
    observations.push_back(std::move(observation));
  }
  return observations;
}

}  // namespace lynxpp::observe
