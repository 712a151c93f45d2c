#include "core/checker/explain/tree_node.h"

namespace samebits::checker {

std::string_view ScopeName(Scope scope) {
  switch (scope) {
    case Scope::kUnknown: return "unknown";
    case Scope::kThread: return "thread";
    case Scope::kWarp: return "warp";
    case Scope::kShared: return "shared";
    case Scope::kGlobal: return "global";
  }
  return "unknown";
}

std::string_view KindName(TreeNode::Kind kind) {
  switch (kind) {
    case TreeNode::Kind::kOperation: return "operation";
    case TreeNode::Kind::kLoad: return "load";
    case TreeNode::Kind::kConstant: return "constant";
    case TreeNode::Kind::kInput: return "input";
    case TreeNode::Kind::kFold: return "fold";
  }
  return "operation";
}

std::string_view MatchName(TreeNode::Match match) {
  switch (match) {
    case TreeNode::Match::kSame: return "same";
    case TreeNode::Match::kAlike: return "alike";
    case TreeNode::Match::kParts: return "parts";
    case TreeNode::Match::kOwn: return "own";
  }
  return "own";
}

}  // namespace samebits::checker
