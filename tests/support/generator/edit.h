#ifndef SAMEBITS_TESTS_SUPPORT_GENERATOR_EDIT_H_
#define SAMEBITS_TESTS_SUPPORT_GENERATOR_EDIT_H_

// Small changes to kernel texts: what they make need not be valid.

#include <cstdint>
#include <string>
#include <vector>

namespace samebits::generator {

std::vector<std::string> Lines(const std::string& text);
std::string Join(const std::vector<std::string>& lines);

// One edit, chosen by the bits of `word`: its low three bits say which (0 erases a line, 1 doubles one, 2 swaps two, 3
// replaces a number, 4 inserts a line of another kernel, 5 replaces a type or modifier, 6 adds a predicate, 7 replaces
// a character). `lines` must not be empty, and stays so.
void Edit(uint32_t word, std::vector<std::string>* lines);

}  // namespace samebits::generator

#endif  // SAMEBITS_TESTS_SUPPORT_GENERATOR_EDIT_H_
