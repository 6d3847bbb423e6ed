// Times the compilation of a specification: parsing, semantic analysis, device code. Prints one line for the
// first time in the process and one for the best of several rounds, in milliseconds of processor time.
// bench/specification_compile runs it.
//
//   bench_specification_compile FILE.cod
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>

#include "cod/codegen/device/codegen.h"
#include "cod/sema/sema.h"
#include "cod/syntax/parser.h"
#include "support/text.h"

namespace {

using namespace lynxpp;

double now_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Times {
  double parse = 0, analyse = 0, device = 0;
  double sum() const { return parse + analyse + device; }
};

bool compile_once(const std::string& source, Times& times) {
  const double start = now_ms();
  Result<cod::SyntaxTree> tree = cod::parse(source, "bench.cod");
  const double parsed = now_ms();
  if (!tree) return std::fputs(render(tree.error().diagnostics, source).c_str(), stderr), false;
  Diagnostics warnings;
  const auto program = cod::analyse(std::move(*tree), "bench.cod", warnings);
  const double analysed = now_ms();
  if (!program) return std::fputs(render(program.error().diagnostics, source).c_str(), stderr), false;
  const auto code = cod::generate_device_code(**program, {90});
  if (!code) return std::fputs(render(code.error().diagnostics, source).c_str(), stderr), false;
  times = {parsed - start, analysed - parsed, now_ms() - analysed};
  return true;
}

void print(const char* name, const Times& times) {
  std::printf("%-6s parse %6.2f  analyse %6.2f  device code %6.2f  sum %6.2f ms\n", name, times.parse,
              times.analyse, times.device, times.sum());
}

}  // namespace

int main(int count, char** arguments) {
  std::string source;
  if (count != 2 || !read_file(arguments[1], source))
    return std::fputs("usage: bench_specification_compile FILE.cod\n", stderr), 2;
  Times best;
  for (int round = 0; round < 20; ++round) {
    Times times;
    if (!compile_once(source, times)) return 1;
    if (round == 0) print("first", times);
    if (round == 0 || times.sum() < best.sum()) best = times;
  }
  print("best", best);
  return 0;
}
