#include "ptx/perturb/perturbation.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "support/text.h"

namespace lynxpp::ptx {
namespace {

constexpr OperationDescription operations[] = {
#define PTX_OPERATION(id, name, summary) {Operation::id, name, summary},
#include "ptx/perturb/operations.def"
};

std::optional<Operation> operation_named(std::string_view name) {
  const auto found = std::ranges::find(operations, name, &OperationDescription::name);
  return found == std::end(operations) ? std::nullopt : std::optional(found->operation);
}

std::optional<Form> form_named(std::string_view name) {
  if (name == "again") return Form::again;
  if (name == "harmless") return Form::harmless;
  return std::nullopt;
}

std::optional<std::uint32_t> line_number(std::string_view text) {
  std::uint32_t line = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), line);
  if (problem != std::errc() || end != text.data() + text.size() || line == 0) return std::nullopt;
  return line;
}

std::string known_operations() {
  std::string list;
  for (const OperationDescription& each : operations)
    list += (list.empty() ? "" : ", ") + std::string(each.name);
  return list;
}

}  // namespace

std::span<const OperationDescription> operation_table() { return operations; }

bool has_pattern(Operation operation) {
  return operation == Operation::shared_access || operation == Operation::global_access ||
         operation == Operation::atomic || operation == Operation::local_memory;
}

bool adds_code(Operation operation) {
  return is_class(operation) || counts(operation) || operation == Operation::read_only_loads;
}

bool is_remedy(Operation operation) {
  return operation == Operation::more_registers || operation == Operation::fewer_registers ||
         operation == Operation::read_only_loads || operation == Operation::occupancy;
}

bool counts(Operation operation) {
  return operation == Operation::lanes || operation == Operation::waits || operation == Operation::bytes;
}

bool is_class(Operation operation) {
  switch (operation) {
    case Operation::occupancy:
    case Operation::copy:
    case Operation::more_registers:
    case Operation::fewer_registers:
    case Operation::read_only_loads:
    case Operation::lanes:
    case Operation::waits:
    case Operation::bytes: return false;
    default: return true;
  }
}

bool has_harmless(Operation operation) { return is_class(operation); }

std::string to_text(const Perturbation& perturbation) {
  std::string text(operations[static_cast<std::size_t>(perturbation.operation)].name);
  text += perturbation.form == Form::again ? ":again" : ":harmless";
  char separator = '@';
  for (const std::uint32_t line : perturbation.lines) {
    text += separator + std::to_string(line);
    separator = '+';
  }
  return text;
}

Result<Perturbation> parse_perturbation(std::string_view text) {
  const auto refuse = [&](const std::string& why, std::string hint = {}) {
    return failure("'" + std::string(text) + "' is not a perturbation: " + why, std::move(hint));
  };
  const std::size_t colon = text.find(':');
  const std::size_t at = text.find('@');
  const std::optional<Operation> operation = operation_named(text.substr(0, std::min(colon, at)));
  if (!operation) return refuse("unknown operation", "the operations are " + known_operations());
  const std::string_view form_text =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1, at - colon - 1);
  const std::optional<Form> form = form_named(form_text);
  if (!form) return refuse("the form must be 'again' or 'harmless', as in 'shared-access:again'");
  Perturbation perturbation{*operation, *form, {}};
  if (at != std::string_view::npos) {
    for (const std::string& each : split(text.substr(at + 1), '+')) {
      const std::optional<std::uint32_t> line = line_number(each);
      if (!line) return refuse("'" + each + "' is not a line number");
      perturbation.lines.push_back(*line);
    }
  }
  std::ranges::sort(perturbation.lines);
  const auto repeated = std::ranges::unique(perturbation.lines);
  perturbation.lines.erase(repeated.begin(), repeated.end());
  if (!has_harmless(*operation) && (*form == Form::harmless || !perturbation.lines.empty()))
    return refuse("it has only the form 'again', for the entire kernel");
  return perturbation;
}

}  // namespace lynxpp::ptx
