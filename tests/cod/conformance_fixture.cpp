#include "tests/cod/conformance_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "cod/allocation_table.h"
#include "cod/specification.h"
#include "cod/word_map.h"
#include "device/cpu/simt/execute/executor.h"
#include "engine/instrument.h"
#include "engine/word_counts.h"
#include "instrumentors/gmprof/schemes.h"
#include "ptx/passes/counting/refinements.h"
#include "support/text.h"
#include "tests/cod/launch_memory.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

/// Accesses to shared and global memory; see the header.
std::string patterns() {
  std::string text = R"({
  .reg .b32 %q<16>;
  .reg .b64 %qd<4>;
  .reg .pred %g<5>;
  .shared .align 16 .b8 tile[8208];
  mad.lo.u32 %q1, %r12, 7919, %r7;
  mul.lo.u32 %q1, %q1, 2654435761;
  shr.u32 %q2, %q1, 13;
  xor.b32 %q1, %q1, %q2;
  mul.lo.u32 %q1, %q1, 2246822519;
  shr.u32 %q2, %q1, 15;
  xor.b32 %q1, %q1, %q2;
  and.b32 %q2, %r12, 4;
  shr.u32 %q3, %q1, 29;
  or.b32 %q2, %q2, %q3;
  setp.ne.u32 %g1, %q2, 0;
  and.b32 %q4, %q1, 511;
  mul.lo.u32 %q5, %r7, %r12;
  shl.b32 %q5, %q5, 2;
  shr.u32 %q6, %r7, 1;
  shl.b32 %q6, %q6, 4;
  and.b32 %q7, %r12, 3;
  setp.eq.u32 %g2, %q7, 1;
  setp.eq.u32 %g3, %q7, 2;
  setp.eq.u32 %g4, %q7, 3;
  selp.b32 %q8, %q4, %q1, %g2;
  selp.b32 %q8, %q5, %q8, %g3;
  selp.b32 %q8, %q6, %q8, %g4;
  mov.u32 %q9, tile;
  mov.u64 %qd2, 0;
)";
  const std::pair<int, const char*> accesses[] = {
      {1, "u8"}, {2, "u16"}, {4, "u32"}, {8, "u64"}, {16, "v4.u32"}};
  for (const auto& [bytes, type] : accesses) {
    const std::string value = bytes == 8 ? "%qd2" : bytes == 16 ? "{%q12, %q13, %q14, %q15}" : "%q12";
    text += "  and.b32 %q10, %q8, " + std::to_string(8192 - bytes) + ";\n  add.u32 %q11, %q9, %q10;\n" +
            "  cvt.u64.u32 %qd1, %q10;\n  add.u64 %qd1, %qd1, %rd1;\n";
    for (const std::string guard : {"", "@%g1 "}) {
      text += "  " + guard + "ld.shared." + type + " " + value + ", [%q11];\n";
      text += "  " + guard + "st.shared." + type + " [%q11], " + value + ";\n";
      text += "  " + guard + "ld.global." + type + " " + value + ", [%qd1];\n";
    }
  }
  text += R"(  and.b32 %q10, %q8, 8188;
  add.u32 %q11, %q9, %q10;
  @%g1 atom.shared.add.u32 %q12, [%q11], 1;
  red.shared.add.u32 [%q11], 1;
  }
)";
  return text;
}

/// The kernels `exchange` and `outside`, given the name of the array of fixed size.
std::string exchanging(const std::string& fixed) {
  return "  mov.u32 %r17, " + fixed + R"(;
  mov.u32 %r18, dynamic;
  shl.b32 %r19, %r7, 2;
  add.u32 %r17, %r17, %r19;
  add.u32 %r18, %r18, %r19;
  st.shared.u32 [%r17], %r7;
  add.u32 %r19, %r7, 7;
  st.shared.u32 [%r18], %r19;
  bar.sync 0;
  sub.u32 %r1, %r9, 1;
  sub.u32 %r1, %r1, %r7;
  shl.b32 %r1, %r1, 2;
  mov.u32 %r17, )" +
         fixed + R"(;
  add.u32 %r17, %r17, %r1;
  mov.u32 %r18, dynamic;
  add.u32 %r18, %r18, %r1;
  ld.shared.u32 %r2, [%r17];
  ld.shared.u32 %r3, [%r18];
  mad.lo.u32 %r2, %r2, 4099, %r3;
  st.global.u32 [%rd5], %r2;
  ret;
)";
}

