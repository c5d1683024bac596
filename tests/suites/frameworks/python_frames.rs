//! The call stack of a launch that comes from Python names the Python code.

use std::process::Command;

use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{compile, run, work_folder};
use libtest_mimic::Failed;

use super::{FLAGS, KERNELS};

/// Launches through a library: with the interpreter's lock and without it, from a thread, under a package of Python's,
/// and while other threads run Python code.
const PROGRAM: &str = r#"
import ctypes
import functools
import sys
import threading

kind, threaded = sys.argv[1:]
library = getattr(ctypes, kind)("./libkernels.so")


class Trainer:
    def step(self):
        return library.launch(1)

    def train(self):
        return functools.partial(self.step)()


def spin(stop):
    while not stop.is_set():
        sum(range(1000))


def main():
    stop = threading.Event()
    busy = [threading.Thread(target=spin, args=(stop,)) for _ in range(2)]
    for thread in busy:
        thread.start()
    if threaded == "thread":
        worker = threading.Thread(target=Trainer().train)
        worker.start()
        worker.join()
    else:
        Trainer().train()
    stop.set()


main()
"#;

fn line_of(text: &str) -> u32 {
    PROGRAM.lines().position(|line| line.contains(text)).map_or(0, |at| at as u32 + 1)
}

pub fn frames() -> Result<(), Failed> {
    let folder = work_folder("frameworks_python_frames")?;
    std::fs::write(folder.join("kernels.cu"), KERNELS)?;
    std::fs::write(folder.join("train.py"), PROGRAM)?;
    for (debug_info, native) in [("-gline-tables-only", true), ("-g0", false)] {
        let mut words = FLAGS.to_vec();
        words.extend([debug_info, "-fPIC", "-shared", "kernels.cu", "-o", "libkernels.so"]);
        compile(&words, &folder)?;
        for kind in ["CDLL", "PyDLL"] {
            for from in ["main", "thread"] {
                let mut command = Command::new("python3");
                command.args(["train.py", kind, from]).current_dir(&folder);
                command.env("GPURACE_OPTIONS", "device=cpu:json=report.json").env("XDG_CACHE_HOME", &folder);
                let ran = run(&mut command, &folder)?;
                assert_eq!(ran.status, Some(66), "{kind} {from}: {}{}", ran.stdout, ran.stderr);
                let report = Report::parse(&std::fs::read_to_string(folder.join("report.json"))?)?;
                let launch = report.races[0].launch.as_ref().ok_or("no launch")?;
                let stack: Vec<_> = launch
                    .stack
                    .iter()
                    .map(|call| (call.function.clone().unwrap_or_default(), call.file.clone(), call.line))
                    .collect();
                let named: Vec<_> = stack.iter().filter(|(_, file, _)| file.ends_with("train.py")).collect();
                let mut wanted =
                    vec![("step", "return library.launch(1)"), ("train", "functools.partial(self.step)()")];
                if from == "main" {
                    wanted.extend([("main", "Trainer().train()"), ("<module>", "main()")]);
                }
                assert_eq!(named.len(), wanted.len(), "{kind} {from}: {stack:?}");
                for ((function, _, line), (name, text)) in named.into_iter().zip(wanted) {
                    assert!(function.ends_with(name), "{kind} {from}: {stack:?}");
                    let at = PROGRAM.lines().nth(*line as usize - 1).unwrap_or_default();
                    assert!(at.contains(text), "{kind} {from}: line {line} is `{at}`, wanted `{text}`");
                }
                assert!(stack.iter().all(|(_, file, _)| !file.contains("threading")), "{stack:?}");
                let known = |file: &str| file.ends_with("train.py") || file.ends_with("kernels.cu");
                assert!(
                    stack.iter().all(|(_, file, _)| known(file)),
                    "the interpreter's calls are shown: {stack:?}"
                );
                let (file, line) = (launch.file.clone().unwrap_or_default(), launch.line);
                if native {
                    assert!(
                        file.ends_with("kernels.cu") && stack[0].1.ends_with("kernels.cu"),
                        "{file}: {stack:?}"
                    );
                } else {
                    assert!(file.ends_with("train.py"), "{file}");
                    assert_eq!(line, Some(line_of("return library.launch(1)")));
                }
            }
        }
    }
    Ok(())
}
