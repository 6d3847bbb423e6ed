// Overheads as text and JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/kernel_name.h"
#include "report/members.h"
#include "report/number.h"
#include "report/overhead/figures.h"
#include "report/overhead/overhead.h"
#include "report/tables/text_table.h"
#include "support/text.h"
#include "support/trust.h"

namespace lynxpp::report {
namespace {

constexpr std::size_t least_kernel_width = 12;

/// Formats three significant digits; at least three decimals below one.
std::string milliseconds(double value) { return fixed(value, value < 1 ? 4 : value < 100 ? 3 : 1); }

std::string kernel_table(const SettingOverhead& setting, std::size_t width) {
  std::vector<std::string> names;
  TextColumn launches{{"launches"}, {}};
  TextColumn native{{"native", "ms"}, {}};
  TextColumn instrumented{{"instrumented", "ms"}, {}};
  TextColumn ratio{{"ratio"}, {}};
  TextColumn spread{{"least to most"}, {}};
  TextColumn buffers{{"buffers", "ms"}, {}};
  TextColumn registers{{"registers"}, {}};
  TextColumn warps{{"warps", "per SM"}, {}};
  bool has_resources = false;
  bool has_buffers = false;
  for (const KernelOverhead& kernel : setting.kernels) {
    names.push_back(demangle(kernel.kernel));
    launches.cells.push_back(to_text(Number::of(kernel.launches)));
    native.cells.push_back(milliseconds(kernel.native_ms));
    instrumented.cells.push_back(milliseconds(kernel.instrumented_ms));
    ratio.cells.push_back(fixed(kernel.ratio, 3));
    spread.cells.push_back(fixed(kernel.least_ratio, 3) + " to " + fixed(kernel.most_ratio, 3));
    buffers.cells.push_back(kernel.buffers_ms ? milliseconds(*kernel.buffers_ms) : "");
    has_buffers |= kernel.buffers_ms.has_value();
    registers.cells.push_back(change(kernel.original, kernel.variant, &KernelResources::registers));
    warps.cells.push_back(change(kernel.original, kernel.variant, &KernelResources::warps_per_sm));
    has_resources |= kernel.original.has_value() && kernel.variant.has_value();
  }
  std::vector<TextColumn> columns{launches, native, instrumented, ratio, spread};
  if (has_buffers) columns.push_back(buffers);
  if (has_resources) columns.insert(columns.end(), {registers, warps});
  std::size_t taken = width_between(columns.size() + 1);
  for (const TextColumn& column : columns) taken += column.width();
  const std::size_t room = std::max(width > taken ? width - taken : 0, least_kernel_width);
  ShortNames shortened = short_kernel_names(names, room);
  columns.insert(columns.begin(), TextColumn{{"kernel"}, std::move(shortened.names), false});
  std::string text = render_columns(columns);
  for (const std::string& line : shortened.legend) text += "  " + line + "\n";
  return text;
}

std::string summary(const SettingOverhead& setting, std::size_t width) {
  std::string text;
  if (!setting.kernels.empty()) {
    const KernelOverhead& worst = setting.kernels[setting.worst];
    text += "geometric mean " + fixed(setting.geometric_mean, 3) + ", worst " + fixed(worst.ratio, 3) + " (" +
            short_kernel_name(demangle(worst.kernel), width / 2) + ")\n";
  }
  text += "whole program " + milliseconds(setting.native_program_ms) + " ms native, " +
          milliseconds(setting.instrumented_program_ms) + " ms instrumented\n";
  for (const CoverageRecord& record : setting.not_instrumented) {
    text += "not instrumented: " + short_kernel_name(demangle(record.kernel), width / 2) + ": " +
            printable(record.reason) + "\n";
  }
  return text;
}

nlohmann::ordered_json json_of(const KernelResources& resources) {
  nlohmann::ordered_json object;
  visit_members(resources, [&](const char* name, std::uint64_t member) { object[name] = member; });
  return object;
}

nlohmann::ordered_json json_of(const KernelOverhead& kernel) {
  nlohmann::ordered_json object{{"kernel", kernel.kernel},
                                {"demangled", demangle(kernel.kernel)},
                                {"launches", kernel.launches},
                                {"native_ms", kernel.native_ms},
                                {"instrumented_ms", kernel.instrumented_ms},
                                {"ratio", kernel.ratio},
                                {"least_ratio", kernel.least_ratio},
                                {"most_ratio", kernel.most_ratio}};
  if (kernel.buffers_ms) object["buffers_ms"] = *kernel.buffers_ms;
  if (kernel.original) object["original"] = json_of(*kernel.original);
  if (kernel.variant) object["variant"] = json_of(*kernel.variant);
  return object;
}

nlohmann::ordered_json json_of(const SettingOverhead& setting) {
  nlohmann::ordered_json object{{"spec", setting.name}};
  if (!setting.kernels.empty()) {
    object["geometric_mean"] = setting.geometric_mean;
    object["worst"] = setting.kernels[setting.worst].ratio;
  }
  object["native_program_ms"] = setting.native_program_ms;
  object["instrumented_program_ms"] = setting.instrumented_program_ms;
  object["same_output"] = setting.same_output;
  object["kernels"] = nlohmann::ordered_json::array();
  for (const KernelOverhead& kernel : setting.kernels) object["kernels"].push_back(json_of(kernel));
  object["not_instrumented"] = nlohmann::ordered_json::array();
  for (const CoverageRecord& record : setting.not_instrumented) {
    object["not_instrumented"].push_back(
        {{"kernel", record.kernel}, {"demangled", demangle(record.kernel)}, {"reason", record.reason}});
  }
  return object;
}

}  // namespace

std::string change(const std::optional<KernelResources>& before, const std::optional<KernelResources>& after,
                   std::uint64_t KernelResources::*member) {
  if (!before || !after) return "";
  const std::string first = std::to_string((*before).*member);
  const std::string second = std::to_string((*after).*member);
  return first == second ? first : first + " -> " + second;
}

static std::string trust_line_of(const Overhead& overhead) {
  return trust::line_of(trust::Number::times, trust::clock_of(overhead.device));
}

std::string to_text(const Overhead& overhead, std::size_t width) {
  std::string text;
  const std::string device = overhead.device.empty() ? "no device" : printable(overhead.device);
  for (const SettingOverhead& setting : overhead.settings) {
    text += (text.empty() ? "" : "\n") + std::string("== ") + printable(setting.name) + " on " + device +
            ", " + std::to_string(overhead.rounds) + (overhead.rounds == 1 ? " round" : " rounds") + " ==\n";
    if (!setting.kernels.empty()) {
      text += kernel_table(setting, width);
    } else {
      text +=
          setting.not_instrumented.empty() ? "no kernel launch was seen\n" : "no kernel ran instrumented\n";
    }
    text += summary(setting, width);
    if (!overhead.native_output_is_stable) continue;
    text += setting.same_output ? "the program's output is the same in every run\n"
                                : "THE PROGRAM'S OUTPUT CHANGED\n";
  }
  if (!overhead.native_output_is_stable)
    text += "\nthe program's output differs even between native runs: it was not compared\n";
  if (overhead.device.empty()) return text;
  return text + "\n" + wrapped(trust_line_of(overhead), 0, width);
}

std::string to_json(const Overhead& overhead) {
  nlohmann::ordered_json object{{"record", "bench"},
                                {"command", overhead.command},
                                {"device", overhead.device},
                                {"rounds", overhead.rounds},
                                {"native_output_is_stable", overhead.native_output_is_stable}};
  if (!overhead.device.empty()) object["trust"] = trust_line_of(overhead);
  object["settings"] = nlohmann::ordered_json::array();
  for (const SettingOverhead& setting : overhead.settings) object["settings"].push_back(json_of(setting));
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace lynxpp::report