const std::string& kernels() {
  static const std::string text = [] {
    const std::string prologue = R"(
  .reg .pred %p<4>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %ntid.y;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %tid.y;
  mov.u32 %r5, %tid.z;
  mad.lo.u32 %r6, %r5, %r2, %r4;
  mad.lo.u32 %r7, %r6, %r1, %r3;
  mov.u32 %r8, %ntid.z;
  mul.lo.u32 %r9, %r1, %r2;
  mul.lo.u32 %r9, %r9, %r8;
  mov.u32 %r10, %nctaid.x;
  mov.u32 %r11, %nctaid.y;
  mov.u32 %r12, %ctaid.x;
  mov.u32 %r13, %ctaid.y;
  mov.u32 %r14, %ctaid.z;
  mad.lo.u32 %r15, %r14, %r11, %r13;
  mad.lo.u32 %r15, %r15, %r10, %r12;
  mad.lo.u32 %r16, %r15, %r9, %r7;
  mul.wide.u32 %rd3, %r16, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
)";
    const std::string work =
        "  ld.global.u32 %r17, [%rd4];\n  add.u32 %r17, %r17, 1;\n  st.global.u32 [%rd5], %r17;\n";
    const auto entry = [&](const std::string& name, const std::string& body) {
      return ".visible .entry " + name + "(.param .u64 in, .param .u64 out)\n{" + prologue + body + "}\n";
    };
    return ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"src/kernel.cu\"\n" +
           entry("straight", "  .loc 1 10 3\n" + work + "  .loc 1 12 1\n  ret;\n") +
           entry("divergent",
                 "  and.b32 %r18, %r7, 1;\n  setp.eq.u32 %p1, %r18, 0;\n  @%p1 bra $L_end;\n  and.b32 %r19, "
                 "%r7, 3;\n$L_loop:\n" +
                     work +
                     "  sub.u32 %r19, %r19, 1;\n  setp.ne.u32 %p2, %r19, 0;\n  @%p2 bra $L_loop;\n$L_end:\n  "
                     "ret;\n") +
           entry("early",
                 "  and.b32 %r18, %r7, 1;\n  setp.ne.u32 %p1, %r18, 0;\n  @%p1 ret;\n" + work + "  ret;\n") +
           entry("edges", R"(
  and.b32 %r18, %r7, 3;
  and.b32 %r19, %r18, 2;
  setp.eq.u32 %p1, %r19, 0;
$L_same: .branchtargets $L_a, $L_last, $L_a, $L_last;
$L_some: .branchtargets $L_x, $L_y, $L_x, $L_last;
  brx.idx %r19, $L_same;
$L_a:
  @%p1 bra $L_b;
$L_b:
  @%p1 brx.idx %r18, $L_some;
$L_x:
)" + work + "  bra.uni $L_last;\n$L_y:\n  bra $L_last;\n$L_last:\n  ret;\n") +
           ".extern .shared .align 4 .b8 dynamic[];\n" +
           entry("exchange", "  .shared .align 4 .b8 fixed[4096];\n" + exchanging("fixed")) +
           ".shared .align 4 .b8 outer[4096];\n" + entry("outside", exchanging("outer")) +
           entry("patterns", patterns() + work + "  ret;\n");
  }();
  return text;
}

std::string text_of(const Failure& failed, const std::string& source) {
  return render(failed.diagnostics, source);
}

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(T));
}

/// A launch of the kernel, with and without probes.
class Run {
 public:
  Run(const std::vector<std::string>& sources, const Shape& shape, const std::string& kernel,
      const std::string& module, bool assembled, bool plain_counters, int device_sm = 90)
      : sources_(sources),
        shape_(shape),
        kernel_(kernel),
        module_(module),
        assembled_(assembled),
        plain_counters_(plain_counters),
        device_sm_(device_sm),
        results_(sources.size()),
        arrays_(sources.size()) {}

  void count_with_probes(const CountedWith& how) { how_ = how; }

