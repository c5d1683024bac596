//! `gpurace facts`: shows the verdicts that `-fgpurace-facts=FILE` wrote, or compares those of two builds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use gpurace_report::plain::{self, MakePlain as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Done;
use crate::diagnostic::Error;

/// Arguments of `gpurace facts`.
#[derive(Args)]
pub struct FactsArgs {
    /// Facts of a build (`-fgpurace-facts=FILE`)
    file: PathBuf,
    /// Facts of a later build to compare with the first
    #[arg(value_name = "LATER")]
    later: Option<PathBuf>,
    /// Show only accesses with this verdict
    #[arg(long, value_enum, conflicts_with = "later")]
    verdict: Option<Verdict>,
    /// Show only the counts of each kernel
    #[arg(long, conflicts_with = "later")]
    summary: bool,
    /// Exit with status 1 if an access has a worse verdict in the later build
    #[arg(long, requires = "later")]
    fail_on_worse: bool,
}

/// The verdict on an access, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Free of races in every launch
    Proved,
    /// Free of races in launches that meet its conditions
    ProvedIf,
    /// Checked at run time
    Checked,
    /// A race, with a witness
    Racy,
}

impl Verdict {
    const ALL: [Self; 4] = [Self::Proved, Self::ProvedIf, Self::Checked, Self::Racy];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::ProvedIf => "proved-if",
            Self::Checked => "checked",
            Self::Racy => "racy",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Facts {
    schema: Schema,
    pub(super) kernels: Vec<Kernel>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) enum Schema {
    #[serde(rename = "gpurace-facts/1")]
    V1,
}

#[derive(Debug, Deserialize)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) sites: Vec<Site>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Site {
    pub(super) op: String,
    pub(super) size: Option<u64>,
    pub(super) space: String,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
    pub(super) verdict: Verdict,
    #[serde(default)]
    pub(super) why: Option<String>,
    #[serde(default)]
    pub(super) requires: Vec<String>,
    #[serde(default)]
    pub(super) witness: Value,
}

impl Site {
    pub(super) fn place(&self) -> String {
        match (&self.file, self.line, self.column) {
            (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}"),
            (Some(file), Some(line), None) => format!("{file}:{line}"),
            _ => "<unknown>".to_owned(),
        }
    }

    fn what(&self) -> String {
        match self.size {
            Some(size) => format!("{} of size {size}, {}", self.op, self.space),
            None => format!("{}, {}", self.op, self.space),
        }
    }

    /// Returns the reason, the conditions and the witness of the verdict.
    fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if let Some(why) = self.why.as_deref().filter(|why| !why.is_empty()) {
            reasons.push(why.to_owned());
        }
        if !self.requires.is_empty() {
            reasons.push(format!("requires {}", self.requires.join(", ")));
        }
        reasons.extend(witness(&self.witness));
        reasons
    }
}

/// Returns a witness in words: the launch, and each access with its thread and line. A witness of
/// another shape is shown as JSON.
pub(super) fn witness(witness: &Value) -> Option<String> {
    let dim = |value: &Value| {
        let numbers: Option<Vec<u64>> = value.as_array()?.iter().map(Value::as_u64).collect();
        let numbers = numbers?;
        let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
        Some(format!("({})", words.join(",")))
    };
    let side = |access: &Value| {
        Some(format!(
            "{} at line {} by thread {} of block {}",
            access["op"].as_str()?,
            access["line"].as_u64()?,
            dim(&access["thread"])?,
            dim(&access["block"])?,
        ))
    };
    let in_words = || {
        let accesses = witness["accesses"].as_array()?;
        let sides: Vec<String> = accesses.iter().map(side).collect::<Option<_>>()?;
        let params = witness["params"].as_object()?;
        let params: String = params.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
        Some(format!(
            "{}; grid {}, block {}{params}",
            sides.join(" and "),
            dim(&witness["grid"])?,
            dim(&witness["block"])?,
        ))
    };
    match witness {
        Value::Null => None,
        Value::String(text) => Some(format!("witness: {}", plain::line(text))),
        other => {
            let text = in_words().unwrap_or_else(|| other.to_string());
            Some(format!("witness: {}", plain::line(&text)))
        }
    }
}

