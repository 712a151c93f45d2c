#include <unordered_map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cli/backend.h"
#include "client/cli/commands.h"
#include "client/cli/kernel_message.h"
#include "client/cpp/client.h"
#include "proto/convert/convert.h"

namespace samebits::cli {
namespace {

// Id of a stream's item: ids of the API are short, so the place in the batch stands in.
std::string ItemId(size_t index) { return absl::StrCat(index); }

absl::Status FromWire(const google::rpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.code()), status.message());
}

// The server says on which side of a comparison an error lies.
absl::Status NameSide(const absl::Status& status, const Kernel& a, const Kernel& b) {
  const std::optional<client::ErrorInfo> info = client::GetErrorInfo(status);
  if (!info) return status;
  const auto side = info->metadata.find("side");
  if (side == info->metadata.end()) return status;
  return PrefixStatus(status, side->second == "b" ? b.id : a.id);
}

class RemoteBackend : public Backend {
 public:
  RemoteBackend(std::unique_ptr<client::Client> client, const checker::Options& options)
      : client_(std::move(client)), options_(options) {}

  absl::StatusOr<checker::Comparison> Compare(const Kernel& a, const Kernel& b) override {
    v1::CompareKernelsRequest request;
    FillPair(a, b, &request);
    return Answer(client_->Compare(request), a, b);
  }

  absl::StatusOr<checker::Comparison> Explain(const Kernel& a, const Kernel& b) override {
    v1::ExplainDifferenceRequest request;
    FillPair(a, b, &request);
    return Answer(client_->Explain(request), a, b);
  }

  absl::StatusOr<checker::TextInfo> Describe(const std::string& kernel_name) override {
    absl::StatusOr<v1::Kernel> kernel = client_->GetKernel(kernel_name, /*with_text=*/false);
    if (!kernel.ok()) return kernel.status();
    return proto::TextInfoFromProto(*kernel);
  }

  absl::StatusOr<std::string> FetchText(const std::string& kernel_name) override {
    absl::StatusOr<v1::Kernel> kernel = client_->GetKernel(kernel_name, /*with_text=*/true);
    if (!kernel.ok()) return kernel.status();
    return kernel->text();
  }

  absl::StatusOr<Registered> Register(const std::string& text) override {
    absl::StatusOr<v1::Kernel> kernel = client_->RegisterKernel(text);
    if (!kernel.ok()) return kernel.status();
    return Registered{kernel->name(), proto::TextInfoFromProto(*kernel)};
  }

  absl::Status ComputeSignatures(const std::vector<KernelSource>& sources, const OnSignature& on_signature) override {
    Batch batch(sources, on_signature, this);
    v1::PartitionConfig config;
    proto::OptionsToProto(options_, config.mutable_options());
    const absl::Status status = client_
                                    ->Partition(
                                        config, [&](v1::PartitionItem* item) { return batch.Next(item); },
                                        [&](const v1::PartitionItemResult& result) { return batch.Take(result); })
                                    .status();
    if (!status.ok()) return status;
    batch.ReportUnreadable();
    return absl::OkStatus();
  }

 private:
  // One batch on its way: sources that cannot be read are kept back and reported at the end, because results arrive
  // on another thread than the one that sends.
  class Batch {
   public:
    Batch(const std::vector<KernelSource>& sources, const OnSignature& on_signature, Backend* backend)
        : sources_(sources), on_signature_(on_signature), backend_(backend) {}

    bool Next(v1::PartitionItem* item) {
      while (next_ < sources_.size()) {
        const size_t index = next_++;
        absl::StatusOr<Kernel> kernel =
            LoadKernel(sources_[index], [&](const std::string& name) { return backend_->Describe(name); });
        if (!kernel.ok()) {
          unreadable_.emplace_back(index, kernel.status());
          continue;
        }
        item->set_id(ItemId(index));
        KernelToMessage(*kernel, item->mutable_kernel());
        return true;
      }
      return false;
    }

    bool Take(const v1::PartitionItemResult& result) {
      size_t index = 0;
      if (!absl::SimpleAtoi(result.id(), &index) || index >= sources_.size()) return false;
      if (result.has_signature()) {
        on_signature_(index, proto::SignatureFromProto(result.signature()));
      } else {
        on_signature_(index, PrefixStatus(FromWire(result.error()), sources_[index].id));
      }
      return true;
    }

    void ReportUnreadable() {
      for (const auto& [index, status] : unreadable_) on_signature_(index, status);
    }

   private:
    const std::vector<KernelSource>& sources_;
    const OnSignature& on_signature_;
    Backend* const backend_;
    size_t next_ = 0;
    std::vector<std::pair<size_t, absl::Status>> unreadable_;
  };

  template <typename Request>
  void FillPair(const Kernel& a, const Kernel& b, Request* request) {
    KernelToMessage(a, request->mutable_a());
    KernelToMessage(b, request->mutable_b());
    proto::OptionsToProto(options_, request->mutable_options());
  }

  static absl::StatusOr<checker::Comparison> Answer(const absl::StatusOr<v1::Comparison>& comparison, const Kernel& a,
                                                    const Kernel& b) {
    if (!comparison.ok()) return NameSide(comparison.status(), a, b);
    return proto::ComparisonFromProto(*comparison);
  }

  const std::unique_ptr<client::Client> client_;
  const checker::Options options_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> MakeRemoteBackend(const client::ClientOptions& client_options,
                                                           const checker::Options& options) {
  absl::StatusOr<std::unique_ptr<client::Client>> client = client::Client::Connect(client_options);
  if (absl::IsUnavailable(client.status())) {
    return absl::UnavailableError(absl::StrCat("no server at ", client_options.target,
                                               "; start one with 'samebits serve', name one with --server, or add "
                                               "--local to check in this process (",
                                               client.status().message(), ")"));
  }
  if (!client.ok()) return NameFlags(client.status());
  return std::make_unique<RemoteBackend>(*std::move(client), options);
}

}  // namespace samebits::cli
