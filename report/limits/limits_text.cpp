// Limits as text and as sections of a page.
#include <algorithm>
#include <cstdio>
#include <functional>

#include "report/findings/findings.h"
#include "report/kernel_name.h"
#include "report/limits/limits.h"
#include "report/number.h"
#include "report/overhead/figures.h"
#include "report/summary.h"
#include "report/tables/bar_chart.h"
#include "report/tables/text_table.h"
#include "support/text.h"
#include "support/trust.h"

namespace lynxpp::report {
namespace {

struct Advice {
  std::string_view operation;
  std::string_view text;
};
constexpr Advice advice_table[] = {
    {"shared-access",
     "pad or swizzle the shared array so that the lanes of a warp access different banks; access 8 or 16 "
     "bytes per lane; keep values in registers"},
    {"global-access",
     "let neighbouring lanes access neighbouring elements (structure of arrays, other loop order, a tile in "
     "shared memory); access 16 bytes per lane; reuse what was loaded"},
    {"atomic",
     "combine values within the warp or the block first, then update memory once; spread counters over "
     "several words"},
    {"barrier",
     "drop barriers that no access of shared memory needs; do more work between two barriers; use "
     "__syncwarp() where only lanes of one warp exchange values"},
    {"async-copy", "copy 16 bytes per lane, and start copies more iterations before their use"},
    {"branch",
     "make the condition uniform within each warp (sort or regroup the work), or compute both sides and "
     "select"},
    {"fp32", "use fused multiply-add, and move what does not change out of the loop"},
    {"fp64", "use float where its accuracy suffices, and move what does not change out of the loop"},
    {"integer",
     "increment indices instead of computing them again; use 32-bit indices, and move what does not change "
     "out "
     "of the loop"},
    {"integer-division",
     "use shifts and masks, make the divisor a constant, or multiply by a reciprocal that the host has "
     "computed"},
    {"special-function",
     "move sin, exp, sqrt and division out of the loop, or use a table or a cheaper approximation"},
    {"tensor", "use a type of lower precision, or skip tiles that do not contribute"},
    {"fetch", "unroll and inline less, so that the hot loop fits into the instruction cache"},
    {"local-memory",
     "index local arrays by constants (unroll the loop) so that they stay in registers, or keep them in "
     "shared "
     "memory"},
    {"waiting",
     "let each thread do more independent work (several elements, loads long before their use), keep more "
     "warps resident, and launch fewer and longer blocks; look for spilled registers"},
    {"divergence",
     "give the lanes of a warp equal work: sort or compact the elements, or let lanes fetch work when they "
     "are done"},
    {"more-registers", "relax the blocks of __launch_bounds__, or --maxrregcount"},
    {"fewer-registers", "limit registers with __launch_bounds__ so that more blocks are resident"},
    {"occupancy",
     "use fewer registers or less shared memory per block so that more blocks are resident, or let each "
     "thread do more independent work"},
};

std::string share_text(double share) { return percent_text(share < 0.0005 ? 0 : share); }

std::string interval_text(const Gain& gain) {
  const auto shown = [](double share) { return share < 0.0005 ? 0 : share; };
  return report::interval_text(shown(gain.low), shown(gain.high));
}

std::string joined(const std::vector<std::string>& texts, const std::string& separator) {
  std::string all;
  for (const std::string& each : texts) all += (all.empty() ? "" : separator) + each;
  return all;
}

/// Returns the first lines, and how many more there are.
std::string locations_text(const std::vector<LimitLocation>& locations) {
  constexpr std::size_t most = 2;
  if (locations.empty()) return {};
  if (locations.size() == 1)
    return locations[0].text() +
           (locations[0].opcodes.size() == 1 ? " (" + locations[0].opcodes[0] + ")" : "");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(most, locations.size()); ++i) texts.push_back(locations[i].text());
  const std::size_t further = locations.size() - texts.size();
  return joined(texts, ", ") + (further == 0 ? "" : " and " + std::to_string(further) + " more");
}

/// Returns the lines that explain the gain; else all lines of the class.
std::string where_of(const Limit& limit) {
  if (limit.lines.empty()) return locations_text(limit.locations);
  if (limit.lines.size() == 1) return locations_text(limit.lines[0].locations);
  constexpr std::size_t most = 3;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(most, limit.lines.size()); ++i) {
    texts.push_back(percent_text(limit.lines[i].gain.at_most) + ": " +
                    locations_text(limit.lines[i].locations));
  }
  return joined(texts, "; ") + (limit.lines.size() > most ? "; …" : "");
}