  std::vector<Measured> measure() {
    engine::Request request;
    for (const std::string& source : sources_) {
      auto specification = compile(source, "t.cod");
      if (!specification) return failed(text_of(specification.error(), source));
      request.specifications.push_back(*specification);
    }
    specifications_ = request.specifications;
    request.ptx = &module_;
    request.kernel = kernel_;
    request.device_sm = device_sm_;
    request.inspection.verify = true;
    request.counting.plain = plain_counters_;
    if (how_) set_how(request);
    auto variant = engine::instrument(request);
    if (!variant) return failed(text_of(variant.error(), sources_[0]));
    if (assembled_ && has_ptxas()) {
      EXPECT_EQ(ptxas_errors(variant->ptx, 80), "");
    }
    for (Measured& each : results_) each.variant_instructions = count_instructions(variant->ptx);
    parameters_ = variant->parameters;
    memory_.reserve(shape_.blocks() * shape_.threads() + 32);
    std::ranges::fill(memory_.input(), 5);
    place(*variant);
    device::cpu::LaunchCounters counters;
    if (variant->words != nullptr) counters.words.emplace();
    if (!launch(module_, {}, &counters)) return results_;
    const std::vector<std::uint32_t> expected(memory_.output().begin(), memory_.output().end());
    std::ranges::fill(memory_.output(), 0);
    if (!launch(with_initial_counters(variant->ptx), words(*variant), nullptr)) return results_;
    EXPECT_TRUE(std::ranges::equal(memory_.output(), expected))
        << "the instrumented kernel computes a different result";
    fill_counted(*variant);
    fill_words(*variant);
    for (std::size_t i = 0; i < results_.size(); ++i) {
      results_[i].thread_instructions = counters.thread_instructions;
      results_[i].counters = counters;
      results_[i].device_words = device_words(counters);
      report(*variant, i);
    }
    return results_;
  }

  /// True if the specification with this index has counters, or any specification has.
  bool has_counters(std::size_t index) const { return !specifications_[index]->counters().empty(); }
  bool has_counters() const {
    return std::any_of(specifications_.begin(), specifications_.end(),
                       [](const auto& each) { return !each->counters().empty(); });
  }

 private:
  std::vector<Measured> failed(const std::string& why) {
    for (Measured& each : results_) each.failure = why;
    return results_;
  }

  void set_how(engine::Request& request) const {
    request.limits.without.insert(ptx::Refinement::replayed_accesses);
    if (!how_->in_line) request.limits.without.insert(ptx::Refinement::word_counters);
    const std::string scheme = how_->initial_in_block ? "shared=32" : how_->scheme;
    request.words.scheme = *gmprof::parse_schemes(scheme, "test");
    request.counting.wide = how_->saturates;
  }

  /// Initializes counters in shared memory to another value than zero in the code that clears them, except
  /// the header.
  std::string with_initial_counters(std::string ptx) const {
    if (!counts_in_block()) return ptx;
    const auto between = [&](std::size_t from, std::string_view before, std::string_view behind) {
      const std::size_t begin = ptx.find(before, from) + before.size();
      return ptx.substr(begin, ptx.find(behind, begin) - begin);
    };
    const std::string store = "st.shared.v4.b32 [", zeros = "], {0, 0, 0, 0};";
    const std::size_t cleared = ptx.find(store);
    if (cleared == std::string::npos) {
      ADD_FAILURE() << "no code clears the counters";
      return ptx;
    }
    const std::string at = between(cleared, store, zeros);
    const std::size_t first = ptx.rfind("mad.lo.u32 " + at + ", ", cleared);
    const std::string header = between(first, ", 16, ", ";");
    return ptx.replace(cleared, store.size() + at.size() + zeros.size(),
                       "{ .reg .pred is_header; .reg .b32 first; setp.eq.u32 is_header, " + at + ", " +
                           header + "; selp.b32 first, 0, " + std::to_string(*how_->initial_in_block) +
                           ", is_header; " + store + at + "], {first, first, first, first}; }");
  }

  bool counts_in_block() const { return how_ && how_->initial_in_block; }

