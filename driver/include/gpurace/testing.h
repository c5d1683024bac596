// Fails the very test in which gpurace finds something, with the report as its message. Include it after the
// header of the test framework.
//
//   googletest        GPURACE_LISTEN();          once, outside of functions, in one source
//   Catch2, doctest   GPURACE_CHECK_SCOPE();     first in a test
//   all three         GPURACE_EXPECT_RACE(statement);
//
// The last fails a test if its statement shows no race, and keeps the races that it shows out of the report.
// Wait for the device within it. Without gpurace's runtime in the program, the first two do nothing, and the
// last runs its statement.
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

namespace gpurace {

// Expects races while it lives.
class expected_race {
public:
  expected_race(const char *statement, const char *file, int line)
      : statement(statement), file(file), line(line) {
    gpurace_expect_begin();
  }
  expected_race(const expected_race &) = delete;
  expected_race &operator=(const expected_race &) = delete;

  ~expected_race() {
    if (gpurace_expect_end()) return;
    const std::string text = std::string("gpurace: no race in `") + statement + "`";
#if defined(GTEST_API_)
    ADD_FAILURE_AT(file, line) << text;
#else
    FAIL_CHECK((std::string(file) + ":" + std::to_string(line) + ": " + text));
#endif
  }

private:
  const char *statement, *file;
  int line;
};

} // namespace gpurace

#define GPURACE_EXPECT_RACE(...)                                                                             \
  do {                                                                                                       \
    const gpurace::expected_race gpurace_expected_race_(#__VA_ARGS__, __FILE__, __LINE__);                   \
    __VA_ARGS__;                                                                                             \
  } while (0)

#endif