std::string shape_text(const KernelLimits& kernel) {
  std::string text = "grid " + shape_of(kernel.grid) + ", block " + shape_of(kernel.block);
  if (kernel.shared_bytes != 0)
    text += ", " + std::to_string(kernel.shared_bytes) + " bytes of dynamic shared memory";
  return text;
}

std::string launches_text(std::uint64_t count) {
  return to_text(Number::of(count)) + (count == 1 ? " launch" : " launches");
}

/// Returns "100 launches of 0.412 ms (measured); 58 launches were trials".
std::string times_text(const KernelLimits& kernel) {
  std::string text = launches_text(kernel.launches);
  if (kernel.native_ms > 0) {
    text += " of " + fixed(kernel.native_ms, kernel.native_ms < 1 ? 4 : 3) + " ms" +
            (kernel.is_modelled ? " (modelled, not measured)" : " (measured)");
    if (kernel.share < 1) text += ", " + percent_text(kernel.share) + " of all kernels' time";
  }
  text += "; " + launches_text(kernel.timed) + (kernel.timed == 1 ? " was" : " were") + " timed";
  if (kernel.replays != 0) text += ", " + std::to_string(kernel.replays) + " of them replayed";
  return text;
}

std::string waves_text(const KernelLimits::Waves& waves) {
  const std::string blocks = to_text(Number::of(waves.blocks)) + (waves.blocks == 1 ? " block" : " blocks");
  const std::string all = std::to_string(waves.multiprocessors);
  if (waves.blocks < waves.multiprocessors) {
    return blocks + (waves.blocks == 1 ? " occupies" : " occupy") + " " + std::to_string(waves.blocks) +
           " of " + all + " multiprocessors: launch more and smaller blocks, or several kernels at a time";
  }
  const std::string slots = all + " multiprocessors with " + std::to_string(waves.blocks_per_sm) +
                            (waves.blocks_per_sm == 1 ? " block each" : " blocks each");
  if (waves.full() <= 1) {
    return blocks + " are resident at once on " + all + " multiprocessors with room for " +
           std::to_string(waves.blocks_per_sm) + " each";
  }
  std::string text = blocks + " run in " + fixed(waves.full(), 2) + " waves on " + slots;
  if (waves.idle() < least_gain) return text;
  constexpr const char* advice = "; choose a grid that fills its waves, or let blocks fetch work";
  const std::string idle = percent_text(waves.idle());
  if (waves.is_throughput_bound) {
    return text +
           ": blocks share the multiprocessors' throughput; if all do the same work, multiprocessors idle "
           "for " +
           idle + " of the time" + advice;
  }
  return text + ": if all take equally long, the last wave leaves " + idle + " of the slots' time idle" +
         advice;
}

/// Returns "134 MB", "7.1 MB" or "16 kB".
std::string size_text(std::uint64_t bytes) {
  const bool is_large = bytes >= 1'000'000;
  const double units = static_cast<double>(bytes) / (is_large ? 1e6 : 1e3);
  return fixed(units, units < 10 ? 1 : 0) + (is_large ? " MB" : " kB");
}

/// Returns "changes that keep the bytes it reads (134 MB) and writes (67.1 MB) gain at most 28 %, ...".
std::string moving_text(const KernelLimits::Moving& moving, bool is_modelled) {
  return "changes that keep the bytes that the kernel reads (" + size_text(moving.read_bytes) +
         ") and writes (" + size_text(moving.written_bytes) + ") gain at most " + share_text(moving.at_most) +
         ": only moving them takes " + fixed(moving.ms, 4) + " ms" +
         (is_modelled ? " (modelled)" : " (measured)");
}

