// The entry of the command `lynxpp`, which liblynxpp-engine.so contains so that LLVM is installed once.
#pragma once

/// Runs the command line of `main` and returns its exit status; no exception escapes. Exported by
/// liblynxpp-engine.so.
extern "C" __attribute__((visibility("default"))) int lynxpp_run_command(int count, char** values);