/// Shows the verdicts of a build, or compares those of two builds.
///
/// # Errors
/// A file cannot be read, or does not hold facts.
pub fn facts(args: &FactsArgs) -> Result<Done, Error> {
    let first = read(&args.file)?;
    let Some(later) = &args.later else {
        return Ok(Done::success(show(&first, args.verdict, args.summary)));
    };
    let difference = compare(&first, &read(later)?);
    let worse = difference.changed.iter().any(Change::is_worse);
    Ok(Done {
        text: difference.render(),
        status: if worse && args.fail_on_worse { ExitCode::FAILURE } else { ExitCode::SUCCESS },
    })
}

/// Reads a file of facts. Its texts are made safe to print.
pub(super) fn read(file: &Path) -> Result<Facts, Error> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|e| Error::new(format!("cannot read `{name}`: {e}")))?;
    let mut facts: Facts = serde_json::from_str(&text).map_err(|e| {
        Error::new(format!("`{name}` has no facts of this version of gpurace: {e}"))
            .hint("facts are written with `gclang -fsanitize=gpurace -fgpurace-facts=FILE`")
    })?;
    let Schema::V1 = facts.schema;
    for kernel in &mut facts.kernels {
        kernel.name.make_plain();
        for site in &mut kernel.sites {
            site.op.make_plain();
            site.space.make_plain();
            site.file.make_plain();
            let reasons = site.why.iter_mut().chain(&mut site.requires);
            reasons.for_each(|text| *text = plain::line(text).into_owned());
        }
    }
    Ok(facts)
}

/// The number of sites for each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts([u64; 4]);

impl Counts {
    pub(super) fn of<'a>(sites: impl IntoIterator<Item = &'a Site>) -> Self {
        let mut counts = Self::default();
        for site in sites {
            counts.0[site.verdict as usize] += 1;
        }
        counts
    }

    fn total(self) -> u64 {
        self.0.iter().sum()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        write!(f, "{total} {}", if total == 1 { "site" } else { "sites" })?;
        for (verdict, count) in Verdict::ALL.iter().zip(self.0) {
            if count > 0 {
                write!(f, ", {count} {verdict}")?;
            }
        }
        Ok(())
    }
}

/// Returns facts as text: the kernels, and their sites unless a `summary` is wanted.
fn show(facts: &Facts, only: Option<Verdict>, summary: bool) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail, here and below.
    for kernel in &facts.kernels {
        let _ = writeln!(out, "`{}`: {}", kernel.name, Counts::of(&kernel.sites));
        let shown =
            kernel.sites.iter().filter(|site| !summary && only.is_none_or(|only| site.verdict == only));
        for site in shown {
            let _ = writeln!(out, "  {:<9} {}: {}", site.verdict, site.place(), site.what());
            for reason in site.reasons() {
                let _ = writeln!(out, "            {reason}");
            }
        }
    }
    let all = Counts::of(facts.kernels.iter().flat_map(|kernel| &kernel.sites));
    let _ = writeln!(out, "total: {all}");
    out
}

/// A site whose verdict differs.
#[derive(Debug)]
struct Change {
    kernel: String,
    before: Site,
    after: Site,
}

impl Change {
    fn is_worse(&self) -> bool {
        self.after.verdict > self.before.verdict
    }
}

/// How two builds differ.
#[derive(Debug, Default)]
struct Difference {
    before: Counts,
    after: Counts,
    changed: Vec<Change>,
    /// With the names of their kernels.
    gone: Vec<(String, Site)>,
    new: Vec<(String, Site)>,
}

