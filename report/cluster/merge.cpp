#include "report/cluster/merge.h"

#include <algorithm>

#include "report/cluster/record_lines.h"
#include "report/members.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

/// Returns twelve hexadecimal digits in quotes.
std::string process_name_from(std::size_t hash) {
  std::string name(12, '0');
  for (auto digit = name.rbegin(); digit != name.rend(); ++digit, hash >>= 4)
    *digit = "0123456789abcdef"[hash & 15];
  return '"' + name + '"';
}

/// Hashes all members except those two.
std::size_t hash_without(const std::vector<JsonMember>& members, std::string_view one,
                         std::string_view other) {
  std::size_t hash = 0;
  for (const JsonMember& member : members) {
    if (member.name == one || member.name == other) continue;
    hash = hash * 1099511628211u + std::hash<std::string_view>()(member.name);
    hash = hash * 1099511628211u + std::hash<std::string_view>()(member.value);
  }
  return hash;
}

/// Replaces the member, or inserts it after the record's kind.
void set_member(std::vector<JsonMember>& members, std::string_view name, std::string_view value) {
  const auto found = std::ranges::find(members, name, &JsonMember::name);
  if (found != members.end()) {
    found->value = value;
  } else {
    members.insert(members.begin() + 1, {name, value});
  }
}

std::string key_of(const std::string& process, std::string_view kernel, std::string_view table) {
  return process + ' ' + std::string(kernel) + ' ' + std::string(table);
}

}  // namespace

Status Merger::add(const std::string& path, Diagnostics& problems) {
  constexpr std::size_t most_problems = 100;
  path_ = path;
  nameless_.clear();
  names_.clear();
  numbers_.clear();
  Result<RecordLines> lines = RecordLines::open(path);
  if (!lines) return lines.error();
  std::size_t found = 0;
  while (const auto line = lines->next()) {
    if (trim(*line).empty()) continue;
    const std::string complaint = add_line(*line);
    if (!complaint.empty() && found++ < most_problems)
      problems.push_back({Severity::error, {path, lines->number(), 1, 1}, complaint, ""});
  }
  return lines->status();
}

std::string Merger::add_line(std::string_view line) {
  Members members;
  if (!split_members(line, members)) return "not a complete JSON object; the line is skipped";
  const auto kind = std::ranges::find(members, kind_member, &JsonMember::name);
  if (kind == members.end()) return "member 'record' is missing; the line is skipped";
  if (kind->value == "\"process\"") {
    if (find_member(members, process_member).empty())
      return "member 'process' is missing; the line is skipped";
    add_header(members);
    return "";
  }
  std::rotate(members.begin(), kind, kind + 1);  // the kind comes first
  const std::string_view before = find_member(members, process_member);
  if (members[0].value == "\"sites\"") {
    add_sites(before.empty() ? "" : process_of(members), members);
    return "";
  }
  const std::string process = process_of(members);
  const bool is_unchanged = before == process;
  if (!is_unchanged) set_member(members, process_member, process);
  add_other(process, members, is_unchanged, line);
  return "";
}

std::string Merger::process_of(const Members& members) {
  const std::string_view given = find_member(members, process_member);
  if (given.empty()) return nameless_.empty() ? name_file() : nameless_;
  const auto renamed = names_.find(given);
  return renamed == names_.end() ? std::string(given) : renamed->second;
}

void Merger::add_header(Members& members) {
  const std::string given(find_member(members, process_member));
  const std::size_t hash = hash_without(members, process_member, "");
  std::string name = given;
  std::size_t other = hash;
  while (true) {
    const auto [entry, is_new] = headers_.try_emplace(name, hash);
    if (!is_new && entry->second != hash) {  // another process has the same name
      name = process_name_from(other++);
      continue;
    }
    if (name != given) names_.insert_or_assign(given, name);
    if (!is_new) return;  // already written for another file
    break;
  }
  set_member(members, process_member, name);
  write_members(members);
}

std::string Merger::name_file() {
  std::size_t hash = std::hash<std::string>()(path_);
  while (!headers_.try_emplace(process_name_from(hash), hash).second) ++hash;
  nameless_ = process_name_from(hash);
  ProcessRecord record;
  record.process = nameless_.substr(1, nameless_.size() - 2);
  record.file = path_;
  write_(json_line_of(record));
  ++records_;
  return nameless_;
}

void Merger::add_sites(const std::string& process, Members& members) {
  const std::string kernel(find_member(members, "kernel"));
  std::vector<std::size_t>& tables = tables_[kernel];
  const std::size_t hash = hash_without(members, process_member, "table");
  const auto known = std::ranges::find(tables, hash);
  const auto number = static_cast<std::size_t>(known - tables.begin());
  numbers_.insert_or_assign(key_of(process, kernel, find_member(members, "table")), number);
  if (known != tables.end()) return;
  tables.push_back(hash);
  std::erase_if(members, [](const JsonMember& member) { return member.name == process_member; });
  const std::string text = std::to_string(number);
  set_member(members, "table", text);
  write_members(members);
}

void Merger::add_other(const std::string& process, Members& members, bool is_unchanged,
                       std::string_view line) {
  std::string number;
  const bool has_table = members[0].value == "\"launch\"" || members[0].value == "\"series\"";
  const std::string_view table = has_table ? find_member(members, "sites") : std::string_view();
  if (!table.empty()) {
    const std::string_view kernel = find_member(members, "kernel");
    auto known = numbers_.find(key_of(process, kernel, table));
    if (known == numbers_.end()) known = numbers_.find(key_of("", kernel, table));
    if (known != numbers_.end()) number = std::to_string(known->second);
  }
  if (!number.empty() && number != table) {
    set_member(members, "sites", number);
    is_unchanged = false;
  }
  if (!is_unchanged) return write_members(members);
  written_.assign(line);
  written_ += '\n';
  write_(written_);
  ++records_;
}

void Merger::write_members(const Members& members) {
  written_ = '{';
  for (const JsonMember& member : members) {
    if (written_.size() > 1) written_ += ',';
    written_ += '"';
    written_ += member.name;
    written_ += "\":";
    written_ += member.value;
  }
  written_ += "}\n";
  write_(written_);
  ++records_;
}

}  // namespace lynxpp::report
