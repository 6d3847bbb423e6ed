// What the process answers to a request that came over its socket (support/control_socket.h).
//
//   {"attach":{"specifications":LIST,"kernels":REGEX}}   LIST as LYNXPP_SPEC, REGEX as LYNXPP_KERNELS;
//                                                        without kernels LYNXPP_KERNELS itself
//   {"detach":{}}
//   {"status":{}}
//
// Each is answered by the status that there is then (answer.cpp), or {"error":TEXT} when nothing has changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "interposer/session/session.h"

namespace lynxpp::interposer {

struct Answer {
  std::string text;              ///< one line, without its end
  std::optional<bool> attached;  ///< of attach and detach: whether something is attached now
};

/// Facts about its process that the session does not know.
struct ProcessFacts {
  std::string device;          ///< what to call the device until the session knows its name
  std::uint64_t launched = 0;  ///< launches since the program began, whether or not something was attached
};

Answer answer(Session& session, std::string_view request, const ProcessFacts& process);

/// What attach, detach and status are answered where nothing can be attached, and why.
std::string refusal(const std::string& why);

}  // namespace lynxpp::interposer
