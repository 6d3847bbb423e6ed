// What `lynxpp advise --html` writes: the terms, the references and who visits the arrays, as one page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lynxpp::cli {

/// `entries` are what --json prints, in its order: variants of descriptions (docs/schema/advise.schema.json)
/// or observed launches (docs/schema/advise-observed.schema.json), not both. Everything on it is modelled
/// for `machine` but the counts.
std::string advice_page(const std::string& machine, const std::vector<nlohmann::ordered_json>& entries);

/// Writes it to `file`; nothing where that is empty. False: it cannot be written, which is printed.
bool write_advice_page(const std::string& file, const std::string& machine,
                       const std::vector<nlohmann::ordered_json>& entries);

}  // namespace lynxpp::cli
