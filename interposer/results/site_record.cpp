#include "interposer/results/site_record.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace lynxpp::interposer {
namespace {

/// Numbers the sets of labels in order of first appearance.
class LabelSets {
 public:
  explicit LabelSets(report::SitesRecord& record) : sets_(record.labels) {}

  std::uint32_t index_of(const cod::InstructionLabels& labels) {
    const auto [entry, is_new] =
        known_.emplace(std::tuple(labels.classes, labels.spaces, labels.data, labels.transfers),
                       static_cast<std::uint32_t>(sets_.size()));
    if (is_new) {
      std::vector<std::string>& set = sets_.emplace_back();
      for (const std::string_view name : cod::names_of(labels)) set.emplace_back(name);
    }
    return entry->second;
  }

 private:
  std::vector<std::vector<std::string>>& sets_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> known_;
};

}  // namespace

report::SitesRecord site_record(const cod::SiteTable& sites, const std::string& kernel, std::uint64_t table) {
  report::SitesRecord record;
  record.kernel = kernel;
  record.table = table;
  record.functions = sites.functions;
  record.opcodes = sites.opcodes;
  record.files = sites.files;
  record.objects = sites.objects;
  record.strides = sites.strides;
  static_assert(cod::SiteTable::unknown == report::SitesRecord::unknown);
  for (const cod::SiteTable::CallSite& call : sites.call_sites)
    record.call_sites.push_back({call.file, call.line, call.outer});
  for (const cod::SiteTable::Block& block : sites.blocks) {
    record.blocks.push_back({block.function, block.first_instruction, block.instructions, block.falls_to,
                             block.branches_to, block.join, block.loop});
  }
  LabelSets labels(record);
  for (const cod::SiteTable::Instruction& each : sites.instructions) {
    record.instructions.push_back({each.block, each.opcode, labels.index_of(cod::united(each.labels)),
                                   each.ptx_line, each.file, each.line, each.call_site, each.object,
                                   each.stride});
  }
  return record;
}

bool has_values_per_site(const report::LaunchRecord& record) {
  const auto is_site = [](const std::string& extent) {
    return extent == "BASIC_BLOCKS" || extent == "INSTRUCTIONS";
  };
  return std::any_of(record.results.begin(), record.results.end(), [&](const report::ResultValue& result) {
    return std::any_of(result.extent_names.begin(), result.extent_names.end(), is_site);
  });
}

}  // namespace lynxpp::interposer
