#include "cli/modelled/kernels.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/child.h"
#include "cli/diagnostics.h"
#include "cli/preload.h"
#include "cli/program.h"
#include "support/json.h"
#include "support/name_pattern.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using namespace models::clock;
using ReadJson = nlohmann::json;

SizeCounts sizes_of(const ReadJson& json) { return {json.at("32"), json.at("64"), json.at("128")}; }

RequestCounts requests_of(const ReadJson& json) {
  return {json.at("requests"), json.at("bytes_asked"), json.at("sectors"), json.at("lines")};
}

void read_cache(const ReadJson& json, const char* name, std::optional<CacheCounts>& counts,
                std::optional<SampledLocality>& locality) {
  if (!json.contains(name)) return;
  const ReadJson& cache = json.at(name);
  counts = CacheCounts{cache.at("hits"), cache.at("misses")};
  if (!cache.contains("locality")) return;
  const ReadJson& sampled = cache.at("locality");
  locality = SampledLocality{sampled.at("sets"), sampled.at("sampled_sets"), {}};
  locality->counts.first = sampled.at("first");
  locality->counts.first_sectors = sampled.at("first_sectors");
  locality->counts.stores = sampled.at("stores");
  locality->counts.distances = sampled.at("distances").get<std::vector<std::uint64_t>>();
}

/// Throws if a member is missing or of the wrong type.
KernelTime time_of(const ReadJson& json) {
  KernelTime time;
  time.cycles = json.at("cycles");
  time.seconds = json.at("seconds");
  time.blocks_per_multiprocessor = json.at("blocks_per_multiprocessor");
  time.warps_per_multiprocessor = json.at("warps_per_multiprocessor");
  const ReadJson& transactions = json.at("transactions");
  time.loads = sizes_of(transactions.at("loads"));
  time.stores = sizes_of(transactions.at("stores"));
  time.atomics = sizes_of(transactions.at("atomics"));
  time.load_requests = requests_of(json.at("requests").at("loads"));
  time.store_requests = requests_of(json.at("requests").at("stores"));
  const ReadJson& channels = json.at("channels");
  for (std::size_t i = 0; i < channels.at("bytes").size(); ++i)
    time.channels.push_back(
        {channels.at("transactions")[i], channels.at("bytes")[i], channels.at("busy_cycles")[i]});
  read_cache(json, "l1", time.l1, time.l1_locality);
  read_cache(json, "l2", time.l2, time.l2_locality);
  const ReadJson& traffic = json.at("traffic");
  time.traffic.bin_cycles = traffic.at("bin_cycles");
  time.traffic.over_time = traffic.at("over_time").get<std::vector<std::vector<std::uint64_t>>>();
  time.traffic.of_block = traffic.at("of_block").get<std::vector<std::vector<std::uint64_t>>>();
  return time;
}

void add(SizeCounts& to, const SizeCounts& more) {
  to.of_32 += more.of_32, to.of_64 += more.of_64, to.of_128 += more.of_128;
}
void add(RequestCounts& to, const RequestCounts& more) {
  to.requests += more.requests, to.bytes_asked += more.bytes_asked;
  to.sectors += more.sectors, to.lines += more.lines;
}
void add(std::optional<CacheCounts>& to, const std::optional<CacheCounts>& more) {
  if (!to || !more) return;
  to->hits += more->hits, to->misses += more->misses;
}
void add(std::optional<SampledLocality>& to, const std::optional<SampledLocality>& more) {
  if (to && more) to->counts += more->counts;
}

void add(KernelTime& to, const KernelTime& more) {
  to.cycles += more.cycles;
  to.seconds += more.seconds;
  add(to.loads, more.loads), add(to.stores, more.stores), add(to.atomics, more.atomics);
  add(to.load_requests, more.load_requests), add(to.store_requests, more.store_requests);
  for (std::size_t i = 0; i < std::min(to.channels.size(), more.channels.size()); ++i) {
    to.channels[i].transactions += more.channels[i].transactions;
    to.channels[i].bytes += more.channels[i].bytes;
    to.channels[i].busy_cycles += more.channels[i].busy_cycles;
  }
  add(to.l1, more.l1), add(to.l2, more.l2);
  add(to.l1_locality, more.l1_locality), add(to.l2_locality, more.l2_locality);
}

