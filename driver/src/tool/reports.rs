//! `gpurace report` and `gpurace merge`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use gpurace_render::{github, gitlab, html, markdown, sarif};
use gpurace_report::baseline;
use gpurace_report::coverage;
use gpurace_report::merge::Merger;
use gpurace_report::schema::Report;
use gpurace_report::sources::{DiskSources, FirstOf, NoSources, Sources, StoredSources};
use gpurace_report::text::TextRenderer;
use gpurace_report::words::plural;

use super::{Done, FOUND};
use crate::diagnostic::{Error, note, write_file};

/// The output format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The text that the program printed
    Text,
    /// One line for each finding
    Short,
    /// The machine-readable report
    Json,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
    /// Markdown for a comment on a pull request
    Markdown,
    /// One self-contained page
    Html,
    /// Annotations of GitHub Actions, for the log of a job
    Github,
    /// A code quality report of GitLab, for `artifacts: reports: codequality`
    Gitlab,
    /// The coverage of source lines, as lcov and genhtml read it
    Lcov,
}

impl Format {
    /// Returns the format that belongs to the file's extension.
    pub(super) fn of_file(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()? {
            "txt" | "log" => Self::Text,
            "json" => Self::Json,
            "sarif" => Self::Sarif,
            "md" | "markdown" => Self::Markdown,
            "html" | "htm" => Self::Html,
            "info" | "lcov" => Self::Lcov,
            _ => return None,
        })
    }
}

/// Arguments of `gpurace report`.
#[derive(Args)]
pub struct ReportArgs {
    /// Reports that programs wrote (`GPURACE_OPTIONS=json=FILE`); `-` is standard input. Several
    /// reports are joined first, as `gpurace merge` does
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The output format [default: the one that the extension of the output file names, else text]
    #[arg(long, short, value_enum)]
    format: Option<Format>,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave out the findings of this older report; exit with status 66 if any finding is new
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Look for source files with relative names in this folder
    #[arg(long, value_name = "DIR")]
    source_dir: Vec<PathBuf>,
    /// Show no source lines and no diffs, and leave them out of JSON
    #[arg(long, conflicts_with = "source_dir")]
    no_source: bool,
    /// Add statistics to the text
    #[arg(long)]
    stats: bool,
    /// List the accesses that never ran, instead of the findings
    #[arg(long, conflicts_with_all = ["baseline", "stats"])]
    coverage: bool,
}

/// Arguments of `gpurace merge`.
#[derive(Args)]
pub struct MergeArgs {
    /// The reports to join
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the joined report to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Renders reports.
///
/// # Errors
/// A file cannot be read or written, or is not a report.
pub fn report(args: &ReportArgs) -> Result<Done, Error> {
    let mut report = read_all(&args.files)?;
    let mut status = ExitCode::SUCCESS;
    if let Some(path) = &args.baseline {
        let (new, known) = baseline::new_findings(report, &read(path)?);
        report = new;
        if known > 0 {
            let known = plural(known, "finding is", "findings are");
            report.notes.push(format!("{known} in the baseline `{}` and not shown", path.display()));
        }
        if report.has_findings() {
            status = FOUND.into();
        }
    }
    if args.no_source {
        report.sources.clear();
        report.findings.iter_mut().for_each(|finding| finding.fix.diff = None);
    }
    let named = args.output.as_deref().and_then(Format::of_file);
    let format = args.format.or(named).unwrap_or(Format::Text);
    if args.coverage && !matches!(format, Format::Text | Format::Lcov) {
        let error = Error::new("coverage is written as text or lcov, not in another format");
        return Err(error.hint("use `--format text` or `--format lcov`; the HTML page has the coverage too"));
    }
    if (args.coverage || format == Format::Lcov) && report.coverage.is_empty() {
        let error = Error::new("the report has no coverage");
        return Err(error.hint("reports of programs that ran on a GPU and of older versions have none"));
    }
    if args.coverage && format == Format::Text {
        return Ok(Done { text: deliver(coverage::text(&report), args.output.as_deref())?, status });
    }
    let color = args.output.is_none() && std::io::stdout().is_terminal();
    let names: Vec<String> = args.files.iter().map(|path| origin(path)).collect();
    let style = Style {
        format,
        color,
        stats: args.stats,
        no_source: args.no_source,
        name: &names.join(", "),
        nothing: if args.baseline.is_some() { "no new findings" } else { "no races were reported" },
    };
    let text = render(&report, style, &args.source_dir);
    Ok(Done { text: deliver(text, args.output.as_deref())?, status })
}

/// Joins reports.
///
/// # Errors
/// A file cannot be read or written, or is not a report.
pub fn merge(args: &MergeArgs) -> Result<Done, Error> {
    let text = read_all(&args.files)?.to_json();
    Ok(Done::success(deliver(text, args.output.as_deref())?))
}

/// How a report is rendered.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// The output format.
    pub format: Format,
    /// True if text is coloured.
    pub color: bool,
    /// True if text includes statistics.
    pub stats: bool,
    /// True if no source line is shown.
    pub no_source: bool,
    /// The name of the report in the title of a page.
    pub name: &'a str,
    /// The text for a report without findings.
    pub nothing: &'a str,
}

