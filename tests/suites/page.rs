//! The HTML page in a browser: it shows everything, its filters work, it fits a phone, it has a dark
//! form, and axe finds no fault of accessibility.
//!
//! The tests need a headless Chromium in the path or in `GPURACE_CHROMIUM`. One test needs axe-core,
//! named by `GPURACE_AXE`. Without them the tests are skipped and counted. `scripts/setup
//! --for-all-tests` installs both.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use gpurace_tests::toolchain::{run, tool, work_folder, workspace};
use libtest_mimic::{Arguments, Failed, Trial};

const DESKTOP: &[&str] = &["--window-size=1200,1600"];
/// WCAG 2.2 takes 320 pixels for the width of a phone (success criterion 1.4.10).
const PHONE: &[&str] = &["--window-size=320,1600"];
const DARK: &str = "--blink-settings=preferredColorScheme=0";

/// The source of the program in the report.
const SOURCE: &str = "\
// line 1
__global__ void f(int *p) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  /* größe */ tile[t] = p[t] & 3; // a line that is much longer than any phone is wide, and scrolls
  p[t] = tile[t ^ 1];
  if (t < 32) __syncthreads();
}
";

type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let (browser, axe) = (browser(), axe());
    let tests: [(&str, bool, Test); 5] = [
        ("nothing_goes_wrong_and_everything_is_shown", false, everything_is_shown),
        ("filters_hide_and_show", false, filters_hide_and_show),
        ("a_phone_needs_no_sideways_scrolling", false, a_phone_is_wide_enough),
        ("pictures_stay_in_their_frames", false, pictures_stay_in_their_frames),
        ("axe_finds_no_barrier", true, axe_finds_no_barrier),
    ];
    let trials = tests.map(|(name, needs_axe, test)| {
        let missing = browser.is_none() || (needs_axe && axe.is_none());
        Trial::test(name, test).with_ignored_flag(missing)
    });
    libtest_mimic::run(&args, trials.into()).exit_code()
}

fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("GPURACE_CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium-headless-shell", "chromium", "google-chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|file| file.is_file())
}

fn axe() -> Option<PathBuf> {
    let own = || workspace().join(".cache/axe-core/axe.min.js");
    let file = std::env::var_os("GPURACE_AXE").map_or_else(own, PathBuf::from);
    file.is_file().then_some(file)
}

/// Writes the page of a report that has one finding of each kind.
fn page(folder: &Path) -> Result<String, Failed> {
    std::fs::create_dir_all(folder.join("a b"))?;
    std::fs::write(folder.join("a b/k.cu"), SOURCE)?;
    let report = workspace().join("runtime/render/src/tests/everything.json");
    let mut command = Command::new(tool("gpurace")?);
    command.arg("report").arg(report).args(["-f", "html", "-o", "page.html"]);
    let outcome = run(command.current_dir(folder), folder)?;
    if outcome.status != Some(0) {
        return Err(outcome.stderr.into());
    }
    Ok(std::fs::read_to_string(folder.join("page.html"))?)
}

/// Returns the value that `script` leaves in `result` after the page was loaded. The value is text
/// without quotes, `<` and `&`.
fn ask(name: &str, args: &[&str], script: &str) -> Result<String, Failed> {
    let folder = work_folder(&format!("page_{name}"))?;
    let page = page(&folder)?;
    let script = format!(
        "<script>addEventListener('load', async () => {{ let result = ''; {script}\n\
         document.body.dataset.result = result; }});</script></body>"
    );
    let asked = page.replace("</body>", &script);
    assert_ne!(asked, page);
    std::fs::write(folder.join("asked.html"), asked)?;
    let mut command = Command::new(browser().ok_or("no browser")?);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(args)
        .arg(format!("file://{}", folder.join("asked.html").display()))
        .current_dir(&folder);
    let outcome = run(&mut command, &folder)?;
    if let Some(line) = outcome.stderr.lines().find(|line| line.contains(":CONSOLE")) {
        return Err(format!("the page complained: {line}").into());
    }
    let (_, rest) = outcome
        .stdout
        .split_once("data-result=\"")
        .ok_or_else(|| format!("no result: {}", outcome.stderr))?;
    Ok(rest.split('"').next().unwrap_or_default().to_owned())
}

fn equal(found: &str, wanted: &str) -> Result<(), Failed> {
    if found == wanted { Ok(()) } else { Err(format!("found `{found}`, wanted `{wanted}`").into()) }
}

