#ifndef SAMEBITS_CORE_HEAL_JOBS_ANCHOR_H_
#define SAMEBITS_CORE_HEAL_JOBS_ANCHOR_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/heal/jobs/plan.h"
#include "core/heal/jobs/replay.h"
#include "core/heal/jobs/result.h"

namespace samebits::heal {

// The first units of most jobs: the anchor generates. Prompts are taken in groups that bound a record and the memory of
// the anchor's hidden states; unit g is group g.
class Anchor {
 public:
  Anchor(const JobSpec& spec, const ModelShape& shape, const Trajectory& trajectory, int prompts);

  int groups() const { return static_cast<int>(groups_.size()); }
  int prompts() const { return static_cast<int>(prompts_.size()); }
  std::span<const Prompt> PromptsOf(int group) const;
  std::string Range(int group) const;  // "0-99"
  std::vector<std::string> Units() const;
  Capacity EngineCapacity() const;
  const Trajectory& trajectory() const { return trajectory_; }
  const PromptSet& set() const { return spec_.prompts; }

  absl::StatusOr<Json> Run(int group, UnitContext& context) const;

  std::vector<Tokens> TokensOf(int group, const std::vector<Json>& records) const;
  std::vector<Sequence> SequencesOf(int group, const std::vector<Json>& records) const;
  std::vector<Sequence> AllSequences(const std::vector<Json>& records) const;
  // The anchor's final hidden states of a group; those of the group asked for last are kept.
  absl::StatusOr<const Hidden*> HiddenOf(int group, UnitContext& context);

  AnchorOutcome Outcome(const std::vector<Json>& records) const;

 private:
  struct Group {
    int first = 0, count = 0;
  };
  const JobSpec& spec_;
  const ModelShape& shape_;
  const Trajectory& trajectory_;
  std::span<const Prompt> prompts_;
  std::vector<Group> groups_;
  int hidden_group_ = -1;
  Hidden hidden_;
};

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_ANCHOR_H_