/// Takes out the sites of two builds that are one access of a kernel, and returns them in pairs.
fn pair_all(old: &mut Vec<Site>, new: &mut Vec<Site>) -> Vec<(Site, Site)> {
    let mut pairs =
        pair(old, new, |site| Some((site.place(), site.op.clone(), site.size, site.space.clone())));
    // Sites whose lines moved are left over. Pair those of one shape in order, if both builds have the
    // same number of them. Otherwise a pair might be two different accesses.
    let shape = |site: &Site| (site.op.clone(), site.size, site.space.clone());
    let left = |sites: &[Site]| {
        let mut counts: BTreeMap<_, u64> = BTreeMap::new();
        for site in sites {
            *counts.entry(shape(site)).or_default() += 1;
        }
        counts
    };
    let (old_left, new_left) = (left(old), left(new));
    pairs.extend(pair(old, new, |site| {
        let shape = shape(site);
        (old_left.get(&shape) == new_left.get(&shape)).then_some(shape)
    }));
    pairs
}

/// Returns how the verdicts of a later build differ from those of the first one.
fn compare(first: &Facts, later: &Facts) -> Difference {
    let all = |facts: &Facts| Counts::of(facts.kernels.iter().flat_map(|kernel| &kernel.sites));
    let mut difference = Difference { before: all(first), after: all(later), ..Difference::default() };
    let by_name = |facts: &Facts| {
        let mut kernels: BTreeMap<String, Vec<Site>> = BTreeMap::new();
        for kernel in &facts.kernels {
            let sites = kernels.entry(kernel.name.clone()).or_default();
            sites.extend(kernel.sites.iter().cloned());
        }
        kernels
    };
    let (mut before, mut after) = (by_name(first), by_name(later));
    let names: BTreeSet<String> = before.keys().chain(after.keys()).cloned().collect();
    for name in names {
        let mut old = before.remove(&name).unwrap_or_default();
        let mut new = after.remove(&name).unwrap_or_default();
        let pairs = pair_all(&mut old, &mut new);
        let changed = pairs.into_iter().filter(|(before, after)| before.verdict != after.verdict);
        difference.changed.extend(changed.map(|(before, after)| Change {
            kernel: name.clone(),
            before,
            after,
        }));
        difference.gone.extend(old.into_iter().map(|site| (name.clone(), site)));
        difference.new.extend(new.into_iter().map(|site| (name.clone(), site)));
    }
    difference
}

/// Takes pairs with equal keys out of both lists, in order. Sites without a key stay.
fn pair<K: PartialEq>(
    old: &mut Vec<Site>,
    new: &mut Vec<Site>,
    key: impl Fn(&Site) -> Option<K>,
) -> Vec<(Site, Site)> {
    let mut pairs = Vec::new();
    let mut kept = Vec::new();
    for site in old.drain(..) {
        let wanted = key(&site);
        let found = new.iter().position(|other| wanted.is_some() && key(other) == wanted);
        match found {
            Some(at) => pairs.push((site, new.remove(at))),
            None => kept.push(site),
        }
    }
    *old = kept;
    pairs
}

impl Difference {
    /// Returns the difference as text, what became worse first.
    fn render(&self) -> String {
        let mut out = String::new();
        let (worse, better): (Vec<&Change>, Vec<&Change>) =
            self.changed.iter().partition(|change| change.is_worse());
        for (title, changes) in [("worse", worse), ("better", better)] {
            for Change { kernel, before, after } in changes {
                let _ = writeln!(
                    out,
                    "{title}: {}: {}, in `{kernel}`: {} -> {}",
                    after.place(),
                    after.what(),
                    before.verdict,
                    after.verdict
                );
                for reason in after.reasons() {
                    let _ = writeln!(out, "  {reason}");
                }
            }
        }
        for (title, sites) in [("gone", &self.gone), ("new", &self.new)] {
            for (kernel, site) in sites {
                let _ = writeln!(
                    out,
                    "{title}: {}: {}, in `{kernel}`: {}",
                    site.place(),
                    site.what(),
                    site.verdict
                );
            }
        }
        if out.is_empty() {
            out.push_str("no verdict changed\n");
        }
        let _ = writeln!(out, "before: {}\nafter:  {}", self.before, self.after);
        out
    }
}
