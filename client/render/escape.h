#ifndef SAMEBITS_CLIENT_RENDER_ESCAPE_H_
#define SAMEBITS_CLIENT_RENDER_ESCAPE_H_

#include <string>
#include <string_view>

namespace samebits::render {

// `text` as content of an element or of a quoted attribute of XML and HTML. Bytes that are no UTF-8 and characters that
// XML does not have become U+FFFD.
std::string Escape(std::string_view text);

// The first `columns` code points of `text`; a longer text ends with "…" in place of the last of them.
std::string Shortened(std::string_view text, size_t columns);

// Code points of UTF-8 text.
size_t Columns(std::string_view text);

}  // namespace samebits::render

#endif  // SAMEBITS_CLIENT_RENDER_ESCAPE_H_
