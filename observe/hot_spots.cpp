#include "observe/hot_spots.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "observe/embedded.h"

namespace lynxpp::observe {
namespace {

using report::LaunchRecord;
using report::ResultValue;

constexpr std::uint64_t region_bytes = 256;

const ResultValue* result_named(const LaunchRecord& record, const std::string& name) {
  const auto found = std::ranges::find(record.results, name, &ResultValue::name);
  return found == record.results.end() ? nullptr : &*found;
}

/// Empty if the result does not exist or has no elements.
std::vector<std::uint64_t> whole_numbers(const LaunchRecord& record, const std::string& name) {
  const ResultValue* const result = result_named(record, name);
  if (result == nullptr) return {};
  if (const auto* values = std::get_if<std::vector<std::uint64_t>>(&result->values)) return *values;
  if (const auto* values = std::get_if<std::vector<std::int64_t>>(&result->values))
    return {values->begin(), values->end()};
  return {};
}

std::uint64_t sum_named(const LaunchRecord& record, const std::string& name) {
  const std::vector<std::uint64_t> values = whole_numbers(record, name);
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

/// The array that contains an address, and the offset from its beginning.
struct Located {
  std::string array;
  std::uint64_t offset = 0;
  auto operator<=>(const Located&) const = default;
};

class Arrays {
 public:
  explicit Arrays(const LaunchRecord& record)
      : addresses_(whole_numbers(record, "arrays.address")), bytes_(whole_numbers(record, "arrays.bytes")) {
    const std::vector<std::uint64_t> shared = whole_numbers(record, "arrays.shared");
    for (std::size_t i = 0; i < shared.size() && i < bytes_.size(); ++i) {
      if (shared[i] != 0) bytes_[i] = 0;
    }
    if (const ResultValue* const result = result_named(record, "arrays.address")) names_ = result->labels;
  }

  Located locate(std::uint64_t address) const {
    for (std::size_t i = 0; i < addresses_.size() && i < bytes_.size(); ++i) {
      if (address < addresses_[i] || address - addresses_[i] >= bytes_[i]) continue;
      return {i < names_.size() ? names_[i] : "array " + std::to_string(i), address - addresses_[i]};
    }
    return {"", address};
  }
  /// Finds the lowest array that begins within `bytes` from `address`: a region may begin before its array
  /// does.
  std::optional<Located> begins_within(std::uint64_t address, std::uint64_t bytes) const {
    std::optional<std::size_t> lowest;
    for (std::size_t i = 0; i < addresses_.size() && i < bytes_.size(); ++i) {
      if (bytes_[i] == 0 || addresses_[i] < address || addresses_[i] - address >= bytes) continue;
      if (!lowest || addresses_[i] < addresses_[*lowest]) lowest = i;
    }
    if (!lowest) return std::nullopt;
    return Located{*lowest < names_.size() ? names_[*lowest] : "array " + std::to_string(*lowest), 0};
  }

 private:
  std::vector<std::uint64_t> addresses_, bytes_;
  std::vector<std::string> names_;
};

using Counts = std::map<Located, std::map<std::uint32_t, std::uint64_t>>;

void add_rows(const LaunchRecord& record, const std::string& table, std::uint64_t unit, Counts& counts) {
  const Arrays arrays(record);
  const auto instructions = whole_numbers(record, table + ".instruction");
  const auto where = whole_numbers(record, table + ".where");
  const auto values = whole_numbers(record, table + ".value");
  for (std::size_t i = 0; i < where.size() && i < values.size() && i < instructions.size(); ++i) {
    Located spot = arrays.locate(where[i] * unit);
    if (spot.array.empty()) spot = arrays.begins_within(where[i] * unit, unit).value_or(spot);
    counts[spot][static_cast<std::uint32_t>(instructions[i])] += values[i];
  }
}

void add_hot(const Counts& counts, HotSpot::Kind kind, std::uint64_t all, std::vector<HotSpot>& spots) {
  std::vector<HotSpot> found;
  for (const auto& [located, by_site] : counts) {
    HotSpot spot{kind, located.array, located.offset, kind == HotSpot::Kind::region ? region_bytes : 0, 0, 0,
                 {}};
    for (const auto& [instruction, count] : by_site) {
      spot.count += count;
      spot.sites.push_back({instruction, count});
    }
    spot.share = all == 0 ? 0 : static_cast<double>(spot.count) / static_cast<double>(all);
    if (spot.share < least_hot_share || spot.count < least_hot_count) continue;
    std::ranges::stable_sort(spot.sites, std::greater(), &HotSpot::Site::count);
    found.push_back(std::move(spot));
  }
  std::ranges::stable_sort(found, std::greater(), &HotSpot::count);
  spots.insert(spots.end(), found.begin(), found.end());
}

}  // namespace

std::string hot_spots_specification() {
  for (const EmbeddedText& each : embedded_specification()) {
    if (each.name == "hot_spots") return std::string(each.source);
  }
  return {};
}

Result<HotSpots> hot_spots_of(const std::vector<const LaunchRecord*>& launches) {
  HotSpots result;
  Counts regions, addresses;
  std::uint64_t visits = 0, operations = 0;
  for (const LaunchRecord* record : launches) {
    if (result_named(*record, "visits") == nullptr || result_named(*record, "operations") == nullptr)
      return failure("a record has no visits; it is not from the hot-spots specification");
    visits += sum_named(*record, "visits");
    operations += sum_named(*record, "operations");
    result.not_counted += sum_named(*record, "not_counted");
    add_rows(*record, "regions", region_bytes, regions);
    add_rows(*record, "addresses", 1, addresses);
  }
  add_hot(regions, HotSpot::Kind::region, visits, result.spots);
  add_hot(addresses, HotSpot::Kind::address, operations, result.spots);
  return result;
}

}  // namespace lynxpp::observe
