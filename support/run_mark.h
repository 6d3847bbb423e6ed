// What `lynxpp run` tells the preload library beside its settings: LYNXPP_RUN is "PROCESS:DESCRIPTOR", the
// process that runs the program and a file in memory, of this name, in which its child processes leave a byte
// when they see a launch, and another one when they measure one.
#pragma once

#define LYNXPP_RUN_MARK "lynxpp-run"
