#include "core/heal/jobs/generate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace samebits::heal {
namespace {

struct Slot {
  int prompt = -1;  // free
  int read = 0;     // rows done
};

class Generator {
 public:
  Generator(Engine& engine, const GenerateRequest& request, Monitor& monitor)
      : engine_(engine), request_(request), monitor_(monitor), slots_(engine.capacity().slots),
        results_(request.prompts.size()) {}

  absl::StatusOr<std::vector<Tokens>> Run() {
    while (Assign()) {
      Fill();
      if (absl::Status s = Pass(); !s.ok()) return s;
      Collect();
    }
    return std::move(results_);
  }

 private:
  const Tokens& PromptOf(const Slot& slot) const { return request_.prompts[slot.prompt].tokens; }
  bool Reading(const Slot& slot) const {
    return slot.prompt >= 0 && slot.read < static_cast<int>(PromptOf(slot).size());
  }

  // Gives free slots their next prompt; false when all is done.
  bool Assign() {
    const auto busy = [](const Slot& slot) { return slot.prompt >= 0; };
    const bool any_busy = std::any_of(slots_.begin(), slots_.end(), busy);
    if (request_.schedule == Schedule::kFixed && any_busy) return true;
    const int count = static_cast<int>(request_.prompts.size());
    for (Slot& slot : slots_) {
      if (slot.prompt >= 0 || next_ == count) continue;
      slot = {request_.schedule == Schedule::kReversed ? count - 1 - next_ : next_, 0};
      ++next_;
    }
    return std::any_of(slots_.begin(), slots_.end(), busy);
  }

  void AddRow(int slot, int32_t token) {
    row_slot_.push_back(slot);
    row_position_.push_back(slots_[slot].read++);
    row_token_.push_back(token);
  }

  void Fill() {
    row_slot_.clear();
    row_position_.clear();
    row_token_.clear();
    const auto reading = [this](const Slot& slot) { return Reading(slot); };
    const bool wait = request_.schedule == Schedule::kFixed && std::any_of(slots_.begin(), slots_.end(), reading);
    for (int s = 0; s < static_cast<int>(slots_.size()) && !wait; ++s) {
      if (slots_[s].prompt >= 0 && !Reading(slots_[s])) AddRow(s, results_[slots_[s].prompt].back());
    }
    for (int s = 0; s < static_cast<int>(slots_.size()); ++s) {
      while (Reading(slots_[s]) && static_cast<int>(row_slot_.size()) < engine_.capacity().rows) {
        AddRow(s, PromptOf(slots_[s])[slots_[s].read]);
      }
    }
  }

  absl::Status Pass() {
    if (absl::Status s = monitor_.Pass(absl::StrCat("generating, ", ended_, " of ", results_.size(), " ended"));
        !s.ok()) {
      return s;
    }
    Wanted wanted;
    wanted.next_token = true;
    const absl::Status status = engine_.Forward({row_slot_, row_position_, row_token_}, wanted, &forward_);
    if (status.ok() && forward_.next_token.size() != row_slot_.size()) {
      return absl::InternalError("the engine gave another number of tokens than rows");
    }
    return status;
  }

  void Collect() {
    for (size_t row = 0; row < row_slot_.size(); ++row) {
      Slot& slot = slots_[row_slot_[row]];
      if (slot.prompt < 0 || row_position_[row] + 1 < static_cast<int>(PromptOf(slot).size())) continue;
      Tokens& result = results_[slot.prompt];
      result.push_back(forward_.next_token[row]);
      const bool stop = std::find(request_.stop_tokens.begin(), request_.stop_tokens.end(), result.back()) !=
                        request_.stop_tokens.end();
      if (stop || static_cast<int>(result.size()) >= request_.max_new_tokens) {
        slot = {};
        ++ended_;
      }
    }
  }

  Engine& engine_;
  const GenerateRequest& request_;
  Monitor& monitor_;
  std::vector<Slot> slots_;
  std::vector<Tokens> results_;
  int next_ = 0, ended_ = 0;
  std::vector<int32_t> row_slot_, row_position_, row_token_;
  ForwardResult forward_;
};

}  // namespace

absl::StatusOr<std::vector<Tokens>> Generate(Engine& engine, const GenerateRequest& request, Monitor& monitor) {
  return Generator(engine, request, monitor).Run();
}

}  // namespace samebits::heal
