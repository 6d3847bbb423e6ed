// Calibrations as JSON files.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "models/campprof/calibration.h"
#include "support/json.h"

namespace lynxpp::models::campprof {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinity: t of an exact fit is null.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_of(const statistics::Coefficient& coefficient) {
  return {{"name", coefficient.name},
          {"value", coefficient.value},
          {"standard_error", coefficient.standard_error},
          {"t", number_or_null(coefficient.t)},
          {"p", coefficient.p}};
}

Json json_of(const statistics::Regression& fit, Direction direction, Placement placement) {
  Json json = {{"direction", name_of(direction)}, {"placement", name_of(placement)}};
  json["intercept"] = json_of(fit.intercept);
  json["coefficients"] = Json::array();
  for (const statistics::Coefficient& each : fit.coefficients) json["coefficients"].push_back(json_of(each));
  json["dropped"] = Json::array();
  for (const statistics::Dropped& each : fit.dropped)
    json["dropped"].push_back({{"name", each.name}, {"p", each.p}});
  json.update({{"points", fit.points},
               {"r_squared", fit.r_squared},
               {"adjusted_r_squared", fit.adjusted_r_squared},
               {"rmse_ms", fit.rmse},
               {"f", number_or_null(fit.f)},
               {"p", fit.p}});
  return json;
}

Json json_of(const Equations& equations) {
  Json all = Json::array();
  for (const Direction direction : {Direction::read, Direction::write}) {
    for (const Placement placement : {Placement::spread, Placement::camped})
      all.push_back(json_of(equations.of(direction, placement), direction, placement));
  }
  return all;
}

/// Reads members and keeps the first error.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  template <typename Read>
  void member(const Json& object, const char* name, const char* what, Read read) {
    if (problem_) return;
    const auto found = object.is_object() ? object.find(name) : object.end();
    if (!object.is_object() || found == object.end()) return fail(std::string("'") + name + "' is missing");
    if (!read(*found)) fail(std::string("'") + name + "' must be " + what);
  }
  void text(const Json& object, const char* name, std::string& value) {
    member(object, name, "a string",
           [&](const Json& json) { return json.is_string() && (value = json.get<std::string>(), true); });
  }
  template <typename Integer>
  void positive(const Json& object, const char* name, Integer& value, std::uint64_t most) {
    member(object, name, "a positive integer", [&](const Json& json) {
      if (!json.is_number_unsigned() || json.get<std::uint64_t>() < 1 || json.get<std::uint64_t>() > most)
        return false;
      value = json.get<Integer>();
      return true;
    });
  }
  void time(const Json& object, const char* name, double& value) {
    member(object, name, "a number above 0",
           [&](const Json& json) { return json.is_number() && (value = json.get<double>()) > 0; });
  }
  void flag(const Json& object, const char* name, bool& value) {
    member(object, name, "true or false",
           [&](const Json& json) { return json.is_boolean() && (value = json.get<bool>(), true); });
  }
  /// Reads the members that identify a benchmark.
  template <typename Benchmark>
  void benchmark(const Json& object, Benchmark& benchmark) {
    member(object, "direction", "read or write", [&](const Json& json) {
      benchmark.direction = json == "write" ? Direction::write : Direction::read;
      return json == "read" || json == "write";
    });
    member(object, "placement", "spread or camped", [&](const Json& json) {
      benchmark.placement = json == "camped" ? Placement::camped : Placement::spread;
      return json == "spread" || json == "camped";
    });
    member(object, "bytes", "32, 64 or 128", [&](const Json& json) {
      for (std::uint32_t type = 0; type < transaction_bytes.size(); ++type) {
        if (json == transaction_bytes[type]) return benchmark.type = type, true;
      }
      return false;
    });
  }
  template <typename Each>
  void list(const Json& object, const char* name, Each each) {
    member(object, name, "an array", [&](const Json& json) {
      for (const Json& element : json) each(element);
      return json.is_array();
    });
  }
  void fail(std::string message, std::string hint = {}) {
    if (!problem_) problem_ = failure_at({file_, 0, 0, 1}, std::move(message), std::move(hint));
  }
  const std::optional<Failure>& problem() const { return problem_; }

 private:
  const std::string& file_;
  std::optional<Failure> problem_;
};

constexpr std::uint64_t any = 0xffffffff;

