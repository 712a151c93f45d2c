#include "absl/strings/str_cat.h"
#include "core/heal/jobs/anchor.h"
#include "core/heal/jobs/attribution.h"
#include "core/heal/jobs/plan.h"

namespace samebits::heal {
namespace {

// Units: the anchor's, then every configuration with every prompt.
class AttributePlan : public Plan {
 public:
  AttributePlan(const JobSpec& spec, const ModelShape& shape, const AttributeSpec& job)
      : spec_(spec), shape_(shape), job_(job), anchor_(spec, shape, job.trajectory, job.prompts) {}

  std::vector<std::string> Units() const override {
    std::vector<std::string> units = anchor_.Units();
    for (const std::string& configuration : job_.configurations) {
      for (int i = 0; i < anchor_.prompts(); ++i) units.push_back(absl::StrCat("attribute ", configuration, " ", i));
    }
    return units;
  }

  Capacity EngineCapacity() const override { return anchor_.EngineCapacity(); }

  absl::StatusOr<Json> Run(int64_t unit, UnitContext& context) override {
    if (unit < anchor_.groups()) return anchor_.Run(static_cast<int>(unit), context);
    const int64_t index = unit - anchor_.groups();
    const AttributionRequest request{job_.trajectory.anchor, job_.configurations[index / anchor_.prompts()],
                                     spec_.batching.rows, KeptRows(shape_, anchor_.prompts(), job_.fitted_rows)};
    const std::vector<Sequence> sequences = anchor_.AllSequences(context.records);
    return MeasureAttribution(request, sequences[index % anchor_.prompts()], shape_, context);
  }

  JobResult Summarize(const std::vector<Json>& records) const override {
    AttributeResult result;
    result.anchor = anchor_.Outcome(records);
    const Json* next = records.data() + anchor_.groups();
    for (const std::string& configuration : job_.configurations) {
      std::vector<const Json*> own;
      for (int i = 0; i < anchor_.prompts(); ++i) own.push_back(next++);
      result.configurations.push_back(Attribute(configuration, shape_, own));
    }
    return result;
  }

 private:
  const JobSpec& spec_;
  const ModelShape& shape_;
  const AttributeSpec& job_;
  Anchor anchor_;
};

}  // namespace

std::unique_ptr<Plan> MakeAttributePlan(const JobSpec& spec, const ModelShape& shape) {
  return std::make_unique<AttributePlan>(spec, shape, std::get<AttributeSpec>(spec.job));
}

}  // namespace samebits::heal
