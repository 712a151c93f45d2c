#include "core/heal/jobs/replay.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/heal/statistics/spread.h"

namespace samebits::heal {
namespace {

class Replayer {
 public:
  Replayer(Engine& engine, const ReplayRequest& request, Monitor& monitor, const Visit& visit)
      : engine_(engine), request_(request), monitor_(monitor), visit_(visit),
        count_(static_cast<int>(request.sequences.size())), slots_(engine.capacity().slots) {}

  absl::Status Run() { return request_.schedule == Schedule::kFixed ? RunFixed() : RunTogether(); }

 private:
  void AddRow(int slot, int sequence, int position) {
    rows_.slot.push_back(slot);
    rows_.sequence.push_back(sequence);
    rows_.position.push_back(position);
    rows_.token.push_back(request_.sequences[sequence].tokens[position]);
  }

  absl::Status Pass() {
    if (rows_.size() == 0) return absl::OkStatus();
    if (absl::Status s = monitor_.Pass(absl::StrCat("replaying, sequence ", rows_.sequence.back() + 1, " of ", count_));
        !s.ok()) {
      return s;
    }
    absl::Status status = engine_.Forward({rows_.slot, rows_.position, rows_.token}, request_.wanted, &forward_);
    const size_t hidden = rows_.size() * static_cast<size_t>(engine_.shape().hidden);
    if (status.ok() && request_.wanted.hidden && forward_.hidden.size() != hidden) {
      status = absl::InternalError("the engine gave another number of hidden states than rows");
    }
    if (status.ok()) status = visit_(rows_, forward_);
    rows_ = {};
    return status;
  }

  absl::Status RunFixed() {
    for (int sequence = 0; sequence < count_; ++sequence) {
      if (sequence % slots_ == 0) {  // slots begin anew: nothing of the last batch may share its pass
        if (absl::Status s = Pass(); !s.ok()) return s;
      }
      const int length = static_cast<int>(request_.sequences[sequence].tokens.size());
      for (int position = 0; position < length; ++position) {
        AddRow(sequence % slots_, sequence, position);
        if (static_cast<int>(rows_.size()) < request_.rows) continue;
        if (absl::Status s = Pass(); !s.ok()) return s;
      }
    }
    return Pass();
  }

  absl::Status RunTogether() {
    const int share = std::max(1, request_.rows / slots_);
    std::vector<int> sequence(slots_, -1), position(slots_, 0);
    int next = 0;
    while (true) {
      for (int slot = 0; slot < slots_; ++slot) {
        if (sequence[slot] < 0 && next < count_) {
          sequence[slot] = request_.schedule == Schedule::kReversed ? count_ - 1 - next : next;
          position[slot] = 0;
          ++next;
        }
        if (sequence[slot] < 0) continue;
        const int length = static_cast<int>(request_.sequences[sequence[slot]].tokens.size());
        const int end = std::min(length, position[slot] + share);
        while (position[slot] < end) AddRow(slot, sequence[slot], position[slot]++);
        if (end == length) sequence[slot] = -1;
      }
      if (rows_.size() == 0) return absl::OkStatus();
      if (absl::Status s = Pass(); !s.ok()) return s;
    }
  }

  Engine& engine_;
  const ReplayRequest& request_;
  Monitor& monitor_;
  const Visit& visit_;
  const int count_, slots_;
  PassRows rows_;
  ForwardResult forward_;
};

ReplayRequest HiddenRequest(Engine& engine, std::span<const Sequence> sequences, Schedule schedule) {
  ReplayRequest request;
  request.sequences = sequences;
  request.schedule = schedule;
  request.rows = engine.capacity().rows;
  request.wanted.hidden = true;
  return request;
}

}  // namespace

absl::Status Replay(Engine& engine, const ReplayRequest& request, Monitor& monitor, const Visit& visit) {
  return Replayer(engine, request, monitor, visit).Run();
}

absl::StatusOr<Hidden> ReplayHidden(Engine& engine, std::span<const Sequence> sequences, Monitor& monitor) {
  const int width = engine.shape().hidden;
  Hidden hidden(sequences.size());
  for (size_t i = 0; i < sequences.size(); ++i) {
    hidden[i].resize(static_cast<size_t>(sequences[i].generated()) * width);
  }
  const Visit keep = [&](const PassRows& rows, const ForwardResult& result) {
    for (size_t row = 0; row < rows.size(); ++row) {
      const int index = rows.position[row] - sequences[rows.sequence[row]].first;
      if (index < 0) continue;
      std::copy_n(result.hidden.begin() + row * width, width,
                  hidden[rows.sequence[row]].begin() + static_cast<size_t>(index) * width);
    }
    return absl::OkStatus();
  };
  const absl::Status status = Replay(engine, HiddenRequest(engine, sequences, Schedule::kFixed), monitor, keep);
  if (!status.ok()) return status;
  return hidden;
}

absl::StatusOr<std::vector<std::vector<double>>> ReplayErrors(Engine& engine, std::span<const Sequence> sequences,
                                                              Schedule schedule, const Hidden& anchor,
                                                              Monitor& monitor) {
  const size_t width = static_cast<size_t>(engine.shape().hidden);
  std::vector<std::vector<double>> errors(sequences.size());
  for (size_t i = 0; i < sequences.size(); ++i) errors[i].resize(sequences[i].generated());
  const Visit compare = [&](const PassRows& rows, const ForwardResult& result) {
    for (size_t row = 0; row < rows.size(); ++row) {
      const int index = rows.position[row] - sequences[rows.sequence[row]].first;
      if (index < 0) continue;
      const std::span<const float> exact(anchor[rows.sequence[row]]);
      errors[rows.sequence[row]][index] = MeanSquaredError(std::span(result.hidden).subspan(row * width, width),
                                                           exact.subspan(static_cast<size_t>(index) * width, width));
    }
    return absl::OkStatus();
  };
  const absl::Status status = Replay(engine, HiddenRequest(engine, sequences, schedule), monitor, compare);
  if (!status.ok()) return status;
  return errors;
}

}  // namespace samebits::heal
