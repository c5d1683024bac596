// Fails the very test in which gpurace finds something, with the report as its message. Include it after the
// header of the test framework.
//
//   googletest        GPURACE_LISTEN();          once, outside of functions, in one source
//   Catch2, doctest   GPURACE_CHECK_SCOPE();     first in a test
//
// Without gpurace's runtime in the program, both do nothing.
#ifndef GPURACE_TESTING_H
#define GPURACE_TESTING_H

#include <gpurace/findings.h>

#include <string>

#if defined(GTEST_API_)

namespace gpurace {

// Fails a test at its end. What was found between tests, as in the set-up of a suite, fails the suite.
class googletest_listener : public testing::EmptyTestEventListener {
public:
  void OnTestStart(const testing::TestInfo &test) override {
    outside += take();
    gpurace_region_begin((std::string(test.test_suite_name()) + "." + test.name()).c_str());
  }

  void OnTestEnd(const testing::TestInfo &test) override {
    gpurace_region_end();
    const std::string found = take();
    if (!found.empty()) ADD_FAILURE_AT(test.file(), test.line()) << found;
  }

  void OnTestSuiteEnd(const testing::TestSuite &) override { fail_outside(); }

  void OnTestIterationEnd(const testing::UnitTest &, int) override { fail_outside(); }

private:
  static std::string take() {
    const char *text;
    return gpurace_findings(&text) ? text : "";
  }

  void fail_outside() {
    outside += take();
    if (!outside.empty()) ADD_FAILURE() << "outside of tests:\n" << outside;
    outside.clear();
  }

  std::string outside;
};

// Registers the listener. In a `main` of your own, call it before RUN_ALL_TESTS.
inline bool listen() {
  testing::UnitTest::GetInstance()->listeners().Append(new googletest_listener);
  return true;
}

} // namespace gpurace

#define GPURACE_LISTEN() static const bool gpurace_listens __attribute__((unused)) = gpurace::listen()

#elif defined(FAIL_CHECK)

namespace gpurace {

// Their listeners cannot fail a test, so an object in the test does.
class check_scope {
public:
  // What was found before is not this test's.
  check_scope() { gpurace_findings(nullptr); }
  check_scope(const check_scope &) = delete;
  check_scope &operator=(const check_scope &) = delete;

  ~check_scope() {
    const char *text;
    if (gpurace_findings(&text)) FAIL_CHECK(std::string(text));
  }
};

} // namespace gpurace

#define GPURACE_CHECK_SCOPE() const gpurace::check_scope gpurace_check_scope_

#else
#error "include the header of googletest, Catch2 or doctest before gpurace/testing.h"
#endif

#endif
