//! Memory, disk, files and threads may be refused at any moment. `tests/faults/fail.c` refuses the n-th call of a
//! function, and this suite goes through the calls of the runtime, of `gclang` and of `gpurace`.
//!
//! Each run ends in time, panics nowhere, and says what it could not do: a race is in the text or in the JSON, or an
//! error says why not. A refused allocation of Rust's own may end the process by `SIGABRT`, after a message.
//!
//! `GPURACE_FAULTS=n` tries n calls of each function, `GPURACE_FAULTS=all` all of them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{Outcome, compile, run, tool, work_folder, workspace};

/// No run takes so long.
const LONGEST: Duration = Duration::from_secs(40);

/// The functions, and the error with which the system refuses each.
const CALLS: [(&str, i32); 13] = [
    ("malloc", libc::ENOMEM),
    ("mmap", libc::ENOMEM),
    ("mprotect", libc::ENOMEM),
    ("open", libc::EMFILE),
    ("read", libc::EIO),
    ("write", libc::ENOSPC),
    ("rename", libc::EACCES),
    ("mkdir", libc::EACCES),
    ("unlink", libc::EACCES),
    ("pthread_create", libc::EAGAIN),
    ("fork", libc::EAGAIN),
    ("pipe", libc::EMFILE),
    ("dlopen", 0),
];

/// The library that refuses.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = work_folder("faults").unwrap();
        let built = folder.join("fail.so");
        let prefix = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
        let mut command = Command::new(format!("{prefix}/bin/clang"));
        command
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&built)
            .arg(workspace().join("tests/faults/fail.c"));
        let outcome = run(&mut command, &folder).unwrap();
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        built
    })
}

/// Which call fails.
#[derive(Clone, Copy, Debug)]
struct Fault {
    call: &'static str,
    error: i32,
    /// From 1; 0 for none.
    at: u64,
    /// All later calls fail too.
    on: bool,
}

/// Something that runs under faults.
struct Subject<'a> {
    folder: &'a Path,
    /// The object whose calls count.
    module: &'a str,
    command: &'a dyn Fn() -> Command,
    /// What is wrong with an outcome.
    judge: &'a dyn Fn(&Outcome) -> Result<(), String>,
    /// How many calls of each function are tried.
    tried: u64,
}

impl Subject<'_> {
    /// Runs it, and returns how many calls there were.
    fn run(&self, fault: Fault) -> Result<u64, String> {
        let count = self.folder.join("count");
        std::fs::write(&count, [0; 8]).unwrap();
        let mut command = (self.command)();
        command
            .env("LD_PRELOAD", library())
            .env("FAIL_CALL", fault.call)
            .env("FAIL_AT", fault.at.to_string())
            .env("FAIL_ON", u8::from(fault.on).to_string())
            .env("FAIL_ERRNO", fault.error.to_string())
            .env("FAIL_MODULE", self.module)
            .env("FAIL_COUNT", &count)
            .current_dir(self.folder);
        let begun = Instant::now();
        let outcome = run(&mut command, self.folder)?;
        let wrong = |why: &str| Err(format!("{fault:?}: {why}: {outcome:?}"));
        if begun.elapsed() > LONGEST {
            return wrong("it took too long");
        }
        // Rust's own start, before `main`.
        if outcome.stderr.contains("alternative stack") {
            return Ok(0);
        }
        if outcome.stderr.contains("panicked at") || outcome.stderr.contains("internal error") {
            return wrong("it panicked");
        }
        let is_out_of_memory = fault.call == "malloc" && outcome.stderr.contains("memory allocation of");
        if fault.call == "write" && fault.on {
            // Nothing can be said.
            return if outcome.signal.is_none() { Ok(0) } else { wrong("a signal ended it") };
        }
        match outcome.signal {
            Some(libc::SIGABRT) if is_out_of_memory => {}
            Some(_) => return wrong("a signal ended it"),
            None => {
                if let Err(why) = (self.judge)(&outcome) {
                    return wrong(&why);
                }
            }
        }
        let bytes = std::fs::read(&count).unwrap();
        Ok(u64::from_ne_bytes(bytes.try_into().unwrap()))
    }

    /// Lets calls of each function fail, one at a time and from there on.
    fn sweep(&self) {
        let asked = std::env::var("GPURACE_FAULTS").ok();
        let most = match asked.as_deref() {
            Some("all") => u64::MAX,
            Some(number) => number.parse().expect("GPURACE_FAULTS is a number, or `all`"),
            None => self.tried,
        };
        let (mut wrong, mut runs) = (Vec::new(), 0);
        for (call, error) in CALLS {
            let none = Fault { call, error, at: 0, on: false };
            let calls = self.run(none).unwrap();
            for at in chosen(calls, most) {
                for on in [false, true] {
                    runs += 1;
                    wrong.extend(self.run(Fault { at, on, ..none }).err());
                }
            }
        }
        println!("{}: {runs} runs under faults", self.module);
        assert!(wrong.is_empty(), "{} of {runs} runs:\n{}", wrong.len(), wrong.join("\n\n"));
    }
}

/// Returns at most so many of the calls: the first ones, the last one, and some between.
fn chosen(calls: u64, most: u64) -> Vec<u64> {
    if calls <= most {
        return (1..=calls).collect();
    }
    let first = most.div_ceil(2);
    let rest = most - first;
    let mut all: Vec<u64> = (1..=first).collect();
    all.extend((1..=rest).map(|part| first + (calls - first) * part / rest));
    all
}

/// Builds `tests/faults/program.cu`.
fn program(name: &str, flags: &[&str]) -> PathBuf {
    let folder = work_folder(&format!("faults_{name}")).unwrap();
    let source = workspace().join("tests/faults/program.cu");
    let args = ["-fsanitize=gpurace", "-Wno-gpurace", source.to_str().unwrap(), "-o", "app"];
    compile(&[&args, flags].concat(), &folder).unwrap();
    folder
}

