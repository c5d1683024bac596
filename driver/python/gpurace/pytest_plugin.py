"""Fails the very test in which gpurace finds something, with the report in its failure section.

- Programs that a test runs write JSON reports into a folder of the test (`GPURACE_OPTIONS`), which are
  read when the test has ended.
- Extension modules that are built with `-fsanitize=gpurace` are asked after each phase of a test.

`pytest -p no:gpurace` turns it off.
"""

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import gpurace

VARIABLE = "GPURACE_OPTIONS"


def pytest_configure(config):
    config.pluginmanager.register(Plugin(), "gpurace-session")


def _folder():
    """A folder for the reports of programs."""
    folder = Path(tempfile.mkdtemp(prefix="gpurace-pytest-"))
    # A runtime in this process that was loaded by a test writes its own report there when the process ends.
    atexit.register(lambda: gpurace.is_loaded() or shutil.rmtree(folder, ignore_errors=True))
    return folder


def _tool():
    """The program `gpurace` of this environment, or that of `PATH`."""
    beside = Path(sys.executable).with_name("gpurace")
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("gpurace")


def _text(file, report):
    """A stored report as text."""
    tool = _tool()
    if tool is not None:
        shown = subprocess.run([tool, "report", str(file), "--format", "text"], capture_output=True, check=False)
        if shown.stdout:
            return shown.stdout.decode("utf-8", "replace")
    lines = []
    for finding in report.get("findings", []):
        lines += [f"{finding.get('id')}: {finding.get('title')}", f"    {finding.get('why')}"]
    return "\n".join(lines) or f"gpurace: findings in {file}"


def _headline(found):
    """One line for the list of failed tests: the titles of all findings."""
    titles = re.findall(r"^F\d+: (.*)$", "\n".join(found), re.M)
    return "gpurace: " + "; ".join(dict.fromkeys(titles))


def _json_pattern(options):
    """The file that the user's options name for JSON reports."""
    named = None
    for word in options.replace("\n", ":").split(":"):
        key, _, value = word.partition("=")
        if key.strip() == "json":
            named = value.strip()
    return named


class Plugin:
    """Sets options before each phase of a test, and reads what was found after it."""

    def __init__(self):
        self.folder = None
        # The text of a test that failed for another reason too, by test and phase.
        self.beside = {}
        self.outside = []

    def _programs(self, user):
        """What the programs that ran in this phase have reported. Removes their reports."""
        found = []
        for file in sorted(self.folder.glob("*.json")):
            try:
                report = json.loads(file.read_text(encoding="utf-8", errors="replace"))
            except ValueError:
                # A program that is still running, or was killed, may have written a part.
                continue
            if any(report.get(kind) for kind in ("races", "divergence", "faults")):
                found.append(_text(file, report))
            pattern = _json_pattern(user)
            if pattern:
                shutil.copyfile(file, pattern.replace("%p", file.stem))
            file.unlink()
        return found

    def _phase(self, item, when):
        before = gpurace.recent_findings()
        if before:
            self.outside.append(before)
        self.folder = self.folder or _folder()
        user = os.environ.get(VARIABLE)
        # Of two equal keys, the last counts.
        os.environ[VARIABLE] = ":".join(filter(None, [user, f"json={self.folder}/%p.json"]))
        with gpurace.region(item.nodeid):
            outcome = yield
        if user is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = user
        found = self._programs(user or "")
        recent = gpurace.recent_findings()
        if recent:
            found.append(recent)
        if not found:
            return
        text = _headline(found) + "\n" + "\n".join(found)
        if outcome.excinfo is None:
            _fail(outcome, pytest.fail.Exception(text, pytrace=False))
        else:
            self.beside[item.nodeid, when] = text

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        yield from self._phase(item, "setup")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        yield from self._phase(item, "call")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item):
        yield from self._phase(item, "teardown")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        text = self.beside.pop((item.nodeid, call.when), None)
        if text is None:
            return
        report = outcome.get_result()
        # A test that failed for another reason too shows both, in the XML as well.
        if hasattr(report.longrepr, "addsection"):
            report.longrepr.addsection("gpurace", text)
        else:
            report.sections.append(("gpurace", text))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        recent = gpurace.recent_findings()
        if recent:
            self.outside.append(recent)
        if self.outside and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        # The status is pytest's: a test that is expected to fail may race.
        gpurace.set_options("exitcode=0")

    def pytest_terminal_summary(self, terminalreporter):
        if self.outside:
            terminalreporter.section("gpurace: outside of tests", red=True)
            for text in self.outside:
                terminalreporter.line(text)


def _fail(outcome, exception):
    if hasattr(outcome, "force_exception"):
        outcome.force_exception(exception)
    else:
        # pluggy before 1.1 has no way that others' wrappers survive.
        outcome._excinfo = (type(exception), exception, None)
