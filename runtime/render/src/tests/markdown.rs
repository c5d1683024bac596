//! Tests the comment on a pull request.

use gpurace_report::schema::{Race, Report};
use gpurace_report::sources::NoSources;

use super::{OneFile, everything, nothing};
use crate::markdown::render;

#[test]
fn everything_is_said() {
    insta::assert_snapshot!(render(&everything(), &OneFile));
}

#[test]
fn a_clean_run_says_so() {
    insta::assert_snapshot!(render(&nothing(), &OneFile));
}

#[test]
fn tables_and_fences_stay_whole() {
    let mut report = everything();
    report.races.truncate(1);
    report.divergence.clear();
    report.races[0].hint = Some("```\n<script>".to_owned());
    let text = render(&report, &NoSources);
    for row in text.lines().filter(|line| line.starts_with('|')) {
        let cells = row.replace("\\|", "").matches('|').count();
        assert_eq!(cells, 8, "{row}");
    }
    let fences = text.lines().filter(|line| line.starts_with("````")).count();
    assert_eq!(fences, 2, "{text}");
}

#[test]
fn many_races_fit_into_a_comment() {
    let mut report = everything();
    let race = report.races[0].clone();
    report.races =
        (0..500).map(|number| Race { kernel: Some(format!("kernel_{number}()")), ..race.clone() }).collect();
    report.findings.clear();
    let report = Report::from_json(&report.to_json()).unwrap();
    let text = render(&report, &OneFile);
    assert!(text.len() < 65_536, "{}", text.len());
    assert!(text.contains("400 more not shown in the table"));
    assert!(text.contains("481 more not shown in full"));
}
