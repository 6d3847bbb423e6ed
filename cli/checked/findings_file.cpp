#include "cli/checked/findings_file.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <utility>

#include "support/finding_kind.h"
#include "support/output_file.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using Json = nlohmann::ordered_json;

// ---------------------------------------------------------------- locations

constexpr const char* working_directory = "%SRCROOT%";

/// Returns a path as it appears in a URI.
std::string percent_encoded(const std::string& path) {
  std::string text;
  for (const char each : path) {
    const bool is_plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
                          (each >= '0' && each <= '9') ||
                          std::string_view("/-._~!$&'()*+,;=@").find(each) != std::string_view::npos;
    if (is_plain) {
      text += each;
    } else {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(each));
      text += code;
    }
  }
  return text;
}

class SarifLocations {
 public:
  explicit SarifLocations(const std::string& folder) : folder_(resolved(folder, {})) {}

  std::string folder_uri() const { return "file://" + percent_encoded(folder_.string()) + "/"; }

  Json artifact(const std::string& file) const {
    const std::filesystem::path path = resolved(file, folder_);
    const std::filesystem::path relative = path.lexically_relative(folder_);
    if (relative.empty() || *relative.begin() == "..")
      return {{"uri", "file://" + percent_encoded(path.string())}};
    return {{"uri", percent_encoded(relative.string())}, {"uriBaseId", working_directory}};
  }

  /// `place`: an access or a frame of a stack. `file`: represents code without a source line.
  Json location(const Json& place, const std::string& file) const {
    const std::string source = place.value("source_file", "");
    const auto line = place.value("source_line", std::uint64_t{0});
    Json physical = {{"artifactLocation", artifact(source.empty() ? file : source)}};
    if (line != 0) physical["region"] = {{"startLine", line}};
    Json made = {{"physicalLocation", std::move(physical)}};
    const std::string function = place.value("function", "");
    if (!function.empty()) {
      const Json named = {{"name", demangle(function)}, {"decoratedName", function}, {"kind", "function"}};
      made["logicalLocations"] = Json::array({named});
    }
    return made;
  }

  /// Identifies a source line by its file and text, so that it stays the same if other lines are added.
  std::string identity(const Json& place) {
    const std::string file = place.value("source_file", "");
    if (file.empty()) return place.value("opcode", "");
    const auto line = place.value("source_line", std::uint64_t{0});
    const std::vector<std::string>& lines = lines_of(file);
    const bool is_known = line > 0 && line <= lines.size();
    return artifact(file).value("uri", "") + "\n" +
           (is_known ? std::string(trim(lines[line - 1])) : std::to_string(line));
  }

 private:
  static std::filesystem::path resolved(const std::string& file, const std::filesystem::path& folder) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::weakly_canonical(folder / file, error);
    return error ? (folder / file).lexically_normal() : path;
  }
  const std::vector<std::string>& lines_of(const std::string& file) {
    const auto [known, is_new] = lines_.try_emplace(file);
    std::string text;
    if (is_new && read_file(resolved(file, folder_).string(), text)) known->second = split(text, '\n');
    return known->second;
  }

  std::filesystem::path folder_;
  std::map<std::string, std::vector<std::string>> lines_;
};

// ---------------------------------------------------------------- results

std::string rule_id(std::string_view kind) {
  std::string id(kind);
  std::ranges::replace(id, ' ', '-');
  return id;
}

/// A hazard is as severe as an error: the level decides if code scanning fails a pull request.
std::string_view level_of(std::string_view of_class) {
  return of_class == name_of(FindingClass::warning) ? "warning" : "error";
}

std::string_view definition_of(FindingClass of_class) {
  switch (of_class) {
    case FindingClass::error: return "Error: it happened in the run.";
    case FindingClass::hazard: return "Hazard: another order of execution may go wrong.";
    case FindingClass::warning: return "Warning: defined, but probably not intended.";
  }
  return "";
}

Json sarif_rules() {
  Json all = Json::array();
  for (const FindingRule& rule : finding_rules()) {
    const std::string_view of_class = name_of(rule.of_class);
    const std::string full = std::string(rule.summary) + ". " + std::string(definition_of(rule.of_class));
    all.push_back({{"id", rule_id(rule.name)},
                   {"shortDescription", {{"text", rule.summary}}},
                   {"fullDescription", {{"text", full}}},
                   {"help", {{"text", rule.help}}},
                   {"defaultConfiguration", {{"level", level_of(of_class)}}},
                   {"properties", {{"check", rule.check}, {"class", of_class}}}});
  }
  return all;
}

Json stack_of(const Json& place, const SarifLocations& locations, const std::string& file) {
  Json frames = Json::array();
  for (const Json& each : place.at("stack")) frames.push_back({{"location", locations.location(each, file)}});
  return {{"message", {{"text", place.value("action", "")}}}, {"frames", std::move(frames)}};
}

