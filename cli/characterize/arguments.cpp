#include "cli/characterize/arguments.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/common_options.h"

namespace lynxpp::cli {

CLI::App* add_characterize(CLI::App& app, CharacterizeArguments& arguments) {
  CLI::App* characterize =
      app.add_subcommand("characterize", "What kinds of kernels programs have, with correlations");
  characterize
      ->add_option("COMMAND", arguments.programs, "A program, or one and its arguments in quotation marks")
      ->type_name("");
  characterize->add_option("-f,--from", arguments.list, "A file with such a COMMAND on each line; # comments")
      ->type_name("FILE");
  add_filters(*characterize, arguments.kernels, arguments.launches);
  add_device(*characterize, arguments.device);
  characterize->add_option("--csv", arguments.csv, "Write the table of kernels, with whole names")
      ->type_name("FILE");
  characterize->add_option("--svg", arguments.svg, "Draw the measures against each other")->type_name("FILE");
  characterize->callback([&arguments] {
    if (arguments.programs.empty() && arguments.list.empty() && arguments.command.empty())
      throw CLI::ValidationError("no program to run");
  });
  characterize->footer(
      "Each program runs once; what is shown of a kernel is of all its launches:\n"
      "  simd        thread instructions / (32 x warp instructions): lanes that do something\n"
      "  divergence  branches that divide their warp / branches of warps\n"
      "  memory      bytes that global loads and stores ask for / bytes of the sectors they move\n"
      "  intensity   thread instructions that access memory / all\n"
      "Then Pearson's correlation of each two over the kernels that have both. A COMMAND is split as a\n"
      "shell would, with quotation marks, patterns of file names, $VARIABLE and ~. Behind -- stands one\n"
      "program with its arguments as they are. The exit code is 1 when a program fails, which is told\n"
      "while the others go on, or 3 when no kernel was measured.\n\n"
      "Example: lynxpp characterize ./a './b 1000' --svg kernels.svg\n"
      "         lynxpp characterize -f programs.txt --csv kernels.csv\n"
      "         lynxpp characterize -- ./app 1024");
  return characterize;
}

}  // namespace lynxpp::cli
