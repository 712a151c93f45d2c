#ifndef SAMEBITS_TESTS_SUPPORT_FAKE_GPU_SCOPED_VARIABLE_H_
#define SAMEBITS_TESTS_SUPPORT_FAKE_GPU_SCOPED_VARIABLE_H_

#include <cstdlib>
#include <string>

namespace samebits::fake_gpu {

// Sets a variable of the environment, or takes it away, until the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name); before != nullptr) before_ = before, had_ = true;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~ScopedVariable() { had_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool had_ = false;
};

}  // namespace samebits::fake_gpu

#endif  // SAMEBITS_TESTS_SUPPORT_FAKE_GPU_SCOPED_VARIABLE_H_
