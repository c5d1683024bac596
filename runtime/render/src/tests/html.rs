//! Tests the text of the page. The end-to-end suite `page` tests it in a browser.

use gpurace_report::schema::{ObjectKind, Report};
use gpurace_report::sources::NoSources;

use super::{OneFile, everything, nothing};
use crate::html::picture::{Covered, covered};
use crate::html::render;

fn page(report: &Report) -> String {
    render(report, "r<1>.json", "0.1.0", &OneFile)
}

/// Elements that have no end tag.
const VOID: [&str; 4] = ["meta", "br", "input", "!DOCTYPE"];

/// The tags of a page outside script and style, each as `name attributes`.
fn tags(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        let end = rest[at..].find('>').expect("a tag ends") + at;
        let tag = &rest[at + 1..end];
        found.push(tag.to_owned());
        rest = &rest[end + 1..];
        for raw in ["script", "style"] {
            if tag == raw {
                let end = rest.find(&format!("</{raw}>")).expect("it ends");
                rest = &rest[end..];
            }
        }
    }
    found
}

#[test]
fn tags_are_balanced_and_texts_are_escaped() {
    for report in [everything(), nothing()] {
        let mut open = Vec::new();
        for tag in tags(&page(&report)) {
            let name = tag.trim_start_matches('/').split(' ').next().unwrap();
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name));
            } else if !VOID.contains(&name) {
                assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "<{tag}>");
                open.push(name.to_owned());
            }
        }
        assert_eq!(open, Vec::<String>::new());
    }
    // The page's own script is the only one: those in names and sources are text.
    assert_eq!(page(&everything()).matches("<script>").count(), 1);
    assert!(page(&everything()).contains("&lt;script&gt;alert(1)"));
}

#[test]
fn ids_are_unique_and_links_lead_somewhere() {
    let tags = tags(&page(&everything()));
    let attribute = |name: &str| {
        let start = format!(" {name}=\"");
        let tags = tags.iter().filter_map(|tag| tag.split_once(&start));
        tags.map(|(_, rest)| rest.split('"').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let ids = attribute("id");
    let mut distinct = ids.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), ids.len());
    for to in attribute("href") {
        let id = to.strip_prefix('#').expect("links stay on the page");
        assert!(ids.iter().any(|known| known == id), "{to}");
    }
    for name in ["aria-labelledby", "for", "data-for"] {
        for id in attribute(name) {
            assert!(ids.contains(&id), "{name}={id}");
        }
    }
}

#[test]
fn nothing_comes_from_outside() {
    let page = page(&everything());
    for word in ["http:", "https:", "src=", "@import", "url(", "<link", "fetch("] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn each_finding_has_a_row_and_an_article() {
    let page = page(&everything());
    for id in ["F1", "F2", "F3", "F4", "F5", "F6", "divergence-1"] {
        assert!(page.contains(&format!("<article id=\"{id}\"")), "{id}");
        assert!(page.contains(&format!("<tr data-for=\"{id}\"")), "{id}");
    }
}

#[test]
fn both_sides_are_marked_in_their_sources() {
    let page = page(&everything());
    assert!(page.contains("<mark class=\"earlier\">tile[t]</mark> = p[t] &amp; 3;"));
    assert!(page.contains("= <mark class=\"later\">tile[t ^ 1]</mark>;"));
    let without = render(&everything(), "r.json", "0.1.0", &NoSources);
    assert!(!without.contains("<mark") && without.contains("The source cannot be read."));
}

#[test]
fn threads_are_drawn_where_they_are() {
    let page = page(&everything());
    // Thread (31,0,0) and, in blocks of (40,3,1), thread (39,2,0).
    assert!(page.contains("thread (31,0,0): warp 0, lane 31"));
    assert!(page.contains("thread (39,2,0): warp 3, lane 23"));
    assert!(page.contains("Block (0,0,0), 120 threads"));
}

#[test]
fn only_what_the_report_determines_is_drawn_of_bytes() {
    let report = everything();
    let at = |begin, size| Covered { begin, size };
    // The same size: the same bytes.
    assert_eq!(covered(&report.races[0]), Some((at(124, 4), Some(at(124, 4)))));
    // A float against the float4 that holds it, in an allocation.
    assert_eq!(covered(&report.races[1]), Some((at(24, 4), Some(at(16, 16)))));
    // In a variable, whose alignment is not known, and with the wider one later.
    let mut variable = report.races[1].clone();
    variable.object.as_mut().unwrap().kind = ObjectKind::Variable;
    assert_eq!(covered(&variable), Some((at(24, 4), None)));
    let mut wider = report.races[1].clone();
    wider.accesses[0].size = Some(16);
    wider.accesses[1].size = Some(4);
    assert_eq!(covered(&wider), Some((at(24, 16), None)));
    // No offset, no object.
    assert_eq!(covered(&report.races[3]), None);
    assert_eq!(covered(&report.races[4]), None);
}

#[test]
fn extents_that_no_block_has_are_not_drawn() {
    let mut report = everything();
    for dim in [[0, 1, 1], [u32::MAX, u32::MAX, u32::MAX], [2048, 1, 1], [8, 1, 1]] {
        report.races[0].launch.as_mut().unwrap().block = dim;
        report.races.truncate(1);
        assert!(!page(&report).contains("<figcaption>Threads"), "{dim:?}");
    }
}
