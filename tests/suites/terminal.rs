//! How far a long run is, on a terminal: it never mixes with the program's output, and an interrupted run is reported.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{compile, run, work_folder};

/// Begins a line, launches kernels that wait some milliseconds each, and ends the line. The kernels race.
const SOURCE: &str = r#"
#include <cstdio>
#include <cstdlib>
__global__ void wait(int *out, long long nanoseconds) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    out[t] = tile[63 - t];
    for (long long start = clock64(); clock64() - start < nanoseconds;) {
        __syncthreads();
        tile[t] += 1;
    }
}
int main(int, char **argv) {
    int *out;
    cudaMalloc(&out, 64 * sizeof(int));
    printf("begin ");
    fflush(stdout);
    for (int i = 0; i < atoi(argv[1]); ++i) wait<<<1, 1>>>(out, atoll(argv[2]) * 1000000);
    for (int i = 0; i < atoi(argv[1]); ++i) wait<<<1, 64>>>(out, 0);
    printf("end\n");
}
"#;

fn program() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let folder = work_folder("terminal").unwrap();
        std::fs::write(folder.join("wait.cu"), SOURCE).unwrap();
        compile(&["-fsanitize=gpurace", "-Wno-gpurace", "wait.cu", "-o", "wait"], &folder).unwrap();
        folder.join("wait")
    });
    built.clone()
}

/// A program on a terminal of its own.
struct OnTerminal {
    child: Child,
    terminal: File,
    said: String,
}

impl OnTerminal {
    fn start(args: &[&str], options: &str, term: &str) -> Self {
        let (mut ours, mut its) = (0, 0);
        let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: both descriptors are new, and owned by one value each.
        let (terminal, its) = unsafe {
            let opened =
                libc::openpty(&mut ours, &mut its, std::ptr::null_mut(), std::ptr::null(), &raw const size);
            assert_eq!(opened, 0);
            libc::fcntl(its, libc::F_SETFD, libc::FD_CLOEXEC);
            (File::from_raw_fd(ours), OwnedFd::from_raw_fd(its))
        };
        // Else a program of another test holds this terminal, too.
        // SAFETY: the descriptor is open.
        unsafe { libc::fcntl(ours, libc::F_SETFD, libc::FD_CLOEXEC) };
        let other = || its.try_clone().unwrap();
        let mut command = Command::new(program());
        command.args(args).env("GPURACE_OPTIONS", options).env("TERM", term).env("NO_COLOR", "1");
        command.stdin(other()).stdout(other()).stderr(other());
        // SAFETY: these calls may be made in a forked child.
        unsafe {
            command.pre_exec(|| {
                // The tests may run where Ctrl-C is ignored, as in the background of a shell.
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        Self { child: command.spawn().unwrap(), terminal, said: String::new() }
    }

    /// Reads until `enough` of what was said. False at the end of the output.
    fn read_until(&mut self, enough: impl Fn(&str) -> bool) -> bool {
        let end = Instant::now() + Duration::from_secs(100);
        let mut buffer = [0; 4096];
        while !enough(&self.said) {
            assert!(Instant::now() < end, "{:?}", self.said);
            // A terminal without a program on it gives an error.
            let Ok(n @ 1..) = self.terminal.read(&mut buffer) else { return false };
            self.said += &String::from_utf8_lossy(&buffer[..n]);
        }
        true
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // A test that fails leaves no program behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const DRAWN: &str = "\x1bD\x1bM\x1b7\x1bD\r\x1b[2K";
const ERASED: &str = "\x1b[J";

/// What a terminal shows in the end: without lines that were drawn below the cursor and erased. Fails if something is
/// written while such a line is there.
fn shown(said: &str) -> String {
    let mut shown = String::new();
    let mut drawn = false;
    let mut rest = said;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(DRAWN) {
            rest = after.split_once("\x1b8").unwrap_or_else(|| panic!("half a line in {said:?}")).1;
            drawn = true;
        } else if let Some(after) = rest.strip_prefix(ERASED) {
            (rest, drawn) = (after, false);
        } else {
            let first = rest.chars().next().unwrap_or_default();
            // The terminal itself shows the interruption.
            assert!(
                !drawn || rest.starts_with("^C") || shown.ends_with('^'),
                "{first:?} over a line in {said:?}"
            );
            shown.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    assert!(!drawn, "a line is left in {said:?}");
    shown
}

#[test]
fn a_long_kernel_has_a_line_and_ctrl_c_ends_with_the_whole_report() {
    let folder = work_folder("interrupted").unwrap();
    let json = folder.join("report.json");
    let options = format!("device=cpu:json={}", json.display());
    let mut run = OnTerminal::start(&["1", "600000"], &options, "xterm");
    assert!(run.read_until(|said| said.matches(DRAWN).count() >= 3), "{:?}", run.said);
    assert!(run.said.contains(" s, 1 launch, "), "{:?}", run.said);
    // What the terminal sends for Ctrl-C.
    std::io::Write::write_all(&mut &run.terminal, b"\x03").unwrap();
    run.read_until(|_| false);
    assert_eq!(run.child.wait().unwrap().signal(), Some(libc::SIGINT), "{:?}", run.said);
    let shown = shown(&run.said);
    assert!(shown.starts_with("begin ^C"), "{shown:?}");
    assert!(!shown.contains("launch, "), "{shown:?}");
    let report = Report::parse(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(report.stats.launches, 1);
}

#[test]
fn the_line_goes_before_the_program_and_the_report_write() {
    let mut run = OnTerminal::start(&["1", "4200"], "device=cpu", "xterm");
    run.read_until(|_| false);
    assert_eq!(run.child.wait().unwrap().code(), Some(66), "{:?}", run.said);
    assert!(run.said.contains(DRAWN), "{:?}", run.said);
    let shown = shown(&run.said);
    assert!(shown.starts_with("begin ==================\r\nWARNING: gpurace: data race"), "{shown:?}");
    assert!(shown.contains("\r\nend\r\n"), "{shown:?}");
    assert!(shown.ends_with("SUMMARY: gpurace: 1 data race\r\n"), "{shown:?}");
}

#[test]
fn short_kernels_have_whole_lines_now_and_then() {
    let mut run = OnTerminal::start(&["225", "20"], "device=cpu", "xterm");
    run.read_until(|_| false);
    assert!(!run.said.contains('\x1b'), "{:?}", run.said);
    let lines: Vec<_> =
        run.said.lines().filter(|line| line.contains("gpurace: ") && line.contains(" launches, ")).collect();
    assert_eq!(lines.len(), 1, "{:?}", run.said);
}

#[test]
fn nothing_is_shown_where_nobody_looks() {
    for (options, term) in [("progress=0", "xterm"), ("", "dumb")] {
        let mut run = OnTerminal::start(&["1", "4200"], &format!("device=cpu:{options}"), term);
        run.read_until(|_| false);
        assert!(!run.said.contains(DRAWN) && !run.said.contains("launch, "), "{:?}", run.said);
    }
    let folder = work_folder("no_terminal").unwrap();
    for (options, lines) in [("", 0), ("progress=1", 1)] {
        let mut command = Command::new(program());
        command.args(["1", "4200"]).env("GPURACE_OPTIONS", format!("device=cpu:{options}"));
        let outcome = self::run(&mut command, &folder).unwrap();
        assert_eq!(outcome.stderr.matches(" s, 1 launch, ").count(), lines, "{}", outcome.stderr);
        assert!(!outcome.stderr.contains('\x1b'), "{}", outcome.stderr);
    }
}
