#include "cli/characterize/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/common_options.h"

namespace lynxpp::cli {

CLI::App* add_characterize(CLI::App& app, CharacterizeArguments& arguments) {
  CLI::App* characterize = app.add_subcommand(
      "characterize", "Compare kernels by divergence, memory efficiency and memory intensity");
  characterize->add_option("COMMAND", arguments.programs, "Programs; quote a program with its arguments")
      ->type_name("");
  characterize
      ->add_option("-f,--from", arguments.list, "A file with one COMMAND per line; # starts a comment")
      ->type_name("FILE");
  add_filters(*characterize, arguments.kernels, arguments.launches);
  add_device(*characterize, arguments.device);
  characterize->add_option("--csv", arguments.csv, "Write the table of kernels, with full names")
      ->type_name("FILE");
  characterize->add_option("--svg", arguments.svg, "Draw a scatter plot of each pair of measures")
      ->type_name("FILE");
  characterize->callback([&arguments] {
    if (arguments.programs.empty() && arguments.list.empty() && arguments.command.empty())
      throw CLI::ValidationError("no program to run");
  });
  characterize->footer(
      "Each program runs once. The measures of a kernel cover all its launches:\n"
      "  simd        thread instructions / (32 x warp instructions): active lanes\n"
      "  divergence  branches at which a warp diverges / branches of warps\n"
      "  memory      bytes requested by global loads and stores / bytes of the transferred sectors\n"
      "  intensity   thread instructions that access memory / all\n"
      "The Pearson correlation of each pair of measures follows. A COMMAND is split as a shell does, with\n"
      "quotes, file name patterns, $VARIABLE and ~. After --, one program with its arguments is taken as\n"
      "is. The exit code is 1 if a program fails (it is reported and the others continue), 3 if no kernel\n"
      "was measured.\n\n"
      "Example: lynxpp characterize ./a './b 1000' --svg kernels.svg\n"
      "         lynxpp characterize -f programs.txt --csv kernels.csv\n"
      "         lynxpp characterize -- ./app 1024");
  return characterize;
}

}  // namespace lynxpp::cli