std::vector<const Limit*> limits_in_table(const KernelLimits& kernel) {
  std::vector<const Limit*> shown;
  for (const Limit& each : kernel.limits) {
    if (verdict_of(each.gain) != Verdict::not_limited) shown.push_back(&each);
  }
  return shown;
}

/// Returns "barrier (at most 0.4 %), fp32 (at most 0.2 %)".
std::string not_limited_text(const KernelLimits& kernel) {
  std::vector<std::string> texts;
  for (const Limit& each : kernel.limits) {
    if (verdict_of(each.gain) == Verdict::not_limited)
      texts.push_back(each.operation + " (" + share_text(each.gain.high) + ")");
  }
  return joined(texts, ", ");
}

/// Returns "a.cu:12 74 % (fp32, integer)" for the lines at which several classes have a cost.
std::string lines_text(const KernelLimits& kernel) {
  constexpr std::size_t most = 3;
  std::vector<std::string> texts;
  for (const LineSum& each : kernel.lines) {
    if (each.operations.size() > 1 && texts.size() < most)
      texts.push_back(each.location.text() + " " + share_text(each.at_most) + " (" +
                      joined(each.operations, ", ") + ")");
  }
  return joined(texts, ", ");
}

std::string_view summary_of_remedy(std::string_view operation) {
  if (operation == "more-registers") return "no limit of registers";
  if (operation == "fewer-registers") return "registers for one more block per multiprocessor";
  if (operation == "read-only-loads") return "loads by ld.global.nc (const __restrict__ or __ldg)";
  return "one block fewer per multiprocessor (more dynamic shared memory)";
}

std::string remedy_text(const Remedy& remedy) {
  std::string text = "Tried " + std::string(summary_of_remedy(remedy.operation)) + ": ";
  if (verdict_of(remedy.gain) == Verdict::not_limited) {
    text += "gains nothing";
  } else {
    text += "gains " + share_text(remedy.gain.at_most) + " (" + interval_text(remedy.gain) + ")";
  }
  if (remedy.predicted)
    text += "; at most " + share_text(remedy.predicted->at_most) + " predicted by " + remedy.predicted_by;
  const bool is_compared = !remedy.results.starts_with("not compared");
  return text + "; " + (is_compared ? "results are " : "results ") + remedy.results + ".";
}

/// Groups the classes by reason, in order of appearance.
std::vector<std::string> untried_texts(const KernelLimits& kernel) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const Untried& each : kernel.untried) {
    auto group = std::ranges::find(groups, each.reason, &decltype(groups)::value_type::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {each.reason, {}});
    if (std::ranges::count(group->second, each.operation) == 0) group->second.push_back(each.operation);
  }
  std::vector<std::string> texts;
  for (const auto& [reason, operations] : groups) texts.push_back(joined(operations, ", ") + ": " + reason);
  return texts;
}

/// Lines below the table, without the advice.
std::vector<std::string> remarks(const KernelLimits& kernel) {
  std::vector<std::string> lines;
  if (const std::string text = lines_text(kernel); !text.empty())
    lines.push_back("All classes of a line, gain at most: " + text + ".");
  if (const std::string text = not_limited_text(kernel); !text.empty())
    lines.push_back("Not limited by, gain at most: " + text + ".");
  for (const std::string& each : untried_texts(kernel)) lines.push_back("Not tried: " + each + ".");
  for (const Limit& each : kernel.limits) {
    for (const std::string& note : each.left_out)
      lines.push_back("Not tried: " + each.operation + ": " + note + ".");
    if (verdict_of(each.gain) == Verdict::not_limited) continue;
    for (const std::string& note : each.notes)
      lines.push_back("Note on " + each.operation + ": " + note + ".");
  }
  for (const Remedy& each : kernel.remedies) lines.push_back(remedy_text(each));
  if (!kernel.remedies.empty())
    lines.push_back("Not tried: padding of arrays, other blocks, grids, layouts and algorithms.");
  std::vector<std::string> registers;
  for (const Limit& each : kernel.limits) {
    if (!each.registers.empty())
      registers.push_back(each.operation + " " + std::to_string(std::ranges::max(each.registers)));
  }
  if (!registers.empty()) {
    lines.push_back("Registers of variants that differ from the original's " +
                    std::to_string(kernel.registers) + ": " + joined(registers, ", ") + ".");
  }
  if (kernel.moving) lines.push_back("Memory: " + moving_text(*kernel.moving, kernel.is_modelled) + ".");
  if (kernel.waves) lines.push_back("Blocks: " + waves_text(*kernel.waves) + ".");
  return lines;
}