constexpr Calibration::Loop loops[] = {Calibration::Loop::bare, Calibration::Loop::printed,
                                       Calibration::Loop::scattered};

std::string_view name_of(Calibration::Loop loop) {
  switch (loop) {
    case Calibration::Loop::bare: return "bare";
    case Calibration::Loop::printed: return "printed";
    case Calibration::Loop::scattered: break;
  }
  return "scattered";
}

void check_version(const Json& json, Reader& reader) {
  if (!json.is_object() || !json.contains("lynxpp_calibration"))
    return reader.fail("the file is not a calibration", "`lynxpp band calibrate` makes one");
  std::uint32_t found = 0;
  reader.positive(json, "lynxpp_calibration", found, any);
  if (!reader.problem() && found != Calibration::version)
    reader.fail("the calibration has version " + std::to_string(found) + "; this lynxpp reads version " +
                    std::to_string(Calibration::version),
                "calibrate the device again: lynxpp band calibrate");
}

}  // namespace

Result<std::string> to_json(const Calibration& calibration) {
  Json json = {{"lynxpp_calibration", Calibration::version},
               {"device", calibration.device},
               {"date", calibration.date},
               {"modelled", calibration.is_modelled},
               {"loop", name_of(calibration.loop)},
               {"multiprocessors", calibration.multiprocessors},
               {"most_warps", calibration.most_warps},
               {"partitions", calibration.partitions},
               {"partition_bytes", calibration.partition_bytes},
               {"transactions_per_warp", calibration.transactions_per_warp}};
  for (const auto& [name, form] : {std::pair("sums", Form::sums), std::pair("products", Form::products)}) {
    const Result<Equations> equations = equations_of(calibration, form);
    json["equations"][name] = equations ? json_of(*equations) : Json(nullptr);
  }
  json["validity"] = Json::array();
  for (const Validity& each : calibration.validity) {
    json["validity"].push_back({{"direction", name_of(each.direction)},
                                {"placement", name_of(each.placement)},
                                {"bytes", transaction_bytes[each.type]},
                                {"ratio", each.ratio}});
  }
  json["samples"] = Json::array();
  for (const Sample& each : calibration.samples) {
    json["samples"].push_back({{"direction", name_of(each.direction)},
                               {"placement", name_of(each.placement)},
                               {"bytes", transaction_bytes[each.type]},
                               {"warps", each.warps},
                               {"ms", each.milliseconds}});
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Calibration> parse_calibration(std::string_view text, const std::string& file) {
  const Result<Json> parsed = parse_json<Json>(text, {file, 1, 1, 1});
  if (!parsed) return parsed.error();
  const Json& json = *parsed;
  Reader reader(file);
  Calibration calibration;
  check_version(json, reader);
  reader.text(json, "device", calibration.device);
  reader.text(json, "date", calibration.date);
  reader.flag(json, "modelled", calibration.is_modelled);
  if (json.is_object() && json.contains("loop")) {
    reader.member(json, "loop", "bare, printed or scattered", [&](const Json& value) {
      const auto* const found = std::ranges::find_if(
          loops, [&](Calibration::Loop loop) { return value == std::string(name_of(loop)); });
      if (found != std::end(loops)) calibration.loop = *found;
      return found != std::end(loops);
    });
  }
  reader.positive(json, "multiprocessors", calibration.multiprocessors, any);
  reader.positive(json, "most_warps", calibration.most_warps, 1024);
  reader.positive(json, "partitions", calibration.partitions, any);
  reader.positive(json, "partition_bytes", calibration.partition_bytes, any);
  reader.positive(json, "transactions_per_warp", calibration.transactions_per_warp, any);
  reader.list(json, "validity", [&](const Json& each) {
    Validity validity;
    reader.benchmark(each, validity);
    reader.time(each, "ratio", validity.ratio);
    calibration.validity.push_back(validity);
  });
  reader.list(json, "samples", [&](const Json& each) {
    Sample sample;
    reader.benchmark(each, sample);
    reader.positive(each, "warps", sample.warps, 1024);
    reader.time(each, "ms", sample.milliseconds);
    calibration.samples.push_back(sample);
  });
  if (reader.problem()) return *reader.problem();
  return calibration;
}

}  // namespace lynxpp::models::campprof
