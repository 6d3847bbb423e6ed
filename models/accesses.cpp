#include "models/accesses.h"

namespace lynxpp::models {

std::string location_of(const AccessSite& site) {
  if (site.line == 0) return "PTX line " + std::to_string(site.ptx_line);
  const std::size_t folder = site.file.rfind('/');
  return (folder == std::string::npos ? site.file : site.file.substr(folder + 1)) + ":" +
         std::to_string(site.line);
}

}  // namespace lynxpp::models