std::string title_of(const KernelLimits& kernel, std::size_t width) {
  return short_kernel_name(demangle(kernel.kernel), width);
}

std::string table_text(const std::vector<const Limit*>& limits, bool is_modelled) {
  TextColumn most{{"gain at", "most"}, {}}, interval{{"95 %", "interval"}, {}},
      pattern{{"by another", "pattern"}, {}}, reuse{{"by", "reuse"}, {}},
      operation{{"limited by"}, {}, false}, where{{"where"}, {}, false};
  for (const Limit* const each : limits) {
    most.cells.push_back(share_text(each->gain.at_most));
    interval.cells.push_back(interval_text(each->gain));
    pattern.cells.push_back(each->pattern ? share_text(each->pattern->at_most) : "");
    reuse.cells.push_back(each->reuse ? share_text(each->reuse->at_most) : "");
    operation.cells.push_back(each->operation +
                              (verdict_of(each->gain) == Verdict::unclear ? " (unclear)" : ""));
    where.cells.push_back(printable(where_of(*each)));
  }
  std::vector<TextColumn> columns{most};
  if (!is_modelled) columns.push_back(interval);  // the modelled clock is exact
  columns.push_back(pattern);
  if (std::ranges::any_of(limits, [](const Limit* each) { return each->reuse.has_value(); }))
    columns.push_back(reuse);
  columns.insert(columns.end(), {operation, where});
  return render_columns(columns, 2);
}

// ---------------------------------------------------------------- page

/// Returns bars from 0 to 100 % with the intervals as whiskers.
std::string bars_of(const KernelLimits& kernel) {
  constexpr int row = 24, left = 150, scale = 400, right = 190;
  const int height = row * static_cast<int>(kernel.limits.size()) + 8;
  char text[600];
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                    std::to_string(left + scale + right) + "\" height=\"" + std::to_string(height) +
                    "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n";
  for (std::size_t i = 0; i < kernel.limits.size(); ++i) {
    const Limit& limit = kernel.limits[i];
    const int middle = row * static_cast<int>(i) + row / 2 + 4;
    const auto x = [&](double share) { return left + scale * share; };
    const Verdict verdict = verdict_of(limit.gain);
    // An unclear gain is only an outline, so that no bar promises what may be nothing.
    const char* const color = verdict == Verdict::limited       ? "fill=\"#b3423a\""
                              : verdict == Verdict::not_limited ? "fill=\"#9aa5b1\""
                                                                : "fill=\"none\" stroke=\"#9aa5b1\"";
    const std::string gain = share_text(limit.gain.at_most), interval = interval_text(limit.gain);
    const std::string label = verdict == Verdict::unclear ? "unclear: " + interval
                              : interval == gain          ? gain
                                                          : gain + " (" + interval + ")";
    svg += "<g><title>" + escaped(limit.operation + ": at most " + gain + ", 95 % interval " + interval) +
           "</title><text x=\"" + std::to_string(left - 8) + "\" y=\"" + std::to_string(middle + 4) +
           "\" text-anchor=\"end\">" + escaped(limit.operation) + "</text>";
    std::snprintf(text, sizeof text,
                  "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"14\" %s/>"
                  "<path d=\"M%.1f %dV%dM%.1f %dH%.1fM%.1f %dV%d\" stroke=\"currentColor\" fill=\"none\"/>"
                  "<text x=\"%.1f\" y=\"%d\">",
                  left, middle - 7, scale * limit.gain.at_most, color, x(limit.gain.low), middle - 5,
                  middle + 5, x(limit.gain.low), middle, x(limit.gain.high), x(limit.gain.high), middle - 5,
                  middle + 5, x(limit.gain.high) + 6, middle + 4);
    svg += text + escaped(label) + "</text></g>\n";
  }
  return svg + "</svg>\n";
}