  void place(const engine::Instrumented& variant) {
    extents_.basic_blocks = variant.size.basic_blocks;
    extents_.instructions = variant.size.instructions;
    extents_.blocks = shape_.blocks();
    extents_.warps = shape_.blocks() * shape_.warps();
    extents_.threads = shape_.blocks() * shape_.threads();
    extents_.sms = device::cpu::multiprocessors();
    if (variant.words != nullptr) {
      map_ = WordMap({range_of(memory_.input()), range_of(memory_.output())});
      extents_.device_words = map_.words();
      extents_.shared_words = (variant.words->static_shared_bytes + dynamic_shared_bytes() + 128 + 3) / 4;
      // The memory that is cleared together contains only counters.
      if (counts_in_block()) extents_.shared_words = (extents_.shared_words + 3) / 4 * 4;
      shared_addresses_.assign(variant.words->shared_arrays.size(), 0);
    }
    for (std::size_t i = 0; i < specifications_.size(); ++i) {
      for (const GlobalArray& array : specifications_[i]->arrays()) {
        const std::uint64_t bytes = element_count(array, extents_) * size_of(array.type);
        arrays_[i].emplace_back((bytes + 7) / 8, how_ ? how_->initial : 0);
        if (!array.initial.empty())
          set_initial_values(array, std::as_writable_bytes(std::span(arrays_[i].back())).first(bytes));
      }
    }
  }

  std::vector<std::uint64_t> words(const engine::Instrumented& variant) {
    std::vector<std::uint64_t> values;
    arrays_in_block_ = 0;
    for (const engine::ProbeWord& each : variant.probe) {
      if (each.kind == engine::ProbeWord::Kind::counters) {
        slots_.assign(variant.counting->plan->slots(), 0);
        values.push_back(reinterpret_cast<std::uint64_t>(slots_.data()));
        continue;
      }
      if (each.kind == engine::ProbeWord::Kind::shared_addresses) {
        values.push_back(reinterpret_cast<std::uint64_t>(shared_addresses_.data()));
        continue;
      }
      switch (each.word.kind) {
        case Word::Kind::array_address:
          values.push_back(
              reinterpret_cast<std::uint64_t>(arrays_[each.specification][each.word.index].data()));
          break;
        case Word::Kind::extent: values.push_back(value_of({each.word.extent, 1, {}}, extents_)); break;
        case Word::Kind::word_map:
          values.push_back(
              map_.word(each.word.index, reinterpret_cast<std::uint64_t>(map_.entries().data())));
          if (how_ && each.word.index == WordMap::part_window_bytes)
            values.back() = std::min(values.back(), how_->bytes_in_window);
          break;
        case Word::Kind::allocations:
          allocations_ =
              allocation_table({{range_of(memory_.input()).first, range_of(memory_.input()).second, 0},
                                {range_of(memory_.output()).first, range_of(memory_.output()).second, 1}});
          values.push_back(reinterpret_cast<std::uint64_t>(allocations_.data()));
          break;
        case Word::Kind::shared_counters:
          values.push_back(counts_in_block() ? dynamic_shared_bytes() + ptx::BlockCounters::header_bytes +
                                                   arrays_in_block_++ * bytes_in_block()
                                             : 0);
          break;
        case Word::Kind::dropped:
          dropped_[each.specification].assign(
              1 + specifications_[each.specification]->checked_accesses().size(), 0);
          values.push_back(reinterpret_cast<std::uint64_t>(dropped_[each.specification].data()));
          break;
      }
    }
    return values;
  }

  bool launch(const std::string& ptx, const std::vector<std::uint64_t>& words,
              device::cpu::LaunchCounters* counters) {
    auto module = device::cpu::load_module(ptx, "variant.ptx");
    if (!module) {
      failed(text_of(module.error(), ptx));
      return false;
    }
    std::vector<std::byte> parameters = program_parameters();
    parameters.resize((parameters.size() + 7) / 8 * 8);
    for (const std::uint64_t word : words) append(parameters, word);
    device::cpu::LaunchShape shape{{shape_.grid[0], shape_.grid[1], shape_.grid[2]},
                                   {shape_.block[0], shape_.block[1], shape_.block[2]},
                                   dynamic_shared_bytes()};
    if (counts_in_block() && !words.empty())
      shape.shared_bytes += ptx::BlockCounters::header_bytes + arrays_in_block_ * bytes_in_block();
    const Status status = (*module)->launch(kernel_, shape, parameters, counters);
    if (!status) failed(text_of(status.error(), ptx));
    return status.ok();
  }

