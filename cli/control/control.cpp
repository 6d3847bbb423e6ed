#include "cli/control/control.h"

#include <cstdio>

#include "cli/commands.h"
#include "cli/control/arguments.h"
#include "cli/control/client.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/texts/texts.h"
#include "support/control_socket.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

std::string joined_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Returns "name            value".
std::string status_line(const std::string& name, const std::string& value) {
  constexpr std::size_t width = 16;
  return name + std::string(width - name.size(), ' ') + value + "\n";
}

int fail_with(const Failure& problem) {
  print(problem.diagnostics);
  return exit_input_error;
}

void write_out(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

Result<ProcessStatus> read_status(const nlohmann::json& answer) {
  ProcessStatus status;
  try {
    status.device = answer.value("device", status.device);
    status.specifications = answer.value("specifications", status.specifications);
    status.kernels = answer.value("kernels", status.kernels);
    status.launches = answer.value("launches", status.launches);
    status.output = answer.value("output", status.output);
    status.launched = answer.value("launched", status.launched);
    status.seen = answer.value("seen", status.seen);
    status.instrumented = answer.value("instrumented", status.instrumented);
    status.outstanding = answer.value("outstanding", status.outstanding);
    status.lost = answer.value("lost", status.lost);
    for (const nlohmann::json& each : answer.value("seen_kernels", nlohmann::json::array()))
      status.seen_kernels.push_back({each.at("kernel"), each.at("launches"), each.at("instrumented"),
                                     each.value("timed", std::uint64_t{0}), each.value("milliseconds", 0.0),
                                     each.value("modelled", false),
                                     each.value("warps_per_sm", std::uint64_t{0}),
                                     each.value("most_warps_per_sm", std::uint64_t{0})});
  } catch (const nlohmann::json::exception&) {
    return failure("the process sent an invalid answer", "its liblynxpp.so may have another version");
  }
  return status;
}

Result<ProcessStatus> ask_status(int process) {
  const Result<nlohmann::json> answer = ask(process, control::status_request);
  if (!answer) return answer.error();
  return read_status(*answer);
}

std::string status_text(int process, const ProcessStatus& status) {
  const bool is_attached = !status.specifications.empty();
  std::string text = status_line("process", std::to_string(process));
  text += status_line("device", status.device);
  text += status_line("attached", is_attached ? joined_names(status.specifications) : "nothing");
  if (is_attached) {
    text += status_line("kernels", status.kernels.empty() ? "all" : status.kernels);
    text += status_line("launches", status.launches.empty() ? "all" : status.launches);
    if (!status.output.empty()) text += status_line("output", status.output);
  }
  text += status_line("launches made", std::to_string(status.launched));
  text += status_line("while attached", std::to_string(status.seen));
  text += status_line("instrumented", std::to_string(status.instrumented));
  text += status_line("outstanding", std::to_string(status.outstanding));
  return text + status_line("records lost", std::to_string(status.lost));
}

int attach(const ControlArguments& arguments) {
  const Filters filters{{"--kernels", arguments.kernels}, {}};
  if (const Status understood = check_filters(filters); !understood)
    return fail_with(understood.error()), exit_usage_error;
  const Result<std::vector<std::string>> names = with_texts(arguments.specifications, arguments.one_liners);
  const Result<std::string> list = names ? specification_list(*names) : Result<std::string>(names.error());
  if (!list) return fail_with(list.error()), exit_usage_error;
  if (trim(*list).empty()) {
    print_error("no specification to attach");
    return exit_usage_error;
  }
  if (!compiles(*list)) return exit_usage_error;
  nlohmann::json wish = {{"specifications", *list}};
  if (!arguments.kernels.empty()) wish["kernels"] = arguments.kernels;
  std::string request;
  try {
    request = control::attach_begin + wish.dump() + "}";
  } catch (const nlohmann::json::type_error&) {
    print_error("the specifications, or their paths, are not UTF-8");
    return exit_usage_error;
  }
  const Result<nlohmann::json> answer = ask(arguments.process, request);
  if (!answer) return fail_with(answer.error());
  const Result<ProcessStatus> status = read_status(*answer);
  if (!status) return fail_with(status.error());
  write_out("attached " + joined_names(status->specifications) + " to process " +
            std::to_string(arguments.process) +
            (status->output.empty() ? std::string("\n") : "; records go to " + status->output + "\n"));
  return exit_success;
}

int detach(const ControlArguments& arguments) {
  const Result<nlohmann::json> answer = ask(arguments.process, control::detach_request);
  if (!answer) return fail_with(answer.error());
  write_out("nothing is attached to process " + std::to_string(arguments.process) + " any more\n");
  return exit_success;
}

int status(const ControlArguments& arguments) {
  const Result<ProcessStatus> status = ask_status(arguments.process);
  if (!status) return fail_with(status.error());
  write_out(status_text(arguments.process, *status));
  return exit_success;
}

}  // namespace lynxpp::cli