std::string rows_of(const KernelLimits& kernel) {
  std::string html =
      "<table><tr><th>gain at most</th><th>95 % interval</th><th>by another pattern</th><th>by reuse</th>"
      "<th class=\"text\">operations</th>"
      "<th class=\"text\">where</th><th class=\"text\">try</th></tr>\n";
  for (const Limit& each : kernel.limits) {
    const Verdict verdict = verdict_of(each.gain);
    const auto share = [](const std::optional<Gain>& gain) { return gain ? share_text(gain->at_most) : ""; };
    html += "<tr><td>" + percent_text(each.gain.at_most) + "</td><td>" + interval_text(each.gain) +
            "</td><td>" + share(each.pattern) + "</td><td>" + share(each.reuse) + "</td><td class=\"text\">" +
            escaped(each.operation) + "</td><td class=\"text\">" + escaped(where_of(each)) +
            "</td><td class=\"text\">" +
            escaped(verdict == Verdict::limited       ? advice_on(each.operation)
                    : verdict == Verdict::not_limited ? "not limited by them"
                                                      : "unclear: more launches narrow the interval") +
            "</td></tr>\n";
  }
  return html + "</table>\n";
}

}  // namespace

std::string_view advice_on(std::string_view operation) {
  const auto* const known = std::ranges::find(advice_table, operation, &Advice::operation);
  return known == std::end(advice_table) ? std::string_view() : known->text;
}

std::string limits_text(const KernelLimits& kernel, std::size_t width) {
  std::string text = "== limits of " + title_of(kernel, width > 40 ? width - 16 : 24) + " ==\n";
  text +=
      wrapped("On " + printable(kernel.device) + ", " + shape_text(kernel) + ": " + times_text(kernel) + ".",
              0, width);
  const std::vector<const Limit*> shown = limits_in_table(kernel);
  if (!shown.empty()) text += table_text(shown, kernel.is_modelled);
  if (shown.empty() && !kernel.limits.empty())
    text += "  None of the classes of operations that were tried limits this kernel.\n";
  for (const std::string& line : remarks(kernel)) text += wrapped(line, 2, width);
  constexpr std::size_t most_advice = 3;
  bool lacks_lines = false;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Limit* const each = shown[i];
    const std::string_view advice = advice_on(each->operation);
    if (!advice.empty() && i < most_advice)
      text += wrapped("Try for " + each->operation + ": " + std::string(advice) + ".", 2, width);
    lacks_lines |= std::ranges::any_of(each->locations, [](const auto& where) { return where.line == 0; });
  }
  if (lacks_lines) text += "  Compile with -lineinfo to see source lines instead of PTX lines.\n";
  return text;
}

std::string trust_line_of(std::span<const KernelLimits> kernels) {
  const bool is_modelled = std::ranges::any_of(kernels, &KernelLimits::is_modelled);
  return trust::line_of(trust::Number::limits, is_modelled ? trust::Clock::modelled : trust::Clock::device);
}

std::string limits_html(std::span<const KernelLimits> kernels) {
  if (kernels.empty()) return {};
  std::string html =
      "<h2>Limits</h2>\n<p class=\"facts\">The share of the kernel's time that is saved at most without the "
      "cost of a class of operations, with 95 % intervals.</p>\n";
  for (const KernelLimits& kernel : kernels) {
    html += "<h3>" + escaped(demangle(kernel.kernel)) + "</h3>\n<p>On " + escaped(kernel.device) + ", " +
            escaped(shape_text(kernel)) + ": " + escaped(times_text(kernel)) + ".</p>\n";
    if (!kernel.limits.empty()) html += bars_of(kernel);
    html += "<details><summary>Where, what to try, and what was not measured</summary>\n";
    if (!kernel.limits.empty()) html += rows_of(kernel);
    html += "<ul>\n";
    for (const std::string& line : remarks(kernel)) html += "<li>" + escaped(line) + "</li>\n";
    html += "</ul></details>\n";
  }
  return html + "<p class=\"facts\">" + escaped(trust_line_of(kernels)) + "</p>\n";
}

}  // namespace lynxpp::report
