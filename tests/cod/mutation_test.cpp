// Damaged specifications: compilation terminates and never crashes; those that still compile can be lowered.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "support/text.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

const char* const fragments[] = {"(",
                                 ")",
                                 "{",
                                 "}",
                                 "[",
                                 "]",
                                 ";",
                                 "&",
                                 "atomicAdd(",
                                 "ON_REPORT:",
                                 "if",
                                 "global",
                                 "THREADS",
                                 "9e999",
                                 "0x",
                                 "\"",
                                 "/*",
                                 "*/",
                                 "return",
                                 "break;",
                                 "::",
                                 "\xff",
                                 "1/0",
                                 "a[a]",
                                 "sum(a)",
                                 "emit(\"x\",",
                                 "while(1)",
                                 "double x;",
                                 "~first[block]",
                                 "MEM_READ:",
                                 "struct",
                                 "struct {",
                                 "enum {",
                                 "typedef",
                                 "shared",
                                 "static const",
                                 "switch (",
                                 "case 1:",
                                 "default:",
                                 "[]",
                                 "= {{1}, 2}",
                                 ".x",
                                 "sizeof",
                                 ", ",
                                 "uniqueElementCount(",
                                 "sharedMem[0] = 1;",
                                 "globalMem[1]++;",
                                 "OPCODE(\"*\"):",
                                 "EVERY(2):",
                                 "*",
                                 "->",
                                 "&v",
                                 "*p",
                                 "NULL",
                                 "p + 1",
                                 "made(p, v)",
                                 "int *p = &v;",
                                 "include \"t.cod\"",
                                 "global trace",
                                 "histogram",
                                 "map",
                                 "by int",
                                 "= linear(0, 8)",
                                 "append(&",
                                 "entryKey(points, 0).",
                                 "host int",
                                 "ON_END:"};

const char* const every_construct = R"(
enum color { RED, GREEN = 5, BLUE };
typedef unsigned long u64;
struct pair { unsigned int hits; u64 sum; short h[2]; };
typedef struct pair pair_t;
const int table[] = { 3, GREEN, BLUE * 2, -1 };
static const struct pair ps[2] = { { 1, 2, {3, 4} }, 5, 6, 7, 8 };
global pair_t stats[WARPS];
global unsigned out[8];
shared unsigned long sums[WARPS_PER_BLOCK];
struct { struct { int hits; double w; } p; double w; } mine;
static int pick(int x) { switch (x) { case RED: return 1; case GREEN: x += 2; default: return x; } }
ON_KERNEL_ENTRY: { for (int i = laneId(), j = 0; i < 32; i += 32, ++j) sums[i] = j; syncThreads(); }
ON_INSTRUCTION: MEM_READ: OPCODE("ld.global*"): KERNEL("k.*"): EVERY(2): SOURCE("a.cu", 1, 3): {
  int h[8] = {1, 2, 3};
  struct pair p = { 1, 2 }, q;
  q = p;
  h[laneId() % 8] += pick(table[laneId() & 3]);
  mine.p.hits += h[laneId() / 4] + q.sum;
  atomicAdd(&sums[blockThreadId() / 32], sizeof(p) + sizeof(struct pair) + sizeof h);
  sharedMem[threadIndexX()] = computeBaseAddress();
  unsigned n = uniqueElementCount(memoryAddress() / 32) + uniqueElementCount(sharedMem, true);
  if (leastActiveThreadInWarp()) { stats[warpId()] = q; globalMem[n] += n + ps[n].sum; }
}
ON_KERNEL_EXIT: { out[0] = warpMax(mine.p.hits) + warpSum(mine.w) + warpAny(1) + sums[0]; }
ON_REPORT: { emit("h", sum(stats.hits)); emit("p", stats.h); emit("t", table[1]); }
)";

const char* const every_pointer = R"(
struct inner { int k[2]; }; struct visit { unsigned int n; double w; struct inner in[2]; };
global struct visit visits[WARPS]; const int table[4] = {1, 2, 3, 4}; shared unsigned int seen[4];
unsigned long recent[4] = {1, 2}; struct visit mine = {1, 0.5, {{{1, 2}}}}; bool flags[2];
static struct visit made(const struct visit *p, struct visit v) { v.n += p->n; return v; }
static const int *largest(const int values[], int n) {
  const int *best = NULL;
  for (const int *p = values; p < values + n; ++p) if (best == NULL || *p > *best) best = p;
  return best;
}
ON_INSTRUCTION: MEM_READ: {
  struct visit v, *p = &visits[warpId()], *q = laneId() & 1 ? p : &v;
  v = made(q, made(&mine, *p)); *q = v; p->in[1].k[0] += 1; (*q).w *= 2; int *k = q->in[0].k;
  k[1] = largest(table, 4) - table; *(k + 1) += (q - p) * 2; atomicAdd(&p->n, 1); unsigned int *s = seen; atomicMax(s + 1, 2);
  recent[laneId() % 4] = *&recent[1]; bool *b = flags; b[1] = !b[0]; mine = v; q = 0; if (q) q++; made(p, v).in[0].k[1];
}
ON_REPORT: { struct visit *v = visits; long n = 0; for (int i = 0; i < 3; ++i) n += v[i].n + (v + i)->in[1].k[0]; emit("n", n); }
)";

