// LYNXPP_RUN, which `lynxpp run` sets for the preload library, is "PROCESS:DESCRIPTOR": the process that runs
// the program and a memory file with the name below, to which its child processes write a byte when they see
// a launch, and another one when they measure one.
#pragma once

#define LYNXPP_RUN_MARK "lynxpp-run"
