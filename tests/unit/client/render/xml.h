#ifndef SAMEBITS_TESTS_UNIT_CLIENT_RENDER_XML_H_
#define SAMEBITS_TESTS_UNIT_CLIENT_RENDER_XML_H_

// A reader of the XML that the renderers write: enough to see that it is well-formed and what it holds.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace samebits::render {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;  // entities resolved
  std::string text;                               // own text, entities resolved
  std::vector<Element> children;
};

// The document's root. Throws std::runtime_error with a place where the text is not well-formed.
Element ParseXml(std::string_view text);

// All elements of a name, in order of the document.
std::vector<const Element*> FindAll(const Element& root, std::string_view name);

}  // namespace samebits::render

#endif  // SAMEBITS_TESTS_UNIT_CLIENT_RENDER_XML_H_