  std::vector<std::byte> program_parameters() {
    std::vector<std::byte> parameters;
    const std::uint64_t addresses[] = {range_of(memory_.input()).first, range_of(memory_.output()).first};
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      parameters.resize(parameters_[i].offset + parameters_[i].bytes);
      if (i < 2) std::memcpy(&parameters[parameters_[i].offset], &addresses[i], sizeof addresses[i]);
    }
    return parameters;
  }

  /// Bytes of an array's counters in the block's shared memory.
  std::uint32_t bytes_in_block() const { return 4 * static_cast<std::uint32_t>(extents_.shared_words); }

  std::uint32_t dynamic_shared_bytes() const {
    return kernel_ == "exchange" || kernel_ == "outside" ? 4096u : 0u;
  }

  /// Begin and size in bytes.
  static std::pair<std::uint64_t, std::uint64_t> range_of(std::span<const std::uint32_t> words) {
    return {reinterpret_cast<std::uint64_t>(words.data()), words.size() * sizeof words[0]};
  }

  static std::vector<std::span<std::byte>> bytes_of(std::vector<std::vector<std::uint64_t>>& arrays) {
    std::vector<std::span<std::byte>> bytes;
    for (std::vector<std::uint64_t>& array : arrays)
      bytes.push_back(std::as_writable_bytes(std::span<std::uint64_t>(array)));
    return bytes;
  }

  void fill_counted(const engine::Instrumented& variant) {
    if (variant.counting == nullptr) return;
    std::vector<std::vector<std::span<std::byte>>> arrays;
    for (auto& each : arrays_) arrays.push_back(bytes_of(each));
    engine::fill_counted_arrays(*variant.counting, specifications_, slots_,
                                {extents_.threads, extents_.warps}, arrays);
  }

  void fill_words(const engine::Instrumented& variant) {
    if (variant.words == nullptr) return;
    std::vector<std::vector<std::span<std::byte>>> arrays;
    for (auto& each : arrays_) arrays.push_back(bytes_of(each));
    engine::LaunchedWords launched;
    std::copy(std::begin(shape_.grid), std::end(shape_.grid), launched.grid);
    std::copy(std::begin(shape_.block), std::end(shape_.block), launched.block);
    const std::vector<std::byte> parameters = program_parameters();
    launched.parameters = parameters;
    launched.shared_addresses = shared_addresses_;
    launched.shared = {{0, 4 * extents_.shared_words, 0}};
    for (const auto& [address, bytes] : {range_of(memory_.input()), range_of(memory_.output())})
      launched.device.push_back({address, bytes, *map_.element_of(address)});
    std::ranges::sort(launched.device, {}, &engine::CountedRange::address);
    const auto filled = engine::fill_counted_words(*variant.words, launched, specifications_, arrays);
    if (!filled.status) failed(text_of(filled.status.error(), sources_[0]));
  }

  /// The device's counts by element of DEVICE_WORDS arrays.
  std::map<std::uint64_t, std::uint64_t> device_words(const device::cpu::LaunchCounters& counters) const {
    std::map<std::uint64_t, std::uint64_t> counts;
    if (!counters.words) return counts;
    for (const auto& [word, count] : counters.words->global) {
      const auto element = map_.element_of(4 * word);
      EXPECT_TRUE(element) << "an access outside of the arrays";
      if (element) counts[*element] = count;
    }
    return counts;
  }

  void report(const engine::Instrumented& variant, std::size_t index) {
    Measured& result = results_[index];
    const auto report = specifications_[index]->compile_host();
    if (!report) {
      result.failure = text_of(report.error(), sources_[index]);
      return;
    }
    LaunchView view;
    std::copy(std::begin(shape_.grid), std::end(shape_.grid), view.grid);
    std::copy(std::begin(shape_.block), std::end(shape_.block), view.block);
    view.basic_blocks = variant.size.basic_blocks;
    view.instructions = variant.size.instructions;
    view.sms = extents_.sms;
    view.sites = variant.sites.get();
    view.arrays = bytes_of(arrays_[index]);
    view.shared_words = extents_.shared_words;
    view.device_words = extents_.device_words;
    if (variant.words != nullptr) {
      view.counts_exactly = variant.words->scheme.is_exact();
      view.shared_arrays = {{"shared", 0, extents_.shared_words}};
      view.device_arrays = {
          {"in", *map_.element_of(range_of(memory_.input()).first), memory_.input().size()},
          {"out", *map_.element_of(range_of(memory_.output()).first), memory_.output().size()}};
    }
    view.located_arrays = {
        {"in", range_of(memory_.input()).first, range_of(memory_.input()).second, false, 0},
        {"out", range_of(memory_.output()).first, range_of(memory_.output()).second, false, 1}};
    view.emit = [&](const Emitted& emitted) {
      std::visit(
          [&](const auto& values) { result.results[emitted.name].assign(values.begin(), values.end()); },
          emitted.values);
      result.emitted[emitted.name] = emitted;
    };
    view.print = [&](std::string_view text) { result.notes.emplace_back(text); };
    const Status status = (*report)->run(view);
    result.arrays = arrays_[index];
    for (std::size_t i = 0; i < dropped_[index].size(); ++i) {
      result.dropped += dropped_[index][i];
      if (i != 0 && dropped_[index][i] != 0)
        result.dropped_at[specifications_[index]->checked_accesses()[i - 1].location.line] +=
            dropped_[index][i];
    }
    if (!status) result.failure = text_of(status.error(), sources_[index]);
  }

  const std::vector<std::string> sources_;
  const Shape& shape_;
  const std::string& kernel_;
  const std::string& module_;
  bool assembled_;
  const bool plain_counters_;
  const int device_sm_;
  std::vector<std::shared_ptr<const Specification>> specifications_;
  LaunchExtents extents_;
  std::uint32_t arrays_in_block_ = 0;
  std::vector<device::ParameterSlot> parameters_;
  std::vector<Measured> results_;
  std::vector<std::vector<std::vector<std::uint64_t>>> arrays_;
  std::vector<std::uint64_t> slots_;
  WordMap map_ = WordMap({});
  std::vector<std::uint64_t> allocations_;
  std::map<std::size_t, std::vector<std::uint64_t>> dropped_;  ///< by specification
  std::optional<CountedWith> how_;
  std::vector<std::uint64_t> shared_addresses_;
  Memory memory_;
};

}  // namespace

