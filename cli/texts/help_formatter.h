// The help of commands.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <map>
#include <string>

namespace lynxpp::cli {

/// The library's help with a usage line of our own.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(28); }
  std::string make_usage(const CLI::App* app, std::string) const override {
    static const std::map<std::string, std::string> usages = {
        {"lynxpp", "lynxpp COMMAND [OPTIONS]"},
        {"run", "lynxpp run [OPTIONS] [--] PROGRAM [ARGUMENTS...]"},
        {"record", "lynxpp record [OPTIONS] [--] PROGRAM [ARGUMENTS...]"},
        {"check-run", "lynxpp check-run [OPTIONS] [--] PROGRAM [ARGUMENTS...]"},
        {"triton", "lynxpp triton [OPTIONS] [--] FILE.py [ARGUMENTS...]"},
        {"bench", "lynxpp bench [OPTIONS] -s SPEC [--] PROGRAM [ARGUMENTS...]"},
        {"limits", "lynxpp limits [OPTIONS] [--] PROGRAM [ARGUMENTS...]"},
        {"characterize", "lynxpp characterize [OPTIONS] COMMAND... [-- PROGRAM [ARGUMENTS...]]"},
        {"report", "lynxpp report [OPTIONS] FILE..."},
        {"report merge", "lynxpp report merge [OPTIONS] FILE..."},
        {"report trace", "lynxpp report trace [OPTIONS] FOLDER..."},
        {"report diff", "lynxpp report diff [OPTIONS] A.jsonl [B.jsonl]"},
        {"check", "lynxpp check [OPTIONS] FILE..."},
        {"ptx instrument", "lynxpp ptx instrument [OPTIONS] -s SPEC IN.ptx"},
        {"ptx", "lynxpp ptx COMMAND [OPTIONS] FILE.ptx"},
        {"ptx stat", "lynxpp ptx stat [OPTIONS] FILE.ptx"},
        {"ptx cfg", "lynxpp ptx cfg [OPTIONS] FILE.ptx"},
        {"ptx annotate", "lynxpp ptx annotate [OPTIONS] -s SPEC FILE.ptx"},
        {"ptx perturb", "lynxpp ptx perturb [OPTIONS] -p TEXT FILE.ptx"},
        {"ptx run", "lynxpp ptx run [OPTIONS] --grid X --arg ARG... FILE.ptx"},
        {"advise", "lynxpp advise [OPTIONS] FILE.access..."},
        {"quality", "lynxpp quality [OPTIONS] [--] PROGRAM [ARGUMENTS...]"},
        {"band calibrate", "lynxpp band calibrate [OPTIONS]"},
        {"band", "lynxpp band [OPTIONS] [[--] PROGRAM [ARGUMENTS...]]"},
        {"list", "lynxpp list [NAME]"},
        {"lsp", "lynxpp lsp [OPTIONS]"},
        {"attach", "lynxpp attach [OPTIONS] -s SPEC PID"},
        {"detach", "lynxpp detach PID"},
        {"status", "lynxpp status PID"},
        {"why", "lynxpp why PID"},
        {"top", "lynxpp top [OPTIONS] PID"},
    };
    const bool is_inner = app->get_parent() != nullptr && app->get_parent()->get_parent() != nullptr;
    const std::string outer = is_inner ? app->get_parent()->get_name() + " " : "";
    return "Usage: " + usages.at(outer + app->get_name()) + "\n";
  }
};

}  // namespace lynxpp::cli