const char* const every_collection = R"(
struct point { unsigned int block; unsigned long line; };
struct use { long count; struct point last; };
global trace struct use uses[BLOCKS][64];
global trace unsigned char bytes[16];
global histogram sizes[12];
global histogram waits[WARPS][10] = linear(-100, 100);
global histogram late[4] = log2(32);
global map struct use points[256] by struct point;
global map unsigned int lanes[LANES][8] by short;
host double total = 2.5, most[3] = {1, 2};
host struct point first;
ON_INSTRUCTION: MEM_READ: {
  struct point p = {basicBlockId(), memoryAddress() / 128};
  struct use u;
  u.last = p;
  points[p].count += 1;
  points[p] = u;
  unsigned long i = append(&uses[blockId()], u);
  uses[blockId()][i].count = append(&bytes, 3);
  record(&sizes, accessSize(), 2);
  record(&waits[warpId()], (int)laneId() - 50);
  record(&late, clockCounter());
  lanes[laneId()][-3] |= atomicMax(&lanes[0][2], 7);
}
ON_REPORT: {
  total += length(uses) + dropped(uses[0]) + underflow(sizes) + overflow(waits[1]) + binFrom(late, 1) + binTo(sizes, 2);
  if (length(points) > 0) first.line = entryKey(points, 0).line + entryValue(points, 0).count;
  emit("uses", uses); emit("sizes", sizes); emitTop("points", points, 3, "reads"); emit(kernelName(), total);
  emit("mean", mean(bytes)); emit("one", lanes[1][2]); most[1] = max(uses.count); emit("uses", uses.last.line);
}
ON_END: { emit("total", total); emit("most", most); emitTable("t", "a", most, "b", most); print("%lu", first.line); }
)";

std::string mutated(const std::string& source, std::mt19937& random) {
  std::string text = source;
  const auto pick = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const std::size_t times = 1 + pick(4);
  for (std::size_t i = 0; i < times && !text.empty(); ++i) {
    const std::size_t at = pick(text.size());
    switch (pick(5)) {
      case 0: text.erase(at, 1 + pick(20)); break;
      case 1: text.insert(at, fragments[pick(std::size(fragments))]); break;
      case 2: text[at] = static_cast<char>(pick(256)); break;
      case 3: text.insert(pick(text.size()), text.substr(at, pick(40))); break;
      default: text.resize(at); break;
    }
  }
  return text;
}

TEST(Mutation, DamagedSpecificationsNeverCrash) {
  std::vector<std::string> sources;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs")) {
    if (entry.path().extension() != ".cod") continue;
    std::string source;
    ASSERT_TRUE(read_file(entry.path().string(), source));
    sources.push_back(source);
  }
  sources.emplace_back(every_construct);
  sources.emplace_back(every_pointer);
  sources.emplace_back(every_collection);
  std::sort(sources.begin(), sources.end());
  ASSERT_EQ(errors_of(every_pointer), "");
  std::mt19937 random(20);
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string source = mutated(sources[static_cast<std::size_t>(i) % sources.size()], random);
    const auto result = compile(source, "t.cod");
    if (!result) {
      ++refused;
      ASSERT_FALSE(result.error().diagnostics.empty());
      ASSERT_FALSE(render(result.error().diagnostics, source).empty());
      continue;
    }
    if (++accepted % 10 != 0) continue;
    ASSERT_TRUE((*result)->lower_device({i % 2 == 0 ? 75 : 90}).ok()) << source;
    ASSERT_TRUE((*result)->compile_host().ok()) << source;
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 500);
}

TEST(Mutation, GarbageIsRejected) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    std::string text(1 + i * 3u, '\0');
    for (char& c : text) c = static_cast<char>(random());
    static_cast<void>(compile(text, "t.cod"));
  }
  std::string tokens;
  for (int i = 0; i < 400; ++i) {
    tokens.clear();
    for (int k = 0; k < 60; ++k) tokens += std::string(fragments[random() % std::size(fragments)]) + " ";
    EXPECT_FALSE(compile(tokens, "t.cod").ok()) << tokens;
  }
}

}  // namespace
}  // namespace lynxpp::cod
