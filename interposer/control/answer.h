// The process's answers to requests over its socket (support/control_socket.h).
//
//   {"attach":{"specifications":LIST,"kernels":REGEX}}   LIST has the syntax of LYNXPP_SPEC, REGEX that of
//                                                        LYNXPP_KERNELS, which is the default
//   {"detach":{}}
//   {"status":{}}
//   {"why":{}}
//
// The answer is the resulting status (answer.cpp), or {"error":TEXT} if nothing changed; to "why"
// {"specifications":[…],"running":[LAUNCH,…]} with a LAUNCH as in
// {"kernel":…,"launch":N,"grid":[…],"block":[…],"seconds":N,"findings":[…]}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "interposer/session/session.h"

namespace lynxpp::interposer {

struct Answer {
  std::string text;              ///< one line, without the line end
  std::optional<bool> attached;  ///< for attach and detach: true if something is now attached
};

/// Facts about its process that the session does not know.
struct ProcessFacts {
  std::string device;          ///< the device's name until the session knows it
  std::uint64_t launched = 0;  ///< all launches since the program began, attached or not
};

Answer answer(Session& session, std::string_view request, const ProcessFacts& process);

/// Returns the answer to attach, detach and status in a process where nothing can be attached, with the
/// reason.
std::string refusal(const std::string& why);

}  // namespace lynxpp::interposer
