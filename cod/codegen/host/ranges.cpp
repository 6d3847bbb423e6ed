// emitRanges(): summarizes live ranges of words for each of the program's arrays, and emits a table of
// records. A record combines the words of an array that were live during the same interval.
#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "cod/codegen/host/runtime.h"

namespace lynxpp::cod {
namespace {

/// How a range ended; the values appear in the table of records.
enum Ending : std::uint64_t { stored = 0, overwritten = 1, open_at_exit = 2, endings = 3 };

/// A word of a thread block that held a value from device memory from `begin` to `end`. `begin` is 0 for
/// accesses before it held one. `left` is the time when a value derived from it was last stored to device
/// memory, or 0.
struct WordRange {
  std::uint64_t word, block, begin, end, left, accesses;
  bool is_open;  ///< at the block's exit
};

struct RecordKey {
  std::uint64_t array, block, begin, end, ending;
  auto operator<=>(const RecordKey&) const = default;
};

struct Tally {
  std::uint64_t words = 0, accesses = 0, least = ~std::uint64_t{0}, greatest = 0;
  void add(std::uint64_t count) {
    ++words;
    accesses += count;
    least = std::min(least, count);
    greatest = std::max(greatest, count);
  }
};

struct ArrayTally {
  Tally of_ranges;
  std::uint64_t ended[endings] = {};
  std::uint64_t records = 0;
  std::uint64_t outside = 0;  ///< accesses while the word held no value from device memory
};

template <typename Element>
std::uint64_t element(const HostRun& run, const Symbol& array, std::uint64_t index) {
  Element value = 0;
  std::memcpy(&value, run.launch.arrays[array.index].data() + index * sizeof value, sizeof value);
  return value;
}

class Ranges {
 public:
  explicit Ranges(const HostCall& call)
      : run_(call.run),
        closed_(*call.symbol(1).collection),
        open_(call.symbol(2)),
        left_(call.symbol(3)),
        last_(call.symbol(4)),
        tallies_(call.run.launch.shared_arrays.size()) {}

  void collect() {
    for (const std::uint64_t slot : entry_slots(run_, closed_)) {
      const auto field = [&](std::size_t i) {
        return element<std::uint32_t>(run_, *closed_.leaves[i], slot);
      };
      add({field(0), field(1), field(2), field(3), field(4), field(5), false});
    }
    constexpr unsigned half = 32;
    const std::uint64_t words = run_.extents.shared_words;
    for (std::uint64_t block = 0; block < run_.extents.blocks; ++block) {
      const auto last = element<std::uint32_t>(run_, last_, block);
      for (std::uint64_t word = 0; word < words; ++word) {
        const auto state = element<std::uint64_t>(run_, open_, block * words + word);
        if (state == 0) continue;
        const auto left = element<std::uint32_t>(run_, left_, block * words + word);
        add({word, block, state >> half, last, left, state & 0xffffffff, true});
      }
    }
    for (const auto& [key, tally] : records_) ++tallies_[key.array].records;
  }

  void emit(const std::string& name) {
    if (outside_of_arrays_ != 0 && run_.launch.print)
      run_.launch.print(std::to_string(outside_of_arrays_) +
                        " accesses outside of all known arrays were not counted");
    emit_arrays(name);
    emit_records(name);
  }

 private:
  void add(const WordRange& range) {
    const auto& arrays = run_.launch.shared_arrays;
    const auto next = std::ranges::upper_bound(arrays, range.word, {}, &MemoryArray::first);
    if (next == arrays.begin() || range.word - (next - 1)->first >= (next - 1)->words) {
      outside_of_arrays_ += range.accesses;
      return;
    }
    const auto array = static_cast<std::uint64_t>(next - 1 - arrays.begin());
    if (range.begin == 0) {
      tallies_[array].outside += range.accesses;
      return;
    }
    const Ending ending = range.left != 0 ? stored : range.is_open ? open_at_exit : overwritten;
    const std::uint64_t end = ending == stored ? range.left : range.end;
    tallies_[array].of_ranges.add(range.accesses);
    ++tallies_[array].ended[ending];
    records_[{array, range.block, range.begin, end, ending}].add(range.accesses);
  }

  template <typename Value>
  std::vector<std::uint64_t> of_arrays(Value value) const {
    std::vector<std::uint64_t> values;
    for (const ArrayTally& each : tallies_) values.push_back(value(each));
    return values;
  }

