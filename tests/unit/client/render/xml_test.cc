#include "tests/unit/client/render/xml.h"

#include <gtest/gtest.h>

#include <cctype>
#include <stdexcept>

namespace samebits::render {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  Element Document() {
    SkipSpace();
    if (text_.substr(at_).starts_with("<!DOCTYPE html>")) at_ += 15;
    SkipSpace();
    Element root = ReadElement();
    SkipSpace();
    if (at_ != text_.size()) Fail("text after the root");
    return root;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw std::runtime_error(what + " at " + std::to_string(at_) + ": " + std::string(text_.substr(at_, 60)));
  }
  void SkipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  void Expect(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) Fail("expected " + std::string(what));
    at_ += what.size();
  }
  std::string Name() {
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-')) ++at_;
    if (at_ == begin) Fail("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  // To `end`, which stays unread; markup other than entities is an error.
  std::string Content(char end) {
    std::string out;
    while (at_ < text_.size() && text_[at_] != end) {
      const char c = text_[at_];
      if (c == '<' || (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r')) Fail("raw character");
      if (c != '&') {
        out += c;
        ++at_;
        continue;
      }
      const size_t semicolon = text_.find(';', at_);
      const std::string entity(text_.substr(at_, semicolon - at_ + 1));
      static const std::map<std::string, char> kEntities = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
      const auto it = kEntities.find(entity);
      if (it == kEntities.end()) Fail("unknown entity");
      out += it->second;
      at_ += entity.size();
    }
    return out;
  }
  Element ReadElement() {
    Element e;
    Expect("<");
    e.name = Name();
    for (;;) {
      SkipSpace();
      if (text_.substr(at_).starts_with("/>")) {
        at_ += 2;
        return e;
      }
      if (text_.substr(at_).starts_with(">")) break;
      const std::string name = Name();
      Expect("=\"");
      if (!e.attributes.emplace(name, Content('"')).second) Fail("attribute twice");
      Expect("\"");
    }
    Expect(">");
    for (;;) {
      e.text += Content('<');
      if (text_.substr(at_).starts_with("</")) {
        at_ += 2;
        if (Name() != e.name) Fail("wrong end of " + e.name);
        Expect(">");
        return e;
      }
      if (at_ >= text_.size()) Fail("no end of " + e.name);
      e.children.push_back(ReadElement());
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

void Find(const Element& e, std::string_view name, std::vector<const Element*>* out) {
  if (e.name == name) out->push_back(&e);
  for (const Element& child : e.children) Find(child, name, out);
}

TEST(XmlTest, TheReaderRefusesWhatIsNotWellFormed) {
  EXPECT_NO_THROW(ParseXml("<a x=\"1 &amp; 2\"><b/>t &lt;</a>"));
  for (const char* bad : {"<a>", "<a></b>", "<a x=1></a>", "<a>&</a>", "<a>&nbsp;</a>", "<a x=\"<\"/>", "<a/><b/>", "<a x=\"1\" x=\"2\"/>", "<a>\x01</a>"})
    EXPECT_THROW(ParseXml(bad), std::runtime_error) << bad;
}

}  // namespace

Element ParseXml(std::string_view text) { return Reader(text).Document(); }

std::vector<const Element*> FindAll(const Element& root, std::string_view name) {
  std::vector<const Element*> out;
  Find(root, name, &out);
  return out;
}

}  // namespace samebits::render