/// Excludes rows of memory_trace, which are in the order in which warps ran.
static std::map<std::string, std::vector<double>> without_rows(
    std::map<std::string, std::vector<double>> results) {
  std::erase_if(results, [](const auto& result) {
    return result.first.starts_with("accesses.") || result.first.starts_with("lane_addresses.");
  });
  return results;
}

/// Counted on a few edges and at every site, if that makes a difference.
static std::vector<Measured> measure_both(const std::vector<std::string>& sources, const Shape& shape,
                                          const std::string& kernel, const std::string& module,
                                          bool assembled) {
  Run run(sources, shape, kernel, module, assembled, false);
  std::vector<Measured> measured = run.measure();
  if (run.has_counters()) {
    const std::vector<Measured> plain = Run(sources, shape, kernel, module, assembled, true).measure();
    for (std::size_t i = 0; i < measured.size(); ++i) {
      // Other specifications may measure time, which varies.
      if (run.has_counters(i)) {
        EXPECT_EQ(without_rows(measured[i].results), without_rows(plain[i].results))
            << "counting on edges and at every site differs\n"
            << sources[i];
      }
      EXPECT_EQ(measured[i].failure, plain[i].failure);
      EXPECT_EQ(measured[i].dropped, plain[i].dropped);
    }
  }
  return measured;
}

double Measured::operator[](const std::string& name) const {
  const auto found = results.find(name);
  return found == results.end() || found->second.empty() ? std::numeric_limits<double>::quiet_NaN()
                                                         : found->second.front();
}

Measured measure(const std::string& source, const Shape& shape, const std::string& kernel, bool assembled) {
  return measure_both({source}, shape, kernel, kernels(), assembled).front();
}

Measured measure_module(const std::string& source, const Shape& shape, const std::string& module,
                        bool assembled) {
  return measure_both({source}, shape, "k", module, assembled).front();
}

Measured measure_with_probes(const std::string& source, const Shape& shape, const std::string& kernel,
                             const CountedWith& how) {
  Run run({source}, shape, kernel, kernels(), true, false);
  run.count_with_probes(how);
  return run.measure().front();
}

Measured measure_module_with_probes(const std::string& source, const Shape& shape, const std::string& module,
                                    const CountedWith& how) {
  const std::string kernel = "k";
  Run run({source}, shape, kernel, module, true, false);
  run.count_with_probes(how);
  return run.measure().front();
}

Measured measure_module_for(const std::string& source, const Shape& shape, const std::string& module,
                            int device_sm) {
  const std::string kernel = "k";
  return Run({source}, shape, kernel, module, false, false, device_sm).measure().front();
}

std::vector<Measured> measure_together(const std::vector<std::string>& sources, const Shape& shape,
                                       const std::string& kernel) {
  return measure_both(sources, shape, kernel, kernels(), true);
}

}  // namespace lynxpp::cod
