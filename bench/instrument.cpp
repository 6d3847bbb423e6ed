// Times the instrumentation of single kernels as the engine does it at a launch: scan, parse, analyse,
// splice, emit. One line of JSON each. bench/pipeline runs it.
//
//   bench_instrument SPEC FOLDER < JOBS    each line "FILE<tab>KERNEL". FILE is PTX or any file that holds
//                                          images, whose largest PTX is taken; KERNEL empty: the module's
//                                          middle one. Results go to FOLDER/0.ptx, FOLDER/1.ptx, …
//
// Processor time in milliseconds, the best of five rounds; "first" is the first round, which compiles the
// specification's handlers once per target.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <limits>
#include <string>

#include "engine/instrument.h"
#include "image/fatbinary.h"
#include "image/program_file.h"
#include "instrumentors/catalogue.h"
#include "ptx/parser/parser.h"
#include "support/text.h"

namespace {

using namespace lynxpp;

double now_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

[[noreturn]] void stop(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);
}

template <typename T>
T take(Result<T> result) {
  if (!result) stop(render(result.error().diagnostics));
  return std::move(*result);
}

/// The text of one module, and the time to extract it from its image.
struct Source {
  std::string path;
  std::string text;
  double decompress_ms = 0;
};

Source load(const std::string& path) {
  const image::ProgramFile file = take(image::containers_in_file(path));
  image::Entry largest;
  for (const image::FileImage& held : file.images) {
    for (const image::Entry& entry : take(image::list_entries(held.bytes))) {
      if (entry.kind == image::EntryKind::ptx && entry.uncompressed_size > largest.uncompressed_size)
        largest = entry;
    }
  }
  if (largest.uncompressed_size == 0) stop(path + " holds no PTX");
  Source source{path, {}, std::numeric_limits<double>::max()};
  for (int round = 0; round < 5; ++round) {
    const double began = now_ms();
    source.text = take(image::ptx_text(largest));
    source.decompress_ms = std::min(source.decompress_ms, now_ms() - began);
  }
  return source;
}

std::string middle_kernel(const std::string& text) {
  const ptx::Module module = take(ptx::parse_module(text));
  std::vector<std::string> kernels;
  for (const ptx::Function& function : module.functions) {
    if (function.is_entry && !function.is_declaration()) kernels.push_back(function.name);
  }
  if (kernels.empty()) stop("no kernel in the module");
  return kernels[kernels.size() / 2];
}

void run(const Source& source, const std::string& kernel, const engine::SpecificationPtr& specification,
         const std::string& output) {
  engine::Request request;
  request.ptx = &source.text;
  request.kernel = kernel;
  request.specifications = {specification};
  double first = 0;
  double best = std::numeric_limits<double>::max();
  engine::Instrumented result;
  for (int round = 0; round < 5; ++round) {
    const double began = now_ms();
    Result<engine::Instrumented> made = engine::instrument(request);
    const double spent = now_ms() - began;
    if (!made) {
      std::printf("{\"kernel\": \"%s\", \"failed\": true}\n", kernel.c_str());
      std::fputs(render(made.error().diagnostics).c_str(), stderr);
      return;
    }
    if (round == 0) first = spent;
    if (spent < best) {
      best = spent;
      result = std::move(*made);
    }
  }
  // The engine's own times are wall-clock times.
  const double scale =
      best / std::max(result.spent.parse_ms + result.spent.instrument_ms + result.spent.emit_ms, 1e-6);
  if (!write_file(output, result.ptx)) stop("cannot write " + output);
  std::printf(
      "{\"kernel\": \"%s\", \"output\": \"%s\", \"module_bytes\": %zu, \"output_bytes\": %zu, "
      "\"instructions\": %llu, "
      "\"decompress_ms\": %.3f, \"first_ms\": %.3f, \"ms\": %.3f, \"parse_ms\": %.3f, \"instrument_ms\": "
      "%.3f, "
      "\"emit_ms\": %.3f}\n",
      kernel.c_str(), output.c_str(), source.text.size(), result.ptx.size(),
      static_cast<unsigned long long>(result.size.instructions), source.decompress_ms, first, best,
      scale * result.spent.parse_ms, scale * result.spent.instrument_ms, scale * result.spent.emit_ms);
}

}  // namespace

int main(int count, char** values) {
  if (count != 3) {
    std::fputs("usage: bench_instrument SPEC FOLDER < JOBS\n", stderr);
    return 2;
  }
  const instrumentors::LoadedSpecification text = take(instrumentors::find_specification(values[1]));
  const engine::SpecificationPtr specification = take(cod::compile(text.source, text.path));
  Source source;
  int job = 0;
  for (std::string line; std::getline(std::cin, line); ++job) {
    const std::size_t tab = std::min(line.find('\t'), line.size());
    const std::string path = line.substr(0, tab);
    if (source.path != path) source = load(path);
    std::string kernel = tab < line.size() ? line.substr(tab + 1) : std::string();
    if (kernel.empty()) kernel = middle_kernel(source.text);
    run(source, kernel, specification, std::string(values[2]) + "/" + std::to_string(job) + ".ptx");
  }
  return 0;
}
