#ifndef SAMEBITS_SERVER_RPC_ARENA_ALLOCATOR_H_
#define SAMEBITS_SERVER_RPC_ARENA_ALLOCATOR_H_

#include <google/protobuf/arena.h>
#include <grpcpp/support/message_allocator.h>

namespace samebits::server {

// Puts request and response of a unary call on one arena whose first block is part of the same allocation.
// Thread-safe.
template <typename Request, typename Response>
class ArenaAllocator : public grpc::MessageAllocator<Request, Response> {
 public:
  grpc::MessageHolder<Request, Response>* AllocateMessages() override { return new Holder; }

 private:
  class Holder : public grpc::MessageHolder<Request, Response> {
   public:
    Holder() : arena_(block_, sizeof(block_)) {
      this->set_request(google::protobuf::Arena::CreateMessage<Request>(&arena_));
      this->set_response(google::protobuf::Arena::CreateMessage<Response>(&arena_));
    }
    void Release() override { delete this; }

   private:
    alignas(8) char block_[4096];
    google::protobuf::Arena arena_;
  };
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_ARENA_ALLOCATOR_H_
