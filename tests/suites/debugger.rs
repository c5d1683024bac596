//! The session of docs/debugger.md, and what else gdb shows of device code. Skipped without gdb.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use gpurace_tests::toolchain::{compile, programs, run, tool, work_folder, workspace};
use libtest_mimic::{Arguments, Failed, Trial};
use regex::Regex;

type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let gdb = Command::new("gdb").arg("--version").output().is_ok_and(|output| output.status.success());
    let tests: [(&str, Test, bool); 6] = [
        ("the_page_shows_what_gdb_prints", the_page, gdb),
        ("device_code_can_be_stepped", stepping, gdb),
        ("a_switch_to_a_thread_does_not_change_the_run", switching, gdb),
        ("wrong_commands_say_what_is_wrong", wrong_commands, gdb),
        ("debug_info_changes_no_verdict", same_verdicts, true),
        ("without_a_debugger_the_program_ends_at_its_first_race", no_debugger, true),
    ];
    let trials = tests.map(|(name, test, can)| Trial::test(name, test).with_ignored_flag(!can));
    libtest_mimic::run(&args, trials.into()).exit_code()
}

fn page() -> String {
    std::fs::read_to_string(workspace().join("docs/debugger.md")).unwrap_or_default()
}

/// The first block of the page in this language.
fn block<'a>(page: &'a str, language: &str) -> Result<&'a str, Failed> {
    let begin = format!("```{language}\n");
    let (_, rest) = page.split_once(&begin).ok_or("no such block")?;
    Ok(rest.split_once("```").ok_or("the block does not end")?.0)
}

/// Builds the program of the page in a folder.
fn build(name: &str, flags: &[&str]) -> Result<(PathBuf, PathBuf), Failed> {
    let folder = work_folder(name)?;
    std::fs::write(folder.join("mirror.cu"), block(&page(), "cuda")?)?;
    let mut words = vec!["-fsanitize=gpurace", "-Wno-gpurace", "mirror.cu", "-o", "mirror"];
    words.extend(flags);
    compile(&words, &folder)?;
    Ok((folder.join("mirror"), folder))
}

/// What gdb prints for these commands, each after its prompt.
fn gdb(program: &Path, folder: &Path, commands: &[&str]) -> Result<String, Failed> {
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" 2>&1"]).arg(tool("gpurace")?);
    command.args(["gdb", "-nx", "-batch", "-ex", "set pagination off", "-ex", "set breakpoint pending on"]);
    for asked in commands {
        command.arg("-ex").arg(format!("echo (gdb) {asked}\\n")).arg("-ex").arg(asked);
    }
    command.arg("--args").arg(program).current_dir(folder).env("XDG_CACHE_HOME", folder);
    command.env_remove("GPURACE_OPTIONS").env("DEBUGINFOD_URLS", "");
    Ok(run(&mut command, folder)?.stdout)
}

/// The lines that do not depend on the machine, without addresses and numbers of processes and stack frames.
fn plain(text: &str) -> Result<Vec<String>, Failed> {
    let noise = Regex::new(r"^(\[New|\[Thread (0x|debug)|\[Inferior|Using host|warning:|$)")?;
    let names =
        [(r"0x[0-9a-f]+", "ADDRESS"), (r"pid=\d+", "pid=N"), (r"^#\d+ +", "#N "), (r"from /\S*/", "from ")];
    let names: Vec<_> = names
        .iter()
        .map(|(what, name)| Ok((Regex::new(what)?, *name)))
        .collect::<Result<_, regex::Error>>()?;
    let lines = text.lines().filter(|line| !noise.is_match(line));
    Ok(lines
        .map(|line| {
            names.iter().fold(line.trim_end().to_owned(), |line, (what, name)| {
                what.replace_all(&line, *name).into_owned()
            })
        })
        .collect())
}

fn expect(text: &str, wanted: &[&str]) -> Result<(), Failed> {
    let mut rest = text;
    for line in wanted {
        rest = rest
            .split_once(line)
            .ok_or_else(|| format!("`{line}` is not there, or not in this order:\n{text}"))?
            .1;
    }
    Ok(())
}

fn the_page() -> Result<(), Failed> {
    let (program, folder) = build("debugger_page", &["-g"])?;
    let page = page();
    let transcript = block(&page, "console")?;
    let commands: Vec<_> = transcript.lines().filter_map(|line| line.strip_prefix("(gdb) ")).collect();
    assert!(commands.len() > 7, "only {} commands are shown", commands.len());
    let said = gdb(&program, &folder, &commands)?;
    let (said_lines, wanted) = (plain(&said)?, plain(transcript)?);
    let mut real = said_lines.iter();
    let mut may_skip = false;
    for line in &wanted {
        if line == "..." {
            may_skip = true;
            continue;
        }
        let found = if may_skip { real.any(|real| real == line) } else { real.next() == Some(line) };
        assert!(found, "`{line}` is not there:\n{said}");
        may_skip = false;
    }
    Ok(())
}

