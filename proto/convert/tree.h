#ifndef SAMEBITS_PROTO_CONVERT_TREE_H_
#define SAMEBITS_PROTO_CONVERT_TREE_H_

// Trees of explanations and places, between checker and API. Text is made valid UTF-8.

#include "core/checker/checker.h"
#include "samebits/v1/signature.pb.h"

namespace samebits::proto {

bool IsSet(const checker::Place& place);
void PlaceToProto(const checker::Place& place, v1::Place* out);
checker::Place PlaceFromProto(const v1::Place& place);

// Adds to `nodes` of the side.
void TreeToProto(const checker::Tree& tree, v1::PartingSide* out);
// A tree of which renderers may walk: children that do not come after their parent, that are no node or have a parent
// already, and partners out of range of any tree are left out, as are nodes over the limit.
checker::Tree TreeFromProto(const v1::PartingSide& side);

}  // namespace samebits::proto

#endif  // SAMEBITS_PROTO_CONVERT_TREE_H_