/// Renders a report, with source lines from files in `source_dirs`.
pub fn render(report: &Report, style: Style<'_>, source_dirs: &[PathBuf]) -> String {
    let stored = StoredSources::new(report);
    let current = std::env::current_dir().ok();
    // Folders that the user names have newer files than the report.
    let on_disk = DiskSources::below(source_dirs.iter().cloned().chain(current.clone()));
    let all =
        if source_dirs.is_empty() { FirstOf([&stored, &on_disk]) } else { FirstOf([&on_disk, &stored]) };
    let sources: &dyn Sources = if style.no_source { &NoSources } else { &all };
    let renderer = TextRenderer { pid: report.run.as_ref().map(|run| run.pid), color: style.color, sources };
    let version = env!("CARGO_PKG_VERSION");
    let or_none = |text: String| {
        if report.has_findings() { text } else { text + style.nothing + "\n" }
    };
    match style.format {
        Format::Text => or_none(renderer.report(report, style.stats)),
        Format::Short => or_none(renderer.short(report)),
        Format::Json => report.to_json(),
        Format::Lcov => coverage::lcov(report),
        Format::Sarif => sarif::Renderer { version, root: current.as_deref(), sources }.render(report),
        Format::Markdown => markdown::render(report, sources),
        Format::Github => or_none(github::render(report, root_of("GITHUB_WORKSPACE").as_deref())),
        Format::Gitlab => gitlab::render(report, root_of("CI_PROJECT_DIR").as_deref()),
        Format::Html => html::render(report, style.name, version, sources),
    }
}

/// Returns the root of the checkout, which a CI's runner names in a variable.
fn root_of(variable: &str) -> Option<PathBuf> {
    // An empty name would be no root, but every file is below it.
    std::env::var_os(variable).filter(|root| !root.is_empty()).map(PathBuf::from)
}

/// Writes the text to the file if there is one. Returns the text that is left for standard output.
///
/// # Errors
/// The file cannot be written.
pub fn deliver(text: String, output: Option<&Path>) -> Result<String, Error> {
    let Some(path) = output.filter(|path| *path != Path::new("-")) else {
        return Ok(text);
    };
    write_file(path, text)?;
    Ok(String::new())
}

/// The name of a report in notes.
fn origin(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Reads reports and joins them into one.
///
/// # Errors
/// There is no file, one cannot be read, or is not a report.
pub(super) fn read_all(files: &[PathBuf]) -> Result<Report, Error> {
    if let [file] = files {
        return read(file);
    }
    let mut merger = Merger::default();
    for (index, file) in files.iter().enumerate() {
        // A glob and an explicit name can name one file twice; its findings must not count twice.
        if files[..index].contains(file) {
            note("gpurace", &format!("`{}` is named twice and counted once", file.display()));
            continue;
        }
        merger.add(&origin(file), read(file)?);
    }
    merger.finish().ok_or_else(|| Error::new("no report to read"))
}

/// Returns the reports in a folder, in the order of their names.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(folder).map_err(Error::cannot("read", folder))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        // A pipe, for instance, might never end.
        .filter(|path| path.extension().is_some_and(|extension| extension == "json") && path.is_file())
        .collect();
    files.sort();
    Ok(files)
}

/// Reads a report.
///
/// # Errors
/// The file cannot be read, or is not a report.
pub fn read(file: &Path) -> Result<Report, Error> {
    let text = if file == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    let name = file.display();
    let text = text.map_err(|e| Error::new(format!("cannot read `{name}`: {e}")))?;
    Report::from_json(&text).map_err(|e| {
        let error = Error::new(format!("`{name}` is not a report of this version of gpurace: {e}"));
        if text.trim().is_empty() {
            error.hint("the file is empty: was the program killed before it could write its report?")
        } else {
            error.hint("reports are written with `GPURACE_OPTIONS=json=FILE`")
        }
    })
}