fn everything_is_shown() -> Result<(), Failed> {
    let script = "
        const seen = (e) => e.getClientRects().length > 0;
        const all = (s) => [...document.querySelectorAll(s)].filter(seen).length;
        result = [all('article'), all('tbody tr'), all('mark'), all('svg'), all('#filters'),
          performance.getEntriesByType('resource').length].join(' ');";
    // There are six races and a divergence; rows for these, for a kernel, and for two accesses that never ran; and no
    // external resource.
    let found = ask("shown", DESKTOP, script)?;
    let parts: Vec<&str> = found.split(' ').collect();
    equal(&[parts[0], parts[1], parts[4], parts[5]].join(" "), "7 10 1 0")?;
    let (marks, pictures) = (parts[2].parse::<u32>()?, parts[3].parse::<u32>()?);
    assert!(marks >= 8 && pictures >= 12, "{found}");
    Ok(())
}

fn filters_hide_and_show() -> Result<(), Failed> {
    let script = "
        const input = (id, value) => { const e = document.getElementById(id); e.value = value;
          e.dispatchEvent(new Event('input', { bubbles: true })); };
        const shown = () => [...document.querySelectorAll('article')].filter((a) => !a.hidden)
          .map((a) => a.id).join('+') + ':' + [...document.querySelectorAll('tr[data-for]')].filter((r) => !r.hidden).length;
        const steps = [];
        input('filter-kind', 'unordered operations'); steps.push(shown());
        input('filter-kernel', 'g'); steps.push(shown());
        document.querySelector('form button').click(); await new Promise((r) => setTimeout(r, 20)); steps.push(shown());
        input('filter-text', 'COUNTER_'); steps.push(shown());
        input('filter-text', 'nowhere'); steps.push(shown());
        input('filter-text', ''); input('filter-kind', 'divergence'); steps.push(shown());
        steps.push(document.getElementById('shown').textContent);
        result = steps.join(' ');";
    // The articles stand by kernel, so the one of another kernel comes last.
    equal(
        &ask("filters", DESKTOP, script)?,
        "F3+F5:2 F5:1 F1+F2+F3+F4+F6+F5+divergence-1:7 F3:1 :0 divergence-1:1 1 of 7 shown",
    )
}

fn a_phone_is_wide_enough() -> Result<(), Failed> {
    let script = "
        const wide = [...document.querySelectorAll('body *')].filter((e) => !e.closest('.scroll, pre, svg, .skip, .unseen')
          && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName);
        result = [innerWidth, document.documentElement.scrollWidth <= innerWidth, wide.join('+')].join(' ');";
    equal(&ask("phone", PHONE, script)?, "320 true ")
}

fn pictures_stay_in_their_frames() -> Result<(), Failed> {
    // Each picture draws inside of its view box, and its texts do not overlap.
    let script = "
        const out = [];
        for (const svg of document.querySelectorAll('svg')) {
          const view = svg.viewBox.baseVal;
          for (const e of svg.querySelectorAll('*')) {
            const b = e.getBBox();
            if (b.x < -0.5 || b.y < -0.5 || b.x + b.width > view.width + 0.5 || b.y + b.height > view.height + 0.5)
              out.push(`${svg.closest('article').id}/${e.tagName}:${[b.x, b.y, b.width, b.height].map(Math.round)}`);
          }
          const texts = [...svg.querySelectorAll('text')].map((e) => e.getBBox());
          texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
            if (a.x + 1 < b.x + b.width && b.x + 1 < a.x + a.width && a.y + 2 < b.y + b.height && b.y + 2 < a.y + a.height)
              out.push(`${svg.closest('article').id}: texts overlap at ${[a.x, a.y].map(Math.round)}`);
          }));
        }
        result = out.join('; ');";
    equal(&ask("pictures", DESKTOP, script)?, "")
}

fn axe_finds_no_barrier() -> Result<(), Failed> {
    let axe = std::fs::read_to_string(axe().ok_or("no axe-core")?)?;
    let script = format!(
        "{axe}
        const found = await axe.run(document);
        const back = getComputedStyle(document.body).backgroundColor;
        result = back + ' ' + (found.passes.length > 20) + ' '
          + found.violations.map((v) => v.id + '*' + v.nodes.length).join('+');"
    );
    for (name, args, wanted) in [
        ("axe_light", DESKTOP.to_vec(), "rgb(255, 255, 255) true "),
        ("axe_dark", [DESKTOP, &[DARK]].concat(), "rgb(13, 17, 23) true "),
        ("axe_phone", [PHONE, &[DARK]].concat(), "rgb(13, 17, 23) true "),
    ] {
        equal(&ask(name, &args, &script)?, wanted)?;
    }
    Ok(())
}
