#include "report/summary.h"

#include <algorithm>

#include "report/kernel_name.h"
#include "support/trust.h"

namespace lynxpp::report {

const SitesRecord* Summary::sites_of(const KernelTotals& kernel) const {
  if (!kernel.sites) return nullptr;
  const auto found = sites.find({kernel.kernel, *kernel.sites});
  return found == sites.end() ? nullptr : &found->second;
}

std::string trust_line_of(const Summary& summary, bool has_findings) {
  trust::Clock clock = trust::Clock::device;
  std::vector<std::string> names;
  for (const SpecificationTotals& totals : summary.specifications) {
    names.push_back(totals.spec);
    if (clock == trust::Clock::device) clock = trust::clock_of(totals.device);
  }
  trust::Shown shown{.has_findings = has_findings, .has_sharing_advice = !summary.words.advice().empty()};
  const auto is_inexact = [](const NoteTotals& note) {
    return note.text.starts_with(trust::words_are_estimates) ||
           note.text.starts_with(trust::words_are_limited);
  };
  for (const SpecificationTotals& totals : summary.specifications) {
    for (const KernelTotals& kernel : totals.kernels)
      shown.has_inexact_words |= std::ranges::any_of(kernel.notes, is_inexact);
  }
  return trust::line_of_records(names, clock, shown);
}

void SummarySink::sites(const SitesRecord& record) {
  summary_.sites.insert_or_assign({record.kernel, record.table}, record);
}

void SummarySink::launch(const LaunchRecord& record) {
  std::vector<SpecificationTotals>& known = summary_.specifications;
  auto totals = std::find_if(known.begin(), known.end(), [&](const SpecificationTotals& each) {
    return each.spec == record.spec && each.device == record.device;
  });
  if (totals == known.end()) {
    known.emplace_back();
    totals = known.end() - 1;
    totals->spec = record.spec;
    totals->device = record.device;
    totals->kept = kept_;
  }
  summary_.words.add(record);
  totals->add(record);
}

void SummarySink::coverage(const CoverageRecord& record) {
  const auto [known, is_new] =
      coverage_.try_emplace({record.kernel, record.module, record.specs}, summary_.coverage.size());
  if (is_new) {
    summary_.coverage.push_back(record);
  } else {
    add(summary_.coverage[known->second], record);
  }
}

void SummarySink::timing(const TimingRecord& record) {
  const auto [known, is_new] = timings_.try_emplace(record.kernel, summary_.timings.size());
  if (is_new) {
    summary_.timings.push_back(record);
  } else {
    add(summary_.timings[known->second], record);
  }
}

void add(CoverageRecord& total, const CoverageRecord& record) {
  if (total.reason.empty()) total.reason = record.reason;
  if (total.ptx_origin.empty()) total.ptx_origin = record.ptx_origin;
  total.lacks_ptx = total.lacks_ptx || record.lacks_ptx;
  if (total.shape && record.shape) {
    total.shape->differs = total.shape->differs || record.shape->differs ||
                           !std::ranges::equal(total.shape->grid, record.shape->grid) ||
                           !std::ranges::equal(total.shape->block, record.shape->block);
  } else if (record.shape) {
    total.shape = record.shape;
  }
  total.instrumented = total.instrumented || record.instrumented;
  total.launches += record.launches;
  total.instrumented_launches += record.instrumented_launches;
  total.sites = std::max(total.sites, record.sites);
  for (const std::string& note : record.notes) {
    if (std::ranges::count(total.notes, note) == 0) total.notes.push_back(note);
  }
}

void SummarySink::device(const DeviceRecord& record) {
  if (std::ranges::count(summary_.devices, record.device, &DeviceRecord::device) == 0)
    summary_.devices.push_back(record);
}

void add(TimingRecord& total, const TimingRecord& record) {
  total.parse += record.parse;
  total.instrument += record.instrument;
  total.emit += record.emit;
  total.load += record.load;
  total.execute += record.execute;
  if (record.buffers) total.buffers = total.buffers.value_or(0) + *record.buffers;
  total.launches += record.launches;
  if (total.modelled.empty()) total.modelled = record.modelled;
}

std::string gap_of(const CoverageRecord& record) {
  if (!record.instrumented || record.instrumented_launches < record.launches) {
    if (!record.reason.empty()) return printable(record.reason);
    return record.notes.empty() ? "not selected" : "see the notes";
  }
  return record.sites == 0 ? "no site in this kernel matches the specification" : printable(record.reason);
}

std::string shape_of(const std::uint32_t (&extent)[3]) {
  std::string text = std::to_string(extent[0]);
  if (extent[1] != 1 || extent[2] != 1) text += "x" + std::to_string(extent[1]);
  if (extent[2] != 1) text += "x" + std::to_string(extent[2]);
  return text;
}

std::string to_text(const LaunchExtent& extent) {
  return extent.differs ? "varies" : shape_of(extent.extent);
}

}  // namespace lynxpp::report