/// Returns 16 digits of FNV-1a, which are the same in every run.
std::string fingerprint(std::string_view text) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100'0000'01b3;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

/// Makes the results of a run.
class SarifResults {
 public:
  explicit SarifResults(SarifLocations& locations) : locations_(locations) {}

  /// `file`: of the process.
  Json make(const Json& finding, const std::string& file) {
    const bool is_leak = finding.value("type", "") == "leak";
    const std::string kind = is_leak ? std::string(name_of(FindingKind::leak)) : finding.value("kind", "");
    const Json place = finding.value("place", Json::object());
    const Json other = finding.value("other", Json::object());
    std::string message = finding.value("class", "") + ": " + finding.value("message", "");
    if (!is_leak && !place.contains("source_file"))
      message += "\nCompile with -lineinfo to see source lines.";
    Json result = {{"ruleId", rule_id(kind)},
                   {"level", level_of(finding.value("class", ""))},
                   {"message", {{"text", message}}},
                   {"locations", Json::array({locations_.location(place, file)})}};
    if (!other.empty()) {
      Json related = locations_.location(other, file);
      related["id"] = 1;
      related["message"] = {{"text", other.value("action", "")}};
      result["relatedLocations"] = Json::array({related});
    }
    Json stacks = Json::array();
    for (const Json* each : {&place, &other}) {
      Json stack = each->contains("stack") ? stack_of(*each, locations_, file) : Json();
      // Both accesses of a race may be one instruction; the stacks of a result are unique.
      if (!stack.is_null() && std::ranges::find(stacks, stack) == stacks.end())
        stacks.push_back(std::move(stack));
    }
    if (!stacks.empty()) result["stacks"] = std::move(stacks);
    if (finding.contains("count")) result["occurrenceCount"] = finding["count"];
    std::string identity = kind + "\n" + finding.value("kernel", finding.value("site", "")) + "\n" +
                           place.value("function", "") + "\n" + locations_.identity(place) + "\n" +
                           locations_.identity(other);
    identity += "\n" + std::to_string(++equal_[identity]);
    result["partialFingerprints"] = {{"lynxppFinding/v1", fingerprint(identity)}};
    result["properties"] = {{"class", finding.value("class", "")}};
    for (const char* const key : {"kernel", "orders"}) {
      if (finding.contains(key)) result["properties"][key] = finding[key];
    }
    return result;
  }

 private:
  SarifLocations& locations_;
  std::map<std::string, int> equal_;
};

Json notification(std::string_view level, const std::string& text) {
  return {{"level", level}, {"message", {{"text", text}}}};
}

}  // namespace

std::string findings_text(const CheckedProgram& program) {
  std::string text, findings;
  for (const Json& each : program.objects) {
    if (each.value("type", "") != "summary") {
      findings += each.value("class", "") + ": " + each.value("message", "") + "\n";
      continue;
    }
    text += "== lynxpp check: " + each.value("message", "") + " ==\n" + std::exchange(findings, {});
    for (const Json& why : each.value("unexplored", Json::array())) text += why.value("message", "") + "\n";
    text += each.value("trust", "") + "\n";
  }
  return text + findings;
}

std::string sarif_log(const CheckedProgram& program) {
  SarifLocations locations(program.folder);
  SarifResults results(locations);
  Json made = Json::array(), notifications = Json::array();
  std::vector<const Json*> of_process;
  const auto add_all = [&](const std::string& file) {
    for (const Json* const each : std::exchange(of_process, {})) made.push_back(results.make(*each, file));
  };
  for (const Json& each : program.objects) {
    if (each.value("type", "") != "summary") {
      of_process.push_back(&each);
      continue;
    }
    add_all(each.value("program", program.file));
    for (const Json& why : each.value("unexplored", Json::array()))
      notifications.push_back(notification("note", why.value("message", "")));
  }
  add_all(program.file);
  if (!program.has_checked)
    notifications.push_back(notification("error", "the program launched no kernel on the cpu device"));
  Json invocation = {{"executionSuccessful", program.has_checked}, {"exitCode", program.exit_code}};
  if (!notifications.empty()) invocation["toolExecutionNotifications"] = std::move(notifications);
  const Json driver = {{"name", "lynxpp"},  //
                       {"version", LYNXPP_VERSION},
                       {"rules", sarif_rules()}};
  const Json run = {{"tool", {{"driver", driver}}},
                    {"invocations", Json::array({invocation})},
                    {"originalUriBaseIds", {{working_directory, {{"uri", locations.folder_uri()}}}}},
                    {"results", std::move(made)}};
  const Json log = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", Json::array({run})}};
  return log.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lynxpp::cli
