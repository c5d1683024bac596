//! However a program ends, its report is written, and a race shows in its exit status.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use gpurace_tests::toolchain::{Checked, compile, programs, run_checked, work_folder};

/// Runs `tests/programs/report/ends.cu`, which is compiled once for all tests.
fn ends(args: &[&str]) -> Checked {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let program = BUILT.get_or_init(|| {
        let folder = work_folder("ends").unwrap();
        let source = programs().join("report/ends.cu");
        compile(&["-fsanitize=gpurace", "-Wno-gpurace", source.to_str().unwrap(), "-o", "ends"], &folder)
            .unwrap();
        folder.join("ends")
    });
    let folder = work_folder(&format!("ends_run_{}", RUNS.fetch_add(1, Ordering::Relaxed))).unwrap();
    run_checked(program, args, "", &folder).unwrap()
}

/// Asserts that the one race of the program is in its JSON, and that its text and summary are printed.
fn assert_reported(how: &str, run: &Checked) {
    let (said, report) = (&run.outcome.stderr, run.report.as_ref());
    let report = report.unwrap_or_else(|why| panic!("{how}: {why}\n{said}"));
    assert_eq!(report.races.len(), 1, "{how}: {said}");
    assert!(said.contains("WARNING: gpurace: data race"), "{how}: {said}");
    assert!(said.contains("SUMMARY: gpurace: 1 data race"), "{how}: {said}");
}

#[test]
fn a_race_changes_the_status_where_it_was_0() {
    for (how, status) in [
        ("return", 4),
        ("exit", 3),
        ("_exit", 66),
        ("_exit 7", 7),
        ("_Exit", 66),
        ("quick_exit", 66),
        ("", 66),
        // The program returns this status after a failed call.
        ("trap", 2),
    ] {
        let run = ends(&[how]);
        assert_eq!(run.outcome.status, Some(status), "{how}: {}", run.outcome.stderr);
        assert_reported(how, &run);
    }
}

#[test]
fn a_program_without_a_race_ends_as_it_wants() {
    for (how, status) in [("exit", 3), ("_exit", 0), ("_Exit", 0), ("quick_exit", 0), ("execl", 9), ("", 0)] {
        let run = ends(&[how, "clean"]);
        assert_eq!(run.outcome.status, Some(status), "{how}: {}", run.outcome.stderr);
        assert_eq!(run.outcome.stderr, "", "{how}");
        assert_eq!(run.report.unwrap().races.len(), 0, "{how}");
    }
}

#[test]
fn handlers_of_quick_exit_run() {
    assert_eq!(ends(&["quick_exit"]).outcome.stdout, "at_quick_exit\n");
}

#[test]
fn the_report_comes_before_another_program_takes_over() {
    for how in ["execve", "execv", "execvp", "execl", "execlp", "execle"] {
        let run = ends(&[how]);
        assert_eq!(run.outcome.status, Some(9), "{how}: {}", run.outcome.stderr);
        let greeting = if how.ends_with('e') { " hello" } else { "" };
        assert_eq!(run.outcome.stdout, format!("new program{greeting}\n"), "{how}");
        assert_reported(how, &run);
        assert!(run.outcome.stderr.contains("the exit status will be that of the new program"), "{how}");
    }
}

#[test]
fn a_program_goes_on_after_an_exec_that_failed() {
    let run = ends(&["exec fails", "clean"]);
    assert_eq!(run.outcome.status, Some(66), "{}", run.outcome.stderr);
    assert_reported("exec fails", &run);
}

#[test]
fn each_signal_that_ends_the_program_keeps_its_death() {
    let standard = (1..32).filter(|signal| {
        ![
            libc::SIGKILL,
            libc::SIGSTOP,
            libc::SIGTSTP,
            libc::SIGTTIN,
            libc::SIGTTOU,
            libc::SIGCHLD,
            libc::SIGCONT,
            libc::SIGURG,
            libc::SIGWINCH,
        ]
        .contains(signal)
    });
    for signal in standard.chain([libc::SIGRTMIN(), libc::SIGRTMAX()]) {
        let run = ends(&["signal", "racy", &signal.to_string()]);
        assert_eq!(run.outcome.signal, Some(signal), "{}", run.outcome.stderr);
        assert_reported(&format!("signal {signal}"), &run);
    }
    for how in ["abort", "segv", "terminate"] {
        let run = ends(&[how]);
        let signal = if how == "segv" { libc::SIGSEGV } else { libc::SIGABRT };
        assert_eq!(run.outcome.signal, Some(signal), "{how}: {}", run.outcome.stderr);
        assert_reported(how, &run);
    }
}

/// `timeout` sends its signal to the program and to its process group.
#[test]
fn a_second_signal_does_not_end_the_report_of_the_first() {
    for _ in 0..5 {
        let run = ends(&["many signals"]);
        let signal = run.outcome.signal;
        assert!(signal == Some(libc::SIGINT) || signal == Some(libc::SIGTERM), "{}", run.outcome.stderr);
        assert_reported("many signals", &run);
    }
}

#[test]
fn a_signal_that_the_program_handles_or_ignores_is_its_own() {
    let run = ends(&["handled"]);
    assert_eq!(run.outcome.status, Some(5), "{}", run.outcome.stderr);
    assert_reported("handled", &run);
    let run = ends(&["handled and raised again"]);
    assert_eq!(run.outcome.signal, Some(libc::SIGTERM), "{}", run.outcome.stderr);
    assert_reported("handled and raised again", &run);
    let run = ends(&["ignored", "clean"]);
    assert_eq!(run.outcome.status, Some(0), "{}", run.outcome.stderr);
}

#[test]
fn an_end_within_an_allocation_loses_nothing() {
    for after in (0..10).map(|run| (run * 37).to_string()) {
        let begin = std::time::Instant::now();
        let run = ends(&["timer", "racy", &after]);
        assert_eq!(run.outcome.signal, Some(libc::SIGALRM), "{}", run.outcome.stderr);
        assert_reported("timer", &run);
        let run = ends(&["timer and _exit", "racy", &after]);
        assert_eq!(run.outcome.status, Some(5), "{}", run.outcome.stderr);
        assert_reported("timer and _exit", &run);
        assert!(begin.elapsed().as_secs() < 8, "{:?}", begin.elapsed());
    }
}

#[test]
fn a_child_answers_for_what_it_did_itself() {
    let own = "child 0\nchild 0\nchild 0\nchild -15\nchild 0\nchild 66\nchild 66\nsystem 0\n";
    let racy = ends(&["children"]);
    assert_eq!((racy.outcome.stdout.as_str(), racy.outcome.status), (own, Some(66)));
    assert_reported("children", &racy);
    let clean = ends(&["children", "clean"]);
    assert_eq!((clean.outcome.stdout.as_str(), clean.outcome.status), (own, Some(0)));
}
