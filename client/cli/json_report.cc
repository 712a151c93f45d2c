#include "client/cli/json_report.h"

#include <nlohmann/json.hpp>

namespace samebits::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json PlaceJson(const checker::Place& place) {
  return {{"line", place.line}, {"column", place.column}, {"instruction", place.instruction}, {"source", place.source}};
}

Json SignatureJson(const std::string& id, const checker::Signature& signature) {
  Json json = {{"id", id},
               {"signature", signature.digest},
               {"status", std::string(checker::StatusName(signature.status))},
               {"reason", signature.reason},
               {"micros", signature.times.total()},
               {"stage_micros", {{"parse", signature.times.parse}, {"execute", signature.times.execute}, {"map", signature.times.map}}},
               {"signature_version", checker::SignatureVersion()},
               {"assumptions", signature.assumptions},
               {"families", signature.families},
               {"output_bytes", signature.output_bytes},
               {"steps", signature.steps},
               {"nodes", signature.nodes}};
  if (signature.status != checker::SignatureStatus::kOk) {
    json["reason_code"] = signature.reason_code;
    json["place"] = PlaceJson(signature.place);
  }
  return json;
}

Json NodeJson(const checker::TreeNode& node) {
  Json json = {{"kind", std::string(checker::KindName(node.kind))},
               {"match", std::string(checker::MatchName(node.match))},
               {"scope", std::string(checker::ScopeName(node.scope))},
               {"reached", std::string(checker::ScopeName(node.reached))},
               {"text", node.text},
               {"detail", node.detail},
               {"children", node.children},
               {"partner", node.partner == checker::TreeNode::kNone ? Json(nullptr) : Json(node.partner)},
               {"label", node.label},
               {"folded", node.folded}};
  if (node.place.line != 0) json["place"] = PlaceJson(node.place);
  return json;
}

Json SideJson(const checker::PartingSide& side) {
  Json nodes = Json::array();
  for (const checker::TreeNode& node : side.nodes) nodes.push_back(NodeJson(node));
  Json json = {{"node", side.node}, {"place", PlaceJson(side.place)}, {"tree", side.tree}, {"nodes", nodes}};
  if (!side.nodes.empty()) {
    json["thread"] = side.thread;
    json["block"] = side.block;
  }
  return json;
}

Json WitnessJson(const checker::Witness& witness) {
  Json inputs = Json::array();
  for (const checker::WitnessInput& input : witness.inputs) {
    Json json = input.buffer.empty() ? Json{{"argument", input.byte_offset}}
                                     : Json{{"buffer", input.buffer}, {"byte_offset", input.byte_offset}};
    json["bytes"] = input.bytes;
    json["bits"] = input.bits;
    json["value"] = input.value;
    inputs.push_back(std::move(json));
  }
  return {{"inputs", inputs},
          {"buffer", witness.buffer},
          {"byte_offset", witness.byte_offset},
          {"bytes", witness.bytes},
          {"bits_a", witness.bits_a},
          {"bits_b", witness.bits_b},
          {"value_a", witness.value_a},
          {"value_b", witness.value_b},
          {"exact", witness.exact}};
}

Json ErrorJson(const absl::Status& status) {
  return {{"code", absl::StatusCodeToString(status.code())}, {"message", std::string(status.message())}};
}

Json Ids(const std::vector<size_t>& members, const std::vector<BatchItem>& items) {
  Json ids = Json::array();
  for (const size_t i : members) ids.push_back(items[i].id);
  return ids;
}

Json Reasons(const std::vector<size_t>& members, const std::vector<BatchItem>& items) {
  Json out = Json::array();
  for (const size_t i : members) {
    const checker::Signature& signature = *items[i].signature;
    out.push_back({{"id", items[i].id},
                   {"reason", signature.reason},
                   {"reason_code", signature.reason_code},
                   {"place", PlaceJson(signature.place)}});
  }
  return out;
}

