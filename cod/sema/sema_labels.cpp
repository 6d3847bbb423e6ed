// Labels of handlers: targets and filters.

#include "cod/sema/analyser.h"
#include "cod/sema/constant.h"

namespace lynxpp::cod {
namespace {

/// A use of a label whose first argument is a string; empty for other labels.
std::string example_of(const std::string& label) {
  static const std::map<std::string, std::string> examples{{"KERNEL", "KERNEL(\"matmul.*\")"},
                                                           {"CALL_TARGET", "CALL_TARGET(\"malloc|free\")"},
                                                           {"OPCODE", "OPCODE(\"ld.global.*\")"},
                                                           {"RESULT", "RESULT(\"f32\")"},
                                                           {"SOURCE", "SOURCE(\"kernel.cu\", 10, 20)"}};
  const auto found = examples.find(label);
  return found == examples.end() ? std::string() : found->second;
}

}  // namespace

bool Analyser::resolve_labels(const Item& item, HandlerBody& body, bool& is_report) {
  bool has_target = false;
  bool is_known = true;
  for (const Label& label : item.labels) {
    const auto target = find_target(label.name);
    const bool is_end = label.name == "ON_END";
    if (target || is_end || label.name == "ON_REPORT") {
      if (label.has_arguments) error(label.position, label.name + " takes no arguments");
      if (has_target) {
        error(label.position, "a handler can have only one target",
              "write a separate handler for " + label.name);
        continue;
      }
      has_target = true;
      is_report = !target;
      body.is_end = is_end;
      if (target) body.handler.target = *target;
      continue;
    }
    if (resolve_label_with_arguments(label, body)) {
      if (is_report)
        error(label.position, label.name + " is not allowed in " + (body.is_end ? "ON_END" : "ON_REPORT"));
      continue;
    }
    if (!add_filter(label.name, body.handler.filter)) {
      error(label.position, "unknown label '" + label.name + "'", suggestion(label.name, label_names()));
      is_known = is_known && has_target;
    } else if (label.has_arguments) {
      error(label.position, label.name + " takes no arguments");
    } else if (is_known && (!has_target || !is_instruction(body.handler.target))) {
      error(label.position, "the filter " + label.name + " needs the target ON_INSTRUCTION",
            "write 'ON_INSTRUCTION: " + label.name + ": { ... }'");
    }
  }
  program_.uses_transfer_labels |= body.handler.filter.transfers != 0;
  for (const Label& label : item.labels) {
    const bool is_filter = label.name != "KERNEL" && !example_of(label.name).empty();
    const bool selects_loops = label.name == "SOURCE" && is_at_loop(body.handler.target);
    if (is_filter && !selects_loops && !is_instruction(body.handler.target))
      error(label.position,
            "the filter " + label.name + " needs the target ON_INSTRUCTION" +
                (label.name == "SOURCE" ? " or a loop target" : ""),
            "write 'ON_INSTRUCTION: " + label.name + "(...): { ... }'");
  }
  return is_known;
}

bool Analyser::resolve_label_with_arguments(const Label& label, HandlerBody& body) {
  if (example_of(label.name).empty()) return resolve_sampling(label, body);
  InstructionFilter& filter = body.handler.filter;
  const std::string* text = string_argument(label);
  if (label.name == "SOURCE") {
    const auto first = positive_argument(label, 1);
    const auto last = label.arguments.size() > 2 ? positive_argument(label, 2) : first;
    if (!first || !last) return true;
    if (*last < *first) error(label.position, "the last line is before the first");
    filter.sources.push_back({text != nullptr ? *text : std::string(), static_cast<std::uint32_t>(*first),
                              static_cast<std::uint32_t>(*last)});
  }
  if (text == nullptr) return true;
  if (label.name == "KERNEL" || label.name == "CALL_TARGET") {
    std::vector<NamePattern>& patterns = label.name == "KERNEL" ? body.handler.kernels : filter.call_targets;
    if (auto parsed = name_pattern(label, *text)) patterns.push_back(std::move(*parsed));
  } else if (label.name == "OPCODE") {
    filter.opcodes.push_back(*text);
  } else if (label.name == "RESULT") {
    const ptx::DataType type = ptx::parse_data_type(*text);
    if (type == ptx::DataType::none || type == ptx::DataType::opaque) {
      error(label.arguments[0]->position, "'" + *text + "' is not a result type",
            "expected a PTX type: \"f32\", \"f64\", \"f16\", \"f16x2\", \"bf16\", \"bf16x2\", \"s32\", …");
    }
    filter.results.push_back(type);
  }
  return true;
}

bool Analyser::resolve_sampling(const Label& label, HandlerBody& body) {
  const bool of_launches = label.name == "SAMPLE_LAUNCHES";
  const bool of_blocks = label.name == "SAMPLE_BLOCKS" || label.name == "EVERY";
  if (!of_launches && !of_blocks && label.name != "SAMPLE_WARPS") return false;
  const auto every = positive_argument(label, 0);
  if (!every) return true;
  const auto number = static_cast<std::uint32_t>(*every);
  if (of_blocks) body.sampling.blocks = number;
  if (label.name == "SAMPLE_WARPS") body.sampling.warps = number;
  if (!of_launches) return true;
  if (program_.every_launch != 1 && program_.every_launch != number) {
    error(label.position, "launch sampling applies to the whole file, but another handler samples 1 of " +
                              std::to_string(program_.every_launch));
  }
  program_.every_launch = number;
  return true;
}

const std::string* Analyser::string_argument(const Label& label) {
  const bool is_string = !label.arguments.empty() && label.arguments[0]->kind == ExpressionKind::string &&
                         !label.arguments[0]->text.empty();
  if (is_string) return &label.arguments[0]->text;
  return fail(label.position, label.name + " needs a string", "write '" + example_of(label.name) + ":'");
}

std::optional<std::uint64_t> Analyser::positive_argument(const Label& label, std::size_t index) {
  if (label.arguments.size() > index && analyse_alone(*label.arguments[index])) {
    const auto constant = evaluate(*label.arguments[index]);
    const bool fits = constant && is_integer(constant->type);
    if (fits && constant->integer > 0 && constant->integer < 0x80000000u) return constant->integer;
  }
  return fail(label.position, label.name + " needs a positive constant",
              label.name == "SOURCE"
                  ? "write 'SOURCE(\"kernel.cu\", 10):' or 'SOURCE(\"kernel.cu\", 10, 20):'"
                  : "write '" + label.name + "(16):' for 1 of 16");
}

/// Compiles the regular expression in a label; nullopt after an error.
std::optional<NamePattern> Analyser::name_pattern(const Label& label, const std::string& pattern) {
  Result<NamePattern> parsed = NamePattern::parse(pattern);
  if (parsed) return std::move(*parsed);
  const Diagnostic& problem = parsed.error().diagnostics.front();
  return fail(label.arguments[0]->position, problem.message,
              problem.hint.empty() ? "to match any characters, write '.*'" : problem.hint);
}

}  // namespace lynxpp::cod
