//! The tests of the crate, and the report that they use.

mod ci;
mod html;
mod markdown;
mod sarif;

use std::sync::Arc;

use gpurace_report::schema::Report;
use gpurace_report::sources::Sources;

/// Returns a report with races of each scope, a copy, the host, a side without debug info, a divergence,
/// notes, and names that every format must escape.
pub(crate) fn everything() -> Report {
    Report::from_json(include_str!("everything.json")).expect("it is a report")
}

/// Returns a report without findings.
pub(crate) fn nothing() -> Report {
    let mut report = everything();
    report.races.clear();
    report.findings.clear();
    report.divergence.clear();
    report.notes.clear();
    report
}

/// Sources with only `a b/k.cu`. Its line 5 has characters of several bytes before the access.
pub(crate) struct OneFile;

impl Sources for OneFile {
    fn text(&self, file: &str) -> Option<Arc<str>> {
        (file == "a b/k.cu").then(|| {
            "// line 1\n\
             __global__ void f(int *p) {\n\
             \x20 __shared__ int tile[64];\n\
             \x20 int t = threadIdx.x;  // <script>alert(1)</script>\n\
             \x20 /* größe */ tile[t] = p[t] & 3;\n\
             \x20 p[t] = tile[t ^ 1];\n\
             \x20 if (t < 32) __syncthreads();\n\
             }\n"
            .into()
        })
    }
}
