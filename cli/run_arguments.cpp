#include "cli/run_arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/common_options.h"

namespace lynxpp::cli {

CLI::App* add_run(CLI::App& app, RunArguments& arguments) {
  CLI::App* run = app.add_subcommand("run", "Run a program with its CUDA kernels instrumented");
  add_specifications(*run, arguments.specifications, false);
  add_one_liners(*run, arguments.one_liners);
  add_filters(*run, arguments.kernels, arguments.launches);
  run->add_option("-o,--output", arguments.output,
                  "Write records as JSON Lines to FILE, replacing its contents")
      ->type_name("FILE")
      ->check(record_file());
  add_device(*run, arguments.device);
  run->add_option("--dump", arguments.dump, "Write original and instrumented PTX of each kernel into FOLDER")
      ->type_name("FOLDER");
  run->add_option("--trace", arguments.trace,
                  "Stream trace entries to files in FOLDER (see `lynxpp report trace`)")
      ->type_name("FOLDER");
  add_word_scheme(*run, arguments.words);
  run->add_option("--start", arguments.start,
                  "Measure only within EVENT: profiler (cuProfilerStart) or range=NAME")
      ->type_name("EVENT");
  run->add_option("--hang", arguments.hang,
                  "If a kernel runs longer, print where its warps wait (`lynxpp why`)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 1000000).description(""));
  run->add_flag("--timing", arguments.timing,
                "Report the time of each stage: parse, instrument, emit, load, execute");
  run->add_flag("--per-launch", arguments.per_launch,
                "Write one record per launch, even after the first 64 per kernel and grid");
  run->add_option("--first-launch", arguments.first_launch,
                  "While a variant compiles: wait (default), native (original runs), alone")
      ->type_name("HOW")
      ->check(CLI::IsMember({"wait", "native", "alone"}).description(""));
  run->footer(
      "The results are printed as a table on standard error when the program ends.\n"
      "The exit code is the program's, or 2: wrong usage, or a specification is missing or has errors;\n"
      "3: the program succeeded but nothing was measured; 126: PROGRAM cannot be executed;\n"
      "127: PROGRAM does not exist.\n\n"
      "Example: lynxpp run -s instruction_count -k 'matmul.*' -o out.jsonl -- ./app 1024\n"
      "         lynxpp run -e 'ON_INSTRUCTION: MEM_READ: SHARED: count[sourceLine()]++;' -- ./app");
  return run;
}

CLI::App* add_bench(CLI::App& app, BenchArguments& arguments) {
  CLI::App* bench = app.add_subcommand("bench", "Measure the overhead of instrumentation on a program");
  add_specifications(*bench, arguments.settings, true,
                     "Name or .cod file; a,b: attached together; repeated: separately");
  bench->add_option("-r,--rounds", arguments.rounds, "Number of runs per setting (default: 5)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1000).description(""));
  add_filters(*bench, arguments.kernels, arguments.launches);
  bench->add_option("-o,--output", arguments.output, "Write the results as JSON to FILE")->type_name("FILE");
  bench->add_option("-c,--compare", arguments.compare, "Show changes relative to the results in FILE")
      ->type_name("FILE");
  bench->add_flag("--elapsed", arguments.elapsed,
                  "Measure the whole program instead: wall and processor time");
  add_device(*bench, arguments.device);
  bench->footer(
      "In each round the program runs once natively and once with each SPEC. The table shows every\n"
      "kernel's native and instrumented time, its registers and the warps that fit on an SM. With --elapsed\n"
      "no kernel is timed: in turn, the program runs natively and as under `lynxpp run`. The program's\n"
      "output is discarded, but compared between the runs. The exit code is 1 if the program fails, 3 if\n"
      "nothing was measured.\n\n"
      "Example: lynxpp bench -s instruction_count -s memory_efficiency,kernel_runtime -- ./app 1024");
  return bench;
}

}  // namespace lynxpp::cli
