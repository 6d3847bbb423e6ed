// Parts of a CUDA program. Each checks itself and returns null on success, otherwise an error message.
#pragma once

/// kernel template, struct parameter, constant, device and static variables, a stream
const char* run_polynomial();
const char* run_managed();          ///< a __managed__ variable read and written on both sides
const char* run_extended_launch();  ///< cudaLaunchKernelEx, occupancy
const char* run_bad_launch();       ///< cudaGetLastError returns the error of a launch
