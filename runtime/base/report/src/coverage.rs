//! The coverage of a report: as a line, as a list, and in the format of lcov.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::schema::{CoverageState, CoveredAccess, KernelCoverage, Report};
use crate::words::plural;

/// The most accesses that a page lists and that have source lines in the stored report.
pub const MOST_SHOWN: usize = 500;

/// Returns the accesses that never ran, each with its kernel.
pub fn never_ran(report: &Report) -> impl Iterator<Item = (&KernelCoverage, &CoveredAccess)> {
    let all =
        report.coverage.iter().flat_map(|kernel| kernel.accesses.iter().map(move |access| (kernel, access)));
    all.filter(|(_, access)| access.state == CoverageState::NeverRan)
}

/// Returns `file.cu:8:5`, or as much of it as is known.
pub fn place(access: &CoveredAccess) -> String {
    let file = access.file.clone().unwrap_or_else(|| "unknown line".to_owned());
    let numbers = [access.line, access.column];
    numbers.iter().flatten().fold(file, |place, number| format!("{place}:{number}"))
}

/// Returns `3 of 41 accesses never ran`. `None` if all did, or if the report does not know.
pub fn line(report: &Report) -> Option<String> {
    let sum = |of: fn(&KernelCoverage) -> u64| report.coverage.iter().map(of).sum::<u64>();
    let never = sum(|kernel| kernel.count(CoverageState::NeverRan));
    let all = plural(sum(|kernel| kernel.accesses.len() as u64), "access", "accesses");
    (never > 0).then(|| format!("{never} of {all} never ran"))
}

/// Returns `2 launches; 3 accesses: 1 checked, 1 proved, 1 never ran`.
pub fn summary(kernel: &KernelCoverage) -> String {
    let launches = match kernel.launches {
        0 => "never launched".to_owned(),
        n => plural(n, "launch", "launches"),
    };
    format!(
        "{launches}; {}: {} checked, {} proved, {} never ran",
        plural(kernel.accesses.len() as u64, "access", "accesses"),
        kernel.count(CoverageState::Checked),
        kernel.count(CoverageState::Proved),
        kernel.count(CoverageState::NeverRan),
    )
}

/// Returns the coverage of each kernel, with the accesses that never ran.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a `String` does not fail.
    for kernel in &report.coverage {
        let _ = writeln!(out, "`{}`: {}", kernel.kernel, summary(kernel));
        for access in kernel.accesses.iter().filter(|access| access.state == CoverageState::NeverRan) {
            let _ = writeln!(out, "  {}: this {} never ran", place(access), access.op.as_str());
        }
    }
    out
}

/// Returns the coverage of source lines as lcov reads it (`geninfo(1)`, "FILES"): a line counts as run if one
/// of its accesses was checked or proved in some kernel.
pub fn lcov(report: &Report) -> String {
    let mut files: BTreeMap<&str, BTreeMap<u32, bool>> = BTreeMap::new();
    for access in report.coverage.iter().flat_map(|kernel| &kernel.accesses) {
        if let (Some(file), Some(line)) = (&access.file, access.line) {
            *files.entry(file).or_default().entry(line).or_default() |=
                access.state != CoverageState::NeverRan;
        }
    }
    let mut out = String::new();
    for (file, lines) in files {
        let _ = writeln!(out, "TN:\nSF:{}", file.replace(['\n', '\r'], " "));
        for (line, &ran) in &lines {
            let _ = writeln!(out, "DA:{line},{}", u8::from(ran));
        }
        let hit = lines.values().filter(|ran| **ran).count();
        let _ = writeln!(out, "LF:{}\nLH:{hit}\nend_of_record", lines.len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Device, Effect};

    fn report() -> Report {
        let access = |line, op, state| CoveredAccess {
            file: Some("k.cu".to_owned()),
            line: Some(line),
            column: Some(5),
            op,
            state,
        };
        let kernel = |name: &str, launches, accesses: &[CoveredAccess]| {
            let mut kernel = KernelCoverage { kernel: name.to_owned(), launches, accesses: Vec::new() };
            accesses.iter().for_each(|access| kernel.add(access.clone()));
            kernel
        };
        let (read, write) = (Effect::Read, Effect::Write);
        let mut report = Report::new(Device::Cpu);
        report.coverage = vec![
            kernel(
                "run(int*)",
                2,
                &[
                    access(9, write, CoverageState::Proved),
                    access(7, read, CoverageState::Checked),
                    access(8, read, CoverageState::NeverRan),
                    access(7, read, CoverageState::NeverRan),
                ],
            ),
            kernel("other(int*)", 0, &[access(9, write, CoverageState::NeverRan)]),
        ];
        report
    }

    #[test]
    fn what_never_ran_is_listed() {
        let report = report();
        assert_eq!(line(&report).as_deref(), Some("2 of 4 accesses never ran"));
        assert_eq!(
            text(&report),
            "`run(int*)`: 2 launches; 3 accesses: 1 checked, 1 proved, 1 never ran\n  \
             k.cu:8:5: this read never ran\n\
             `other(int*)`: never launched; 1 access: 0 checked, 0 proved, 1 never ran\n  \
             k.cu:9:5: this write never ran\n"
        );
        assert_eq!(line(&Report::new(Device::Cpu)), None);
    }

    #[test]
    fn lcov_has_each_line_once() {
        let wanted = "TN:\nSF:k.cu\nDA:7,1\nDA:8,0\nDA:9,1\nLF:3\nLH:2\nend_of_record\n";
        assert_eq!(lcov(&report()), wanted);
    }
}
