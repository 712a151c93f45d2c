#include <algorithm>
#include <cstdio>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/json_report.h"
#include "client/cli/partition_report.h"
#include "client/cli/progress.h"
#include "client/cli/terminal.h"

namespace samebits::cli {
namespace {

// Prints lines in the order of the batch while results come in any order.
class SignaturePrinter {
 public:
  SignaturePrinter(const CommandLine& line, std::vector<BatchItem>* items, Progress* progress)
      : is_json_(line.format.value_or(Format::kJson) == Format::kJson),
        layout_(OutputLayout(line)),
        items_(*items),
        done_(items->size()),
        progress_(*progress) {
    for (const BatchItem& item : items_) id_width_ = std::max(id_width_, std::min<size_t>(DisplayWidth(item.id), 60));
  }

  void Take(size_t index, absl::StatusOr<checker::Signature> signature) {
    items_[index].signature = std::move(signature);
    done_[index] = true;
    for (; next_ < items_.size() && done_[next_]; ++next_) Print(items_[next_]);
  }

  // Lines for what is left after a batch that ended early.
  void Finish(const absl::Status& status) {
    for (; next_ < items_.size(); ++next_) {
      if (!done_[next_]) items_[next_].signature = status;
      Print(items_[next_]);
    }
  }

 private:
  void Print(const BatchItem& item) {
    progress_.Hide();
    if (is_json_) {
      PrintLine(JsonSignature(item));
    } else {
      PrintText(HumanSignatureLine(item, id_width_, layout_));
    }
  }

  const bool is_json_;
  const Layout layout_;
  std::vector<BatchItem>& items_;
  std::vector<bool> done_;
  Progress& progress_;
  size_t next_ = 0, id_width_ = 0;
};

std::vector<BatchItem> ItemsOf(const std::vector<KernelSource>& sources) {
  std::vector<BatchItem> items(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) items[i].id = sources[i].id;
  return items;
}

// The command line with the reference among its kernels, where kernels are listed.
CommandLine WithReference(CommandLine line) {
  const bool listed = std::find(line.kernels.begin(), line.kernels.end(), line.reference) != line.kernels.end();
  if (!line.reference.empty() && !line.kernels.empty() && !listed) {
    line.kernels.insert(line.kernels.begin(), line.reference);
  }
  return line;
}

absl::StatusOr<std::vector<BatchItem>> CheckBatch(const CommandLine& line) {
  absl::StatusOr<std::vector<KernelSource>> sources = ListSources(line);
  if (!sources.ok()) return sources.status();
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeBackend(line);
  if (!backend.ok()) return backend.status();
  std::vector<BatchItem> items = ItemsOf(*sources);
  Progress progress(items.size(), line.quiet, line.verbose);
  const absl::Status status =
      (*backend)->ComputeSignatures(*sources, [&](size_t index, absl::StatusOr<checker::Signature> signature) {
        items[index].signature = std::move(signature);
        progress.Step(VerboseLine(items[index].id, items[index].signature));
      });
  if (!status.ok()) return status;
  return items;
}

}  // namespace

ExitCode RunPartition(const CommandLine& given) {
  const CommandLine line = WithReference(given);
  absl::StatusOr<std::vector<BatchItem>> items = CheckBatch(line);
  if (!items.ok()) return ReportError(line, items.status());
  absl::StatusOr<Partition> partition = BuildPartition(*items, line.reference);
  if (!partition.ok()) return ReportError(line, partition.status());
  if (FormatOf(line) == Format::kJson) {
    PrintLine(JsonPartition(*partition, *items));
  } else {
    PrintText(HumanPartition(*partition, *items, OutputLayout(line)));
  }
  return ExitCodeOf(*partition);
}

ExitCode RunSignature(const CommandLine& line) {
  absl::StatusOr<std::vector<KernelSource>> sources = ListSources(line);
  if (!sources.ok()) return ReportError(line, sources.status());
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeBackend(line);
  if (!backend.ok()) return ReportError(line, backend.status());
  std::vector<BatchItem> items = ItemsOf(*sources);
  Progress progress(items.size(), line.quiet, line.verbose);
  SignaturePrinter printer(line, &items, &progress);
  const absl::Status status =
      (*backend)->ComputeSignatures(*sources, [&](size_t index, absl::StatusOr<checker::Signature> signature) {
        const std::string done = VerboseLine(items[index].id, signature);
        printer.Take(index, std::move(signature));
        progress.Step(done);
      });
  printer.Finish(status);
  progress.Hide();
  if (!status.ok()) return ReportError(line, status);
  const bool all_read =
      std::all_of(items.begin(), items.end(), [](const BatchItem& item) { return item.signature.ok(); });
  return all_read || !line.manifest.empty() ? ExitCode::kEquivalent : ExitCode::kBadInput;
}

}  // namespace samebits::cli