fn stepping() -> Result<(), Failed> {
    let (program, folder) = build("debugger_stepping", &["-g", "-O0"])?;
    let commands = [
        "break mirror",
        "run",
        "next",
        "next",
        "bt",
        "print n",
        "info cuda threads",
        "delete",
        "tbreak mirror.cu:8",
        "continue",
        "continue",
        "gpurace thread",
    ];
    expect(
        &gdb(&program, &folder, &commands)?,
        &[
            "(gdb) run",
            "mirror (out=0x",
            "(gdb) bt",
            "mirror(int*, int) (out=0x",
            "(gdb) print n\n$1 = 3\n",
            "*",
            "(0,0,0)    (0,0,0)                      1  running, mirror at mirror.cu:",
            "(1,0,0) to (63,0,0)",
            "not started",
            "hit Temporary breakpoint",
            "mirror.cu:8",
            "SIGTRAP",
            "mirror.cu:5",
            "(gdb) gpurace thread\n[thread (",
        ],
    )
}

/// The program counts on after the switch, and its result is that of a run without one.
fn switching() -> Result<(), Failed> {
    let (program, folder) = build("debugger_switching", &["-g"])?;
    let commands =
        ["run", "gpurace thread 5", "gpurace thread 0 31", "print ((int*)$shared_memory())[31]", "continue"];
    let said = gdb(&program, &folder, &commands)?;
    expect(
        &said,
        &[
            "SIGTRAP",
            "[thread (5,0,0) of block (0,0,0), launch 1: at a barrier]",
            "mirror.cu:7",
            "[thread (31,0,0)",
            "$1 = 93",
            "SUMMARY: gpurace: 1 data race",
        ],
    )
}

fn wrong_commands() -> Result<(), Failed> {
    let (program, folder) = build("debugger_wrong", &["-g"])?;
    for (command, wanted) in [
        ("gpurace thread 64", "block (0,0,0) has no thread (64,0,0) now"),
        ("gpurace thread 1 0", "block (1,0,0) has no thread (0,0,0) now"),
        ("gpurace thread 40", "thread (40,0,0) of block (0,0,0): not started"),
        ("gpurace thread one", "`one` is no index: wanted `x`, `x,y` or `x,y,z`"),
        ("gpurace thread 1 2 3", "wanted: gpurace thread [BLOCK] THREAD"),
    ] {
        expect(&gdb(&program, &folder, &["run", command])?, &[wanted])?;
    }
    expect(&gdb(&program, &folder, &["info cuda threads"])?, &["no program of gpurace runs"])
}

/// The verdicts on programs with all debug info are those with lines alone.
fn same_verdicts() -> Result<(), Failed> {
    let folder = work_folder("debugger_verdicts")?;
    let mut sources: Vec<_> = std::fs::read_dir(programs().join("clean"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
        .collect();
    sources.sort();
    let mut compared = 0;
    for source in sources.iter().step_by(8) {
        let facts = |debug_info: &str| {
            let file = format!("-fgpurace-facts={}", folder.join(debug_info).display());
            let source = source.to_string_lossy();
            let words =
                [debug_info, &file, "-w", "-fsanitize=gpurace", "-std=c++17", "-c", &source, "-o", "out.o"];
            compile(&words, &folder).ok()?;
            std::fs::read_to_string(folder.join(debug_info)).ok()
        };
        let lines = facts("-gline-tables-only");
        assert_eq!(facts("-g"), lines, "{}", source.display());
        compared += u32::from(lines.is_some());
    }
    assert!(compared > 5, "only {compared} programs were compared");
    Ok(())
}

fn no_debugger() -> Result<(), Failed> {
    let (program, folder) = build("debugger_none", &[])?;
    let mut command = Command::new(program);
    command.env("GPURACE_OPTIONS", "device=cpu:halt_on_error=break").env("XDG_CACHE_HOME", &folder);
    let outcome = run(&mut command, &folder)?;
    assert_eq!((outcome.status, outcome.signal), (Some(66), None), "{}", outcome.stderr);
    expect(
        &outcome.stderr,
        &["WARNING: gpurace: data race", "no debugger is attached", "SUMMARY: gpurace: 1 data race"],
    )
}