// Verdict of each checked item against the reference, by id; null where the reference itself is in error.
Json ReferenceJson(size_t reference, const std::vector<BatchItem>& items) {
  Json verdicts = Json::object();
  const auto& base = items[reference].signature;
  for (size_t i = 0; base.ok() && i < items.size(); ++i) {
    if (i == reference || !items[i].signature.ok()) continue;
    verdicts[items[i].id] =
        std::string(checker::VerdictName(checker::CompareSignatures(*base, *items[i].signature).verdict));
  }
  return {{"id", items[reference].id}, {"verdicts", base.ok() ? verdicts : Json(nullptr)}};
}

}  // namespace

std::string JsonComparison(const checker::Comparison& comparison, const std::string& a, const std::string& b) {
  Json json = {{"verdict", std::string(checker::VerdictName(comparison.verdict))},
               {"reason", comparison.reason},
               {"a", SignatureJson(a, comparison.a)},
               {"b", SignatureJson(b, comparison.b)}};
  if (comparison.difference) {
    const checker::Difference& difference = *comparison.difference;
    json["difference"] = {{"summary", difference.summary},
                          {"buffer", difference.buffer},
                          {"byte_offset", difference.byte_offset},
                          {"a", SideJson(difference.a)},
                          {"b", SideJson(difference.b)},
                          {"cause", std::string(checker::CauseName(difference.cause))},
                          {"cause_text", difference.cause_text},
                          {"inputs_tried", difference.inputs_tried},
                          {"witness", difference.witness ? WitnessJson(*difference.witness) : Json(nullptr)}};
  }
  return Dump(json);
}

std::string JsonPartition(const Partition& partition, const std::vector<BatchItem>& items) {
  Json classes = Json::array(), errors = Json::array();
  for (const PartitionClass& c : partition.classes) {
    classes.push_back({{"signature", c.digest},
                       {"size", c.members.size()},
                       {"representative", items[c.representative].id},
                       {"reference", c.has_reference},
                       {"members", Ids(c.members, items)}});
  }
  for (const size_t i : partition.errors) {
    errors.push_back({{"id", items[i].id}, {"error", ErrorJson(items[i].signature.status())}});
  }
  return Dump({{"kernels", items.size()},
               {"classes", classes},
               {"nondeterministic", Reasons(partition.nondeterministic, items)},
               {"unknown", Reasons(partition.unknown, items)},
               {"errors", errors},
               {"reference", partition.reference ? ReferenceJson(*partition.reference, items) : Json(nullptr)},
               {"signature_version", checker::SignatureVersion()}});
}

std::string JsonSignature(const BatchItem& item) {
  if (item.signature.ok()) return Dump(SignatureJson(item.id, *item.signature));
  checker::Signature unreadable;
  unreadable.reason = std::string(item.signature.status().message());
  unreadable.reason_code = absl::StatusCodeToString(item.signature.status().code());
  return Dump(SignatureJson(item.id, unreadable));
}

std::string JsonRegistered(const Registered& kernel, const std::string& path) {
  Json entries = Json::array();
  for (const checker::EntryInfo& entry : kernel.info.entries) {
    Json parameters = Json::array();
    for (const checker::ParameterInfo& p : entry.parameters) {
      parameters.push_back({{"name", p.name}, {"type", p.type}, {"bytes", p.bytes}, {"pointer", p.is_pointer}});
    }
    const Json block = entry.required_block ? Json(*entry.required_block) : Json(nullptr);
    entries.push_back({{"name", entry.name},
                       {"parameters", parameters},
                       {"required_block", block},
                       {"static_shared_bytes", entry.static_shared_bytes}});
  }
  return Dump({{"path", path},
               {"name", kernel.name},
               {"isa", kernel.info.isa},
               {"version", kernel.info.version},
               {"target", kernel.info.target},
               {"entries", entries}});
}

std::string JsonMap(const std::string& id, const std::string& map) { return Dump({{"id", id}, {"map", map}}); }

std::string JsonVersion(const std::string& version) {
  return Dump({{"version", version}, {"signature_version", checker::SignatureVersion()}});
}

std::string JsonError(const absl::Status& status) { return Dump({{"error", ErrorJson(status)}}); }

}  // namespace samebits::cli
