#include "report/page/page.h"

#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "report/coverage_share.h"
#include "report/findings/facts.h"
#include "report/limits/limits.h"
#include "report/page/embedded.h"
#include "report/page/source_files.h"
#include "report/tables/bar_chart.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Joins JSON texts to a list.
std::string joined(const std::vector<std::string>& values) {
  std::string text = "[";
  for (const std::string& each : values) {
    if (text.size() > 1) text += ',';
    text += trim(each);
  }
  return text + "]";
}

template <typename Records, typename Project>
std::string list_of(const Records& records, Project&& record_of) {
  std::vector<std::string> lines;
  for (const auto& each : records) lines.push_back(json_line_of(record_of(each)));
  return joined(lines);
}

/// Returns the files that sites refer to, with their texts or the reason why the text is missing.
std::string sources_of(const Summary& summary, SourceTexts texts) {
  std::set<std::string> paths;
  for (const auto& [key, record] : summary.sites) {
    for (const SitesRecord::Instruction& each : record.instructions) {
      if (each.file != SitesRecord::unknown) paths.insert(record.files[each.file]);
    }
  }
  std::vector<std::string> sources;
  SourceFiles files;
  for (const std::string& path : paths) {
    const SourceFile file =
        texts == SourceTexts::embedded ? files.read(path) : SourceFile{path, {}, "omitted by --no-source"};
    sources.push_back("{\"path\":" + json_text(path) +
                      (file.missing.empty() ? ",\"text\":" + json_text(file.text)
                                            : ",\"text\":null,\"missing\":" + json_text(file.missing)) +
                      "}");
  }
  return joined(sources);
}

/// Returns each kernel's share of the run, time and traffic, as the summary in text has them.
nlohmann::ordered_json kernels_of(const RunFacts& facts) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const KernelFacts& each : facts.kernels) {
    nlohmann::ordered_json& kernel = kernels.emplace_back();
    kernel["kernel"] = each.kernel;
    kernel["device"] = each.device;
    if (!each.ranges.empty()) kernel["ranges"] = each.ranges;
    kernel["share"] = each.weight;
    for (const auto& [member, fact] : {std::pair("milliseconds", "milliseconds"),
                                       {"requested", "traffic.requested"},
                                       {"transferred", "traffic.transferred"}}) {
      if (const double* const value = each.facts.find(fact)) kernel[member] = *value;
    }
  }
  return kernels;
}

/// Returns the kernels and launches that were counted, and all of them.
nlohmann::ordered_json measured_of(const CoverageShare& share) {
  const CoverageShare::Part &first = share.without_ptx, &second = share.refused;
  const auto counted = [](auto all, auto without_ptx, auto refused) {
    return nlohmann::ordered_json{{"counted", all - without_ptx - refused}, {"all", all}};
  };
  nlohmann::ordered_json object{{"kernels", counted(share.all.kernels, first.kernels, second.kernels)},
                                {"launches", counted(share.all.launches, first.launches, second.launches)}};
  if (share.has_times)
    object["milliseconds"] = counted(share.all.milliseconds, first.milliseconds, second.milliseconds);
  return object;
}

std::string base64_of(std::string_view bytes) {
  static constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

/// Returns zlib-compressed bytes; empty if memory is insufficient.
std::string compressed(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string bytes(size, '\0');
  const int result = compress2(reinterpret_cast<Bytef*>(bytes.data()), &size,
                               reinterpret_cast<const Bytef*>(text.data()), text.size(), 6);
  bytes.resize(result == Z_OK ? size : 0);
  return bytes;
}

void put(std::string& page, std::string_view mark, std::string_view text) {
  if (const std::size_t at = page.find(mark); at != std::string::npos) page.replace(at, mark.size(), text);
}

}  // namespace

void PageSink::process(const ProcessRecord& record) {
  if (processes_.size() < listed_records) processes_.push_back(json_line_of(record));
}

void PageSink::launch(const LaunchRecord& record) {
  SummarySink::launch(record);
  if (record.place) last_us_ = std::max(last_us_, record.place->end_us);
  if (launches_.size() == listed_records) {
    further_launches_ += record.launches();
    return;
  }
  LaunchRecord numbers = record;
  std::erase_if(numbers.results, [](const ResultValue& each) { return !each.extents.empty(); });
  launches_.push_back(json_line_of(numbers));
}

void PageSink::device(const DeviceRecord& record) {
  SummarySink::device(record);
  devices_.push_back(json_line_of(record));
}

void PageSink::activity(const ActivityRecord& record) {
  if (activities_.size() == listed_records) {
    ++further_activities_;
    return;
  }
  activities_.push_back(json_line_of(record));
}

std::string PageSink::data(const std::string& title, SourceTexts texts) const {
  const auto same = [](const auto& record) -> const auto& { return record; };
  const auto second = [](const auto& entry) -> const auto& { return entry.second; };
  const Summary& all = summary();
  std::string text = "{\"page\":1,\"title\":" + json_text(title);
  text += ",\"summary\":";
  text += trim(to_json(all, 0));
  const RunFacts facts = facts_of(all);
  text += ",\"kernels\":" + json_text(kernels_of(facts));
  text += ",\"limits\":" + json_text(limits_html(facts.limits));
  text += ",\"measured\":" + json_text(measured_of(coverage_share_of(all)));
  text += ",\"processes\":" + joined(processes_);
  text += ",\"last_us\":" + std::to_string(last_us_);
  text += ",\"sites\":" + list_of(all.sites, second);
  text += ",\"timings\":" + list_of(all.timings, same);
  text += ",\"coverage\":" + list_of(all.coverage, same);
  text += ",\"devices\":" + joined(devices_);
  text += ",\"launches\":" + joined(launches_);
  text += ",\"further_launches\":" + std::to_string(further_launches_);
  text += ",\"activities\":" + joined(activities_);
  text += ",\"further_activities\":" + std::to_string(further_activities_);
  text += ",\"sources\":" + sources_of(all, texts);
  return text + "}";
}

bool has_page() { return !embedded_page().front().source.empty(); }

std::string to_page(const PageSink& sink, const std::string& title, SourceTexts texts) {
  const std::string data = has_page() ? compressed(sink.data(title, texts)) : "";
  if (data.empty()) return to_html(sink.summary(), title);
  std::string page(embedded_page().front().source);
  put(page, "LYNXPP_TITLE", escaped(title));
  put(page, "LYNXPP_DATA", base64_of(data));
  return page;
}

}  // namespace lynxpp::report