void add_launch(std::vector<ModelledKernel>& kernels, const ReadJson& line) {
  const std::string name = line.at("kernel");
  auto kernel = std::ranges::find(kernels, name, &ModelledKernel::kernel);
  if (kernel == kernels.end()) kernel = kernels.insert(kernels.end(), ModelledKernel{name, 0, 0, {}, {}});
  if (!line.contains("modelled")) {
    ++kernel->untimed;
    return;
  }
  KernelTime time = time_of(line.at("modelled"));
  if (kernel->launches++ == 0) {
    kernel->traffic = time.traffic;
    kernel->time = std::move(time);
  } else {
    add(kernel->time, time);
  }
}

Status keep_matching(std::vector<ModelledKernel>& all, const std::string& pattern) {
  if (pattern.empty()) return success();
  const Result<NamePattern> wanted = NamePattern::parse(pattern);
  if (!wanted) return wanted.error();
  std::erase_if(all, [&](const ModelledKernel& each) { return !wanted->matches(each.kernel); });
  return success();
}

}  // namespace

Result<std::vector<ModelledKernel>> read_modelled(const std::string& lines) {
  std::vector<ModelledKernel> kernels;
  for (const std::string& line : split(lines, '\n')) {
    if (trim(line).empty()) continue;
    const Result<ReadJson> launch = parse_json<ReadJson>(line, {});
    if (!launch)
      return failure("invalid counters of the cpu device: " + launch.error().diagnostics.front().message);
    try {
      add_launch(kernels, *launch);
    } catch (const ReadJson::exception& error) {
      return failure(std::string("invalid counters of the cpu device: ") + error.what());
    }
  }
  return kernels;
}

Result<std::vector<ModelledKernel>> run_modelled(const std::vector<std::string>& command,
                                                 const std::string& machine, const std::string& kernels,
                                                 models::clock::CachesBefore caches) {
  const Result<std::string> library = preload_library();
  if (!library) return library.error();
  const ProgramSearch program = find_program(command.front());
  if (program.outcome != ProgramSearch::Outcome::found)
    return failure("cannot find the program '" + command.front() + "'");
  const WorkFolder folder;
  if (!folder.exists()) return failure("cannot create a temporary folder");
  const std::string counters = folder.file("counters.jsonl");
  const Variables variables{
      {"LD_PRELOAD", with_other_preloads(*library)},
      {"LYNXPP_DEVICE", "cpu"},
      {"LYNXPP_CPU_CLOCK", machine},
      {"LYNXPP_CPU_CLOCK_L2", caches == models::clock::CachesBefore::emptied ? "emptied" : "kept"},
      {"LYNXPP_CPU_COUNTERS", counters}};
  const Result<ChildRun> run =
      run_child(program.path, command, variables, folder, "with the clock of " + machine);
  if (!run) return run.error();
  std::string lines;
  std::error_code ignored;
  if (std::filesystem::exists(counters, ignored) && !read_file(counters, lines))
    return failure("cannot read the counters of the cpu device");
  Result<std::vector<ModelledKernel>> all = read_modelled(lines);
  if (!all) return all;
  if (Status understood = keep_matching(*all, kernels); !understood) return understood.error();
  if (all->empty())
    return nothing_measured("the program launched none of the selected kernels",
                            "a static CUDA runtime in a stripped program is not seen without a GPU");
  std::erase_if(*all, [](const ModelledKernel& each) { return each.launches == 0; });
  if (all->empty())
    return nothing_measured("none of the kernels has a modelled time",
                            "their blocks may be too large for " + machine);
  return all;
}

}  // namespace lynxpp::cli
