#include "report/hot_sites.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "report/number.h"

namespace lynxpp::report {
namespace {

/// Returns the first array with a nonzero value; it determines which sites are hot.
const ArrayTotals* leading(const std::vector<const ArrayTotals*>& arrays) {
  for (const ArrayTotals* array : arrays) {
    if (std::any_of(array->each.begin(), array->each.end(),
                    [](const FoldedNumber& value) { return value.value().as_double() > 0; }))
      return array;
  }
  return nullptr;
}

HotSites hottest(SiteKind kind, std::vector<const ArrayTotals*> arrays, const SitesRecord* sites,
                 std::size_t most) {
  HotSites hot;
  hot.kind = kind;
  const ArrayTotals* const first = leading(arrays);
  hot.arrays = std::move(arrays);
  if (first == nullptr) return hot;
  std::vector<std::size_t> ids;
  for (std::size_t id = 0; id < first->each.size(); ++id) {
    if (first->each[id].value().as_double() > 0) ids.push_back(id);
  }
  const std::size_t shown = std::min(most, ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(shown), ids.end(),
                    [&](std::size_t a, std::size_t b) {
                      const Number left = first->each[a].value();
                      const Number right = first->each[b].value();
                      return right < left || (!(left < right) && a < b);
                    });
  hot.further = ids.size() - shown;
  ids.resize(shown);
  for (const std::size_t id : ids) hot.rows.push_back(label_of(sites, kind, id));
  return hot;
}

}  // namespace

std::vector<HotSites> hot_sites_of(const KernelTotals& kernel, const SitesRecord* sites, std::size_t most) {
  std::vector<HotSites> found;
  for (const SiteKind kind : {SiteKind::basic_block, SiteKind::instruction}) {
    std::vector<const ArrayTotals*> arrays;
    for (const ArrayTotals& array : kernel.arrays) {
      if (array.site_kind == kind && !array.each.empty()) arrays.push_back(&array);
    }
    if (!arrays.empty()) found.push_back(hottest(kind, std::move(arrays), sites, most));
  }
  return found;
}

}  // namespace lynxpp::report
