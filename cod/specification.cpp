#include "cod/specification.h"

#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "cod/codegen/device/codegen.h"
#include "cod/codegen/host/codegen.h"
#include "cod/sema/sema.h"
#include "cod/syntax/parser.h"
#include "support/text.h"

namespace lynxpp::cod {
namespace {

/// "specs/instruction_count.cod" ▶ "instruction_count".
std::string short_name(std::string path) {
  if (const auto slash = path.find_last_of('/'); slash != std::string::npos) path.erase(0, slash + 1);
  constexpr std::string_view extension = ".cod";
  if (path.size() > extension.size() && path.ends_with(extension))
    path.resize(path.size() - extension.size());
  return path;
}

/// The first comment line of the text, if the text begins with a comment.
std::string summary_of(const std::string& source) {
  std::string_view text = source;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty()) continue;
    if (!line.starts_with("//") && !line.starts_with("/*")) return {};
    line.remove_prefix(2);
    if (line.ends_with("*/")) line.remove_suffix(2);
    line = trim(line);
    if (!line.empty()) return std::string(line);
  }
  return {};
}

class CompiledSpecification final : public Specification {
 public:
  CompiledSpecification(std::string source, const std::string& path, std::shared_ptr<const Program> program)
      : name_(short_name(path)),
        summary_(summary_of(source)),
        source_(std::move(source)),
        program_(std::move(program)) {
    for (const HandlerBody& body : program_->handlers) handlers_.push_back(body.handler);
    for (const auto& [position, array] : program_->accesses)
      accesses_.push_back({array, program_->locate(position)});
    for (const std::unique_ptr<Collection>& collection : program_->collections) {
      if (std::optional<TraceStream> stream = collection->stream()) streams_.push_back(std::move(*stream));
    }
  }

  const std::string& name() const override { return name_; }
  const std::string& summary() const override { return summary_; }
  const std::string& source() const override { return source_; }
  const std::vector<Handler>& handlers() const override { return handlers_; }
  Sampling sampling() const override {
    Sampling sampling = rarest(samplings(""));
    sampling.launches = program_->every_launch;
    return sampling;
  }
  std::vector<HandlerSampling> samplings(const std::string& kernel) const override {
    std::vector<HandlerSampling> samplings;
    for (const HandlerBody& body : program_->handlers) {
      if (body.handler.is_initializer || (!kernel.empty() && !body.handler.wants_kernel(kernel))) continue;
      samplings.push_back({body.handler.location.line, body.sampling});
      samplings.back().sampling.launches = program_->every_launch;
    }
    return samplings;
  }
  const std::vector<GlobalArray>& arrays() const override { return program_->arrays; }
  const std::vector<StateVariable>& state() const override { return program_->state; }
  const std::vector<Word>& words() const override { return program_->words; }
  const std::vector<ModuleVariable>& variables() const override { return program_->variables; }
  const std::vector<SiteCounter>& counters() const override { return program_->counters; }
  const std::vector<Tally>& tallies() const override { return program_->tallies; }
  const std::vector<CheckedAccess>& checked_accesses() const override { return accesses_; }
  const std::vector<TraceStream>& streams() const override { return streams_; }
  bool lists_arrays() const override { return program_->lists_arrays; }
  bool emits_addresses() const override { return program_->emits_addresses; }
  bool asks_if_running() const override { return program_->asks_if_running; }
  bool asks_for_boxes() const override { return program_->asks_for_boxes; }
  bool uses_transfer_labels() const override { return program_->uses_transfer_labels; }
  const std::optional<std::vector<AddedResult>>& added_results() const override {
    return program_->added_results;
  }

  Result<DeviceCode> lower_device(const DeviceTarget& target) const override {
    // One result per compute capability: most programs' kernels are compiled for one.
    const std::lock_guard lock(mutex_);
    const auto key = std::tuple(target.sm, target.plain_counters, target.wide_counters, target.lane_values,
                                target.words, target.streams_traces, target.has_lane_sizes);
    auto found = device_code_.find(key);
    if (found == device_code_.end())
      found = device_code_.emplace(key, generate_device_code(*program_, target)).first;
    return found->second;
  }

  Result<std::shared_ptr<const HostReport>> compile_host() const override {
    const std::lock_guard lock(mutex_);
    if (!report_) report_ = generate_host_report(program_);
    return *report_;
  }

 private:
  std::string name_;
  std::string summary_;
  std::string source_;
  std::shared_ptr<const Program> program_;
  std::vector<Handler> handlers_;
  std::vector<CheckedAccess> accesses_;
  std::vector<TraceStream> streams_;
  mutable std::mutex mutex_;
  mutable std::map<std::tuple<int, bool, bool, bool, WordScheme, bool, bool>, Result<DeviceCode>>
      device_code_;
  mutable std::optional<Result<std::shared_ptr<const HostReport>>> report_;
};

}  // namespace

Result<std::shared_ptr<const Specification>> compile(std::string source, const std::string& name,
                                                     Diagnostics* warnings) {
  Result<SyntaxTree> tree = parse(source, name);
  if (!tree) return tree.error();
  Diagnostics found;
  Result<std::shared_ptr<const Program>> program = analyse(std::move(*tree), name, found);
  if (!program) return program.error();
  if (warnings != nullptr) warnings->insert(warnings->end(), found.begin(), found.end());
  return std::shared_ptr<const Specification>(
      std::make_shared<CompiledSpecification>(std::move(source), name, std::move(*program)));
}

}  // namespace lynxpp::cod
