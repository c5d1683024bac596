//! The pages of docs/: each page is in the table of contents, each link leads somewhere, and the
//! tutorial shows what the tools print.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpurace_tests::toolchain::{run, tool, work_folder, workspace};

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the names of the pages of docs/.
fn pages() -> BTreeSet<String> {
    let entries = std::fs::read_dir(workspace().join("docs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md").collect()
}

/// Returns a text without code blocks and code spans, which hold no links.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut out = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            out.extend(line.split('`').step_by(2));
            out.push('\n');
        }
    }
    out
}

/// Returns the targets of all links `[text](target)`.
fn links(text: &str) -> Vec<String> {
    let text = prose(text);
    let ends = text.match_indices("](").map(|(at, _)| &text[at + 2..]);
    ends.map(|rest| rest[..rest.find(')').expect("a link that ends")].to_owned()).collect()
}

/// Returns the anchor that GitHub and mdBook make of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let letters = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    letters.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns why a link of `page` leads nowhere; `None` if it leads somewhere.
fn broken(page: &Path, link: &str) -> Option<String> {
    if link.starts_with("https://") {
        return None;
    }
    let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
    let target: PathBuf = match file {
        "" => page.to_owned(),
        file => page.parent().unwrap().join(file),
    };
    if !target.exists() {
        return Some(format!("{}: `{link}` is not there", page.display()));
    }
    let has_anchor = || read(&target).lines().any(|line| line.starts_with('#') && anchor(line) == fragment);
    (!fragment.is_empty() && !has_anchor()).then(|| format!("{}: no heading for `{link}`", page.display()))
}

#[test]
fn each_page_is_in_the_book_once() {
    let listed = links(&read(&workspace().join("docs/SUMMARY.md")));
    let unique: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), unique.len(), "a page is listed twice: {listed:?}");
    assert_eq!(unique, pages());
    assert!(read(&workspace().join("docs/book.toml")).contains("src = \".\""));
}

#[test]
fn each_link_leads_somewhere() {
    let root = workspace();
    let mut files: Vec<PathBuf> = pages().iter().map(|name| root.join("docs").join(name)).collect();
    files.extend(["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root.join(name)));
    let wrong: Vec<String> = files
        .iter()
        .flat_map(|file| links(&read(file)).into_iter().filter_map(|link| broken(file, &link)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let found: usize = files.iter().map(|file| links(&read(file)).len()).sum();
    assert!(found > 40, "only {found} links were found");
}

#[test]
fn broken_links_are_noticed() {
    let page = workspace().join("docs/faq.md");
    assert!(broken(&page, "nowhere.md").is_some());
    assert!(broken(&page, "reports.md#no-such-heading").is_some());
    assert!(broken(&page, "reports.md#known-races").is_none());
    assert_eq!(links("a [b](c.md) `[d](e.md)`\n```\n[f](g.md)\n```\n"), ["c.md"]);
}

/// What the commands of the tutorial print.
fn tutorial_output() -> String {
    let folder = work_folder("book_tutorial").unwrap();
    std::fs::copy(workspace().join("examples/reduction/reduction.cu"), folder.join("reduction.cu")).unwrap();
    let say = |program: PathBuf, args: &[&str], options: &str| {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&folder)
            .env("GPURACE_OPTIONS", options)
            .env("XDG_CACHE_HOME", &folder);
        let outcome = run(&mut command, &folder).unwrap();
        outcome.stdout + &outcome.stderr
    };
    let (gclang, gpurace) = (tool("gclang++").unwrap(), tool("gpurace").unwrap());
    let app = folder.join("reduction");
    let mut said = say(gclang.clone(), &["-fsanitize=gpurace", "reduction.cu", "-o", "reduction"], "");
    said += &say(app.clone(), &[], "json=race.json");
    said += &say(gpurace.clone(), &["report", "race.json", "--format", "short"], "");
    said += &say(gpurace, &["explain", "reduction.cu"], "");
    said += &say(gclang, &["-fsanitize=gpurace", "-DFIXED", "reduction.cu", "-o", "reduction"], "");
    said + &say(app, &[], "stats=1")
}

#[test]
fn the_tutorial_shows_what_the_tools_print() {
    let page = read(&workspace().join("docs/tutorial.md"));
    let said = tutorial_output();
    let mut shown = 0;
    for block in page.split("```text\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            assert!(said.lines().any(|real| real == line), "nothing printed `{line}`:\n{said}");
            shown += 1;
        }
    }
    assert!(shown > 10, "only {shown} lines are shown");
}

/// Adds the files below a folder, but for build outputs.
fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            found.push(path);
        } else if !path.ends_with("target") && !path.ends_with(".git") {
            files_below(&path, found);
        }
    }
}

/// Code spans of a page: what stands between backticks.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[test]
fn soundness_pages_name_tests_that_exist() {
    let page =
        ["docs/soundness.md", "docs/gpu-soundness.md"].map(|page| read(&workspace().join(page))).join("\n");
    let mut files = Vec::new();
    files_below(&workspace(), &mut files);
    let sources: Vec<String> = files
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "rs" || e == "cu"))
        .map(|path| read(path))
        .collect();
    // `race/name` is a program at any depth below `tests/programs/race`; `*` stands for any ending.
    let is_program = |folder: &str, name: &str| {
        files.iter().filter(|path| path.starts_with(workspace().join("tests/programs").join(folder))).any(
            |path| {
                let stem = path.file_stem().unwrap().to_string_lossy();
                name.strip_suffix('*').map_or(stem == name, |start| stem.starts_with(start))
            },
        )
    };
    let (mut programs, mut tests) = (0, 0);
    for span in code_spans(&page) {
        let program = span.split_once('/').filter(|(folder, name)| {
            ["race", "clean", "exec", "error"].contains(folder) && !name.is_empty() && *name != "NAME"
        });
        if let Some((folder, name)) = program {
            assert!(is_program(folder, name), "soundness pages name `{span}`, which is not there");
            programs += 1;
        } else if span.matches('_').count() >= 2
            && !span.starts_with('_')
            && span.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        {
            let named = sources.iter().any(|text| text.contains(span));
            assert!(
                span == "what_it_shows" || named,
                "nothing is called `{span}`, which soundness pages name"
            );
            tests += 1;
        }
    }
    assert!(programs > 100 && tests > 30, "only {programs} programs and {tests} tests were found");
}
