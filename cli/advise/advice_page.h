// The page that `lynxpp advise --html` writes: the terms, the references and the warps that access the
// arrays.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lynxpp::cli {

/// Renders `entries`, which are the objects that --json prints, in the same order: either variants of
/// descriptions (docs/schema/advise.schema.json) or observed launches
/// (docs/schema/advise-observed.schema.json). All values except counts are modelled for `machine`.
std::string advice_page(const std::string& machine, const std::vector<nlohmann::ordered_json>& entries);

/// Writes the page to `file`, or nothing if `file` is empty. If the file cannot be written, prints an error
/// and returns false.
bool write_advice_page(const std::string& file, const std::string& machine,
                       const std::vector<nlohmann::ordered_json>& entries);

}  // namespace lynxpp::cli