/// Runs a program, which writes JSON, with a proof cache that is empty at first.
fn checked(folder: &Path) -> Command {
    let _ = std::fs::remove_dir_all(folder.join("gpurace"));
    let _ = std::fs::remove_file(folder.join("r.json"));
    let mut command = Command::new(folder.join("app"));
    command.env("GPURACE_OPTIONS", "device=cpu:json=r.json").env("XDG_CACHE_HOME", folder);
    command
}

/// Returns the number of races in the JSON, if there is a whole one.
fn races(folder: &Path) -> Option<usize> {
    let text = std::fs::read_to_string(folder.join("r.json")).ok()?;
    Some(Report::parse(&text).ok()?.races.len())
}

fn says_why(outcome: &Outcome) -> bool {
    ["error:", "note:", "cannot", "failed"].iter().any(|word| outcome.stderr.contains(word))
}

#[test]
fn a_race_is_not_lost_without_a_word() {
    let folder = program("racy", &[]);
    let judge = |outcome: &Outcome| {
        let in_text = outcome.stderr.contains("WARNING: gpurace: data race");
        let in_json = races(&folder);
        match outcome.status {
            // The launch did not run, or was not checked.
            Some(0) if says_why(outcome) => Ok(()),
            Some(0) => Err("status 0 with a race".to_owned()),
            Some(66) if !in_text && in_json.is_none_or(|races| races == 0) => {
                Err("the race is lost".to_owned())
            }
            Some(66) if in_json.is_none() && !says_why(outcome) => Err("the JSON is lost".to_owned()),
            Some(66) => Ok(()),
            _ if says_why(outcome) => Ok(()),
            _ => Err("it failed without a word".to_owned()),
        }
    };
    let command = || checked(&folder);
    Subject { folder: &folder, module: "libgpurace_rt.so", command: &command, judge: &judge, tried: 3 }
        .sweep();
}

#[test]
fn a_launch_without_worker_threads_runs_all_the_same() {
    let folder = program("threads", &[]);
    let judge = |outcome: &Outcome| match (outcome.status, races(&folder)) {
        (Some(66), Some(1)) => Ok(()),
        _ => Err("the launch needs no other thread".to_owned()),
    };
    let command = || checked(&folder);
    let subject =
        Subject { folder: &folder, module: "libgpurace_rt.so", command: &command, judge: &judge, tried: 1 };
    subject.run(Fault { call: "pthread_create", error: libc::EAGAIN, at: 1, on: true }).unwrap();
}

#[test]
fn a_program_without_a_race_has_none_and_goes_on() {
    let folder = program("clean", &["-DFIXED"]);
    let judge = |outcome: &Outcome| {
        if outcome.stderr.contains("WARNING") || races(&folder).is_some_and(|races| races > 0) {
            return Err("a race that is none".to_owned());
        }
        match outcome.status {
            Some(0) if outcome.stdout != "done\n" => Err("its output is lost".to_owned()),
            Some(0) if races(&folder).is_none() && !says_why(outcome) => Err("the JSON is lost".to_owned()),
            Some(0) => Ok(()),
            _ if says_why(outcome) => Ok(()),
            _ => Err("it failed without a word".to_owned()),
        }
    };
    let command = || checked(&folder);
    Subject { folder: &folder, module: "libgpurace_rt.so", command: &command, judge: &judge, tried: 3 }
        .sweep();
}

#[test]
fn a_rendered_report_is_whole_or_refused() {
    let folder = program("tool", &[]);
    assert_eq!(run(checked(&folder).current_dir(&folder), &folder).unwrap().status, Some(66));
    let gpurace = tool("gpurace").unwrap();
    for output in ["-", "out.html"] {
        let render = || {
            let mut command = Command::new(&gpurace);
            command.args(["report", "r.json", "--format", "html", "-o", output]).current_dir(&folder);
            command
        };
        let whole = run(&mut render(), &folder).unwrap();
        let file = folder.join("out.html");
        let wanted = std::fs::read(&file).unwrap_or_default();
        let judge = |outcome: &Outcome| match outcome.status {
            Some(0)
                if outcome.stdout != whole.stdout || std::fs::read(&file).unwrap_or_default() != wanted =>
            {
                Err("status 0, and a part is missing".to_owned())
            }
            Some(0) => Ok(()),
            _ if says_why(outcome) => Ok(()),
            _ => Err("it failed without a word".to_owned()),
        };
        Subject { folder: &folder, module: "release/gpurace", command: &render, judge: &judge, tried: 4 }
            .sweep();
    }
}

#[test]
fn a_built_program_is_whole_or_refused() {
    let folder = work_folder("faults_gclang").unwrap();
    let gclang = tool("gclang++").unwrap();
    let build = || {
        let _ = std::fs::remove_file(folder.join("app.fatbin"));
        let mut command = Command::new(&gclang);
        let source = workspace().join("tests/faults/program.cu");
        command.args(["-fsanitize=gpurace", "-fgpurace-exec=cpu", "-Wno-gpurace", "--cuda-device-only"]);
        command.arg(source).args(["-o", "app.fatbin"]);
        command
    };
    let judge = |outcome: &Outcome| match outcome.status {
        Some(0) if !folder.join("app.fatbin").exists() => Err("status 0, and no output".to_owned()),
        Some(0) => Ok(()),
        _ if says_why(outcome) => Ok(()),
        _ => Err("it failed without a word".to_owned()),
    };
    Subject { folder: &folder, module: "release/gclang++", command: &build, judge: &judge, tried: 1 }.sweep();
}