  void emit_arrays(const std::string& name) {
    Emitted row;
    row.table = run_.take_name(name);
    if (tallies_.empty()) return;
    row.dimensions = {tallies_.size()};
    row.dimension_names = {"arrays"};
    std::vector<std::uint64_t> words;
    for (const MemoryArray& array : run_.launch.shared_arrays) {
      row.labels.push_back(array.name);
      words.push_back(array.words);
    }
    const auto ended = [&](Ending ending) {
      return of_arrays([ending](const ArrayTally& each) { return each.ended[ending]; });
    };
    const auto ranges = of_arrays([](const ArrayTally& each) { return each.of_ranges.words; });
    run_.emit_column(row, "words", words, "words", Folding::mean);
    run_.emit_column(row, "records", of_arrays([](const ArrayTally& each) { return each.records; }), "ranges",
                     Folding::sum);
    run_.emit_column(row, "ranges", ranges, "ranges of a word", Folding::sum);
    run_.emit_column(row, "stored", ended(stored), "ranges of a word", Folding::sum);
    run_.emit_column(row, "overwritten", ended(overwritten), "ranges of a word", Folding::sum);
    run_.emit_column(row, "open_at_exit", ended(open_at_exit), "ranges of a word", Folding::sum);
    const auto accesses = of_arrays([](const ArrayTally& each) { return each.of_ranges.accesses; });
    run_.emit_column(row, "accesses", accesses, "accesses", Folding::sum);
    Emitted mean = row;
    mean.denominators = ranges;
    run_.emit_column(mean, "mean", accesses, "accesses per word and range", Folding::by_name);
    const auto least = of_arrays(
        [](const ArrayTally& each) { return each.of_ranges.words == 0 ? 0 : each.of_ranges.least; });
    run_.emit_column(row, "least", least, "accesses", Folding::least);
    run_.emit_column(row, "greatest",
                     of_arrays([](const ArrayTally& each) { return each.of_ranges.greatest; }), "accesses",
                     Folding::greatest);
    run_.emit_column(row, "outside", of_arrays([](const ArrayTally& each) { return each.outside; }),
                     "accesses", Folding::sum);
  }

  template <typename Value>
  std::vector<std::uint64_t> of_records(Value value) const {
    std::vector<std::uint64_t> values;
    for (const auto& [key, tally] : records_) values.push_back(value(key, tally));
    return values;
  }

  void emit_records(const std::string& name) {
    Emitted row;
    row.table = run_.take_name(name + "_records");
    row.dimensions = {records_.size()};
    const auto column = [&](const char* of, const std::string& unit, auto value) {
      run_.emit_column(row, of, of_records(value), unit, Folding::by_name);
    };
    column("array", "id", [](const RecordKey& key, const Tally&) { return key.array; });
    column("block", "id", [](const RecordKey& key, const Tally&) { return key.block; });
    column("begin", "transfers", [](const RecordKey& key, const Tally&) { return key.begin; });
    column("end", "transfers", [](const RecordKey& key, const Tally&) { return key.end; });
    column("ending", "id", [](const RecordKey& key, const Tally&) { return key.ending; });
    column("words", "words", [](const RecordKey&, const Tally& tally) { return tally.words; });
    column("accesses", "accesses", [](const RecordKey&, const Tally& tally) { return tally.accesses; });
    column("least", "accesses", [](const RecordKey&, const Tally& tally) { return tally.least; });
    column("greatest", "accesses", [](const RecordKey&, const Tally& tally) { return tally.greatest; });
    Emitted mean = row;
    mean.denominators = of_records([](const RecordKey&, const Tally& tally) { return tally.words; });
    run_.emit_column(mean, "mean",
                     of_records([](const RecordKey&, const Tally& tally) { return tally.accesses; }),
                     "accesses per word", Folding::by_name);
  }

  HostRun& run_;
  const Collection& closed_;
  const Symbol &open_, &left_, &last_;
  std::vector<ArrayTally> tallies_;
  std::map<RecordKey, Tally> records_;
  std::uint64_t outside_of_arrays_ = 0;
};

}  // namespace

void emit_ranges(const HostCall& call) {
  Ranges ranges(call);
  ranges.collect();
  ranges.emit(call.text(0));
}

}  // namespace lynxpp::cod
