#include "support/finding_kind.h"

namespace lynxpp {
namespace {

constexpr FindingRule rules[] = {
#define FINDING(id, name, check, of_class, summary, help) \
  {name, check, FindingClass::of_class, summary, help},
#include "support/finding_kinds.def"
#undef FINDING
};

const FindingRule& rule_of(FindingKind kind) { return rules[static_cast<std::size_t>(kind)]; }

}  // namespace

std::span<const FindingRule> finding_rules() { return rules; }
std::string_view name_of(FindingKind kind) { return rule_of(kind).name; }
std::string_view check_of(FindingKind kind) { return rule_of(kind).check; }
FindingClass class_of(FindingKind kind) { return rule_of(kind).of_class; }

std::string_view name_of(FindingClass of_class) {
  switch (of_class) {
    case FindingClass::error: return "error";
    case FindingClass::hazard: return "hazard";
    case FindingClass::warning: return "warning";
  }
  return "";
}

}  // namespace lynxpp
