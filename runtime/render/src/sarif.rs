//! SARIF 2.1.0 (OASIS Standard, 2020), for code scanning and editors.
//!
//! A finding is a result. Its location is the access that found its first race. The earlier access and the
//! launch are related locations. The two sides are two threads of one code flow, the earlier side first.

use std::path::Path;

use gpurace_report::schema::{Access, Divergence, Fault, Finding, Launch, Race, RaceKind, Report, Waiting};
use gpurace_report::sources::Sources;
use gpurace_report::words;
use gpurace_report::{fix, snippet};
use percent_encoding::utf8_percent_encode;
use serde::Serialize;
use serde_json::{Value, json};

use crate::PATH;
use crate::found::{self, Found};

/// The schema of the output.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// The most findings with races in one log: code scanning takes a few thousand, and files of 20 MB.
const MOST_RESULTS: usize = 2000;
/// The rule for divergences.
const DIVERGENCE: &str = "barrier-divergence";
/// The rule for faults.
const FAULT: &str = "device-fault";
/// The name of the fingerprint.
const FINGERPRINT: &str = "gpuraceFinding/v1";
/// The name of the checkout's root in code scanning.
const ROOT: &str = "%SRCROOT%";

/// Renders a report.
#[derive(Clone, Copy)]
pub struct Renderer<'a> {
    /// The version of the tool.
    pub version: &'a str,
    /// The root of the checkout. Files below it have relative names, since code scanning needs them.
    pub root: Option<&'a Path>,
    /// The source files.
    pub sources: &'a dyn Sources,
}

impl Renderer<'_> {
    /// Returns the report as indented JSON with a newline at its end.
    pub fn render(&self, report: &Report) -> String {
        let first = |finding| Some((finding, report.races_of(finding).next()?));
        let of_races: Vec<(&Finding, &Race)> = report.findings.iter().filter_map(first).collect();
        let races = of_races.iter().take(MOST_RESULTS).map(|(finding, race)| self.race(finding, race));
        let divergence = report.divergence.iter().map(|found| self.divergence(found));
        let faults = report.faults.iter().map(|fault| self.fault(fault));
        let not_shown = of_races.len().saturating_sub(MOST_RESULTS);
        let not_shown =
            (not_shown > 0).then(|| format!("{not_shown} more findings are in the JSON report only"));
        let notes: Vec<Value> = report
            .notes
            .iter()
            .chain(&not_shown)
            .map(|note| json!({ "level": "note", "message": { "text": note } }))
            .collect();
        let log = Log {
            schema: SCHEMA,
            version: "2.1.0",
            runs: [Run {
                tool: json!({ "driver": {
                    "name": "gpurace",
                    "version": self.version,
                    "semanticVersion": self.version,
                    "rules": rules(),
                } }),
                invocations: [json!({
                    "executionSuccessful": true,
                    "toolExecutionNotifications": notes,
                })],
                column_kind: "unicodeCodePoints",
                results: races.chain(divergence).chain(faults).collect(),
                properties: json!({
                    "device": report.device,
                    "stats": report.stats,
                }),
            }],
        };
        // Nothing in these types can fail to serialise.
        let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
        text.push('\n');
        text
    }

    fn race(&self, finding: &Finding, race: &Race) -> Outcome {
        let (later, earlier) = (race.later(), race.earlier());
        let mut related = Vec::new();
        let at_earlier = self.access(earlier, None);
        let is_linked = at_earlier.is_some();
        if let Some(mut location) = at_earlier {
            location.id = Some(1);
            location.message = Some(Message::text(found::side(race, true)));
            related.push(location);
        }
        let launch = race.launch.as_ref().and_then(|launch| self.launch(race, launch));
        related.extend(launch);

        let step = |access: &Access, previous| {
            let mut location = self.access(access, None)?;
            location.message = Some(Message::text(found::side(race, previous)));
            Some(json!({ "locations": [{ "location": location }] }))
        };
        let flow = [step(earlier, true), step(later, false)];
        let code_flows = flow
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .map(|threads| vec![json!({ "threadFlows": threads })]);

        let same = race.same_value == Some(true);
        Outcome {
            rule_id: rule_id(race.kind),
            rule_index: rule_index(race.kind),
            level: if same { "warning" } else { "error" },
            message: Message::text(found::race(finding, race, is_linked)),
            locations: self.access(later, race.kernel.as_deref()).into_iter().collect(),
            related_locations: related,
            code_flows: code_flows.unwrap_or_default(),
            occurrence_count: Some(finding.count.max(1)),
            partial_fingerprints: json!({ FINGERPRINT: finding.fingerprint }),
            properties: json!({
                "scope": race.scope,
                "space": race.space,
                "sameValue": race.same_value,
                "seed": race.seed,
                "kernel": race.kernel,
                "launch": race.launch,
                "object": race.object,
                "later": race.later(),
                "earlier": race.earlier(),
                "cause": finding.cause,
                "races": finding.pairs,
            }),
            fixes: self.fix(finding, race).into_iter().collect(),
        }
    }

    /// Returns the change of the source that a finding has.
    fn fix(&self, finding: &Finding, race: &Race) -> Option<Value> {
        let found::Change { file, diff, advice } = Found::Race(finding, race).change()?;
        let replacement = |fix::Edit { line, removed, text }| {
            let mut deleted = json!({ "startLine": line, "startColumn": 1, "endColumn": 1 });
            if removed > 0 {
                deleted["endLine"] = line.saturating_add(removed).into();
            }
            json!({ "deletedRegion": deleted, "insertedContent": { "text": text } })
        };
        let replacements: Vec<Value> = fix::edits(diff).into_iter().map(replacement).collect();
        Some(json!({
            "description": { "text": advice },
            "artifactChanges": [{ "artifactLocation": self.artifact(file), "replacements": replacements }],
        }))
    }

    fn fault(&self, fault: &Fault) -> Outcome {
        let place = fault.file.as_deref().zip(fault.line);
        let location = place.map(|(file, line)| Location {
            id: None,
            message: None,
            physical_location: Some(self.position(file, line, fault.column)),
            logical_locations: vec![logical(&fault.kernel)],
        });
        Outcome {
            rule_id: FAULT.to_owned(),
            rule_index: RaceKind::ALL.len() + 1,
            level: "error",
            message: Message::text(found::fault(fault)),
            locations: location.into_iter().collect(),
            related_locations: Vec::new(),
            code_flows: Vec::new(),
            occurrence_count: None,
            partial_fingerprints: json!({ FINGERPRINT: words::fault_fingerprint(fault) }),
            properties: json!({ "kernel": fault.kernel, "launch": fault.launch, "block": fault.block }),
            fixes: Vec::new(),
        }
    }

    fn divergence(&self, diverged: &Divergence) -> Outcome {
        let mut places = diverged.waiting.iter().filter_map(|waiting| {
            let Waiting::At(at) = waiting else { return None };
            Some(Location {
                id: None,
                message: Some(Message::text(format!(
                    "{} here",
                    words::divergence_threads(diverged.kind, at.threads)
                ))),
                physical_location: Some(self.position(at.file.as_deref()?, at.line?, None)),
                logical_locations: vec![logical(&diverged.kernel)],
            })
        });
        let first: Vec<_> = places.next().into_iter().collect();
        let related = places.zip(1..).map(|(place, id)| Location { id: Some(id), ..place });
        Outcome {
            rule_id: DIVERGENCE.to_owned(),
            rule_index: RaceKind::ALL.len(),
            level: "error",
            message: Message::text(found::divergence(diverged)),
            related_locations: related.collect(),
            locations: first,
            code_flows: Vec::new(),
            occurrence_count: None,
            partial_fingerprints: json!({ FINGERPRINT: words::divergence_fingerprint(diverged) }),
            properties: json!({ "kernel": diverged.kernel, "launch": diverged.launch, "block": diverged.block }),
            fixes: Vec::new(),
        }
    }

    /// Returns the location of an access. `None` if it is unknown.
    fn access(&self, access: &Access, kernel: Option<&str>) -> Option<Location> {
        let (file, line) = (access.file.as_deref()?, access.line?);
        Some(Location {
            id: None,
            message: None,
            physical_location: Some(self.position(file, line, access.column)),
            logical_locations: kernel.or(access.function.as_deref()).map(logical).into_iter().collect(),
        })
    }

    fn launch(&self, race: &Race, launch: &Launch) -> Option<Location> {
        let (file, line) = (launch.file.as_deref()?, launch.line?);
        Some(Location {
            id: Some(2),
            message: Some(Message::text(found::launch(race, launch))),
            physical_location: Some(self.position(file, line, None)),
            logical_locations: Vec::new(),
        })
    }

    fn position(&self, file: &str, line: u32, column: Option<u32>) -> Value {
        let mut region = json!({ "startLine": line });
        match snippet::excerpt(self.sources, file, line, column, 0) {
            Some(excerpt) => {
                let text = &excerpt.lines[0];
                region["snippet"] = json!({ "text": text });
                // Columns of a report count bytes, columns of SARIF count characters.
                if column.is_some() {
                    let characters = |bytes: usize| text[..bytes].chars().count() + 1;
                    region["startColumn"] = json!(characters(excerpt.mark.start));
                    region["endColumn"] = json!(characters(excerpt.mark.end));
                }
            }
            None => {
                if let Some(column) = column {
                    region["startColumn"] = json!(column);
                }
            }
        }
        json!({ "artifactLocation": self.artifact(file), "region": region })
    }

    fn artifact(&self, file: &str) -> Value {
        let file = found::relative(file, self.root);
        let encoded = utf8_percent_encode(&file, PATH).to_string();
        if Path::new(&*file).is_absolute() {
            json!({ "uri": format!("file://{encoded}") })
        } else {
            json!({ "uri": encoded, "uriBaseId": ROOT })
        }
    }
}

impl std::fmt::Debug for Renderer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renderer")
            .field("version", &self.version)
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

fn logical(name: &str) -> Value {
    json!({ "fullyQualifiedName": name, "kind": "function" })
}

fn rule_id(kind: RaceKind) -> String {
    format!("{kind}-race")
}

fn rule_index(kind: RaceKind) -> usize {
    RaceKind::ALL.iter().position(|&known| known == kind).unwrap_or_default()
}

/// Returns a rule for each kind of race, in the order of [`RaceKind::ALL`], and those for divergence and faults.
fn rules() -> Vec<Value> {
    let rule = |id: String, name: String, short: String, full: &str| {
        json!({
            "id": id,
            "name": name,
            "shortDescription": { "text": short },
            "fullDescription": { "text": full },
            "help": { "text": full },
            "defaultConfiguration": { "level": "error" },
            "properties": {
                "tags": ["cuda", "concurrency", "external/cwe/cwe-362"],
                "precision": "very-high",
            },
        })
    };
    let mut rules: Vec<Value> = RaceKind::ALL
        .iter()
        .map(|&kind| {
            let (earlier, later) = (kind.earlier().as_str(), kind.later().as_str());
            rule(
                rule_id(kind),
                format!("{}{}Race", words::capitalised(earlier), words::capitalised(later)),
                format!("Data race: {earlier}, then {later}"),
                "Two threads access the same bytes, and at least one access is a write. They are not \
                 both atomic at a scope that has both threads. No barrier and no other order of \
                 the CUDA memory model orders them.",
            )
        })
        .collect();
    rules.push(rule(
        DIVERGENCE.to_owned(),
        "BarrierDivergence".to_owned(),
        "Barrier that some threads of a block do not reach".to_owned(),
        "Some threads of a block wait at a barrier that others of the threads that it waits for \
         do not reach.",
    ));
    rules.push(rule(
        FAULT.to_owned(),
        "DeviceFault".to_owned(),
        "Kernel that ended with a fault".to_owned(),
        "A thread accessed memory that it may not access, trapped, or ran out of stack.",
    ));
    rules
}

#[derive(Serialize)]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Value,
    invocations: [Value; 1],
    column_kind: &'static str,
    results: Vec<Outcome>,
    properties: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    rule_id: String,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    code_flows: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurrence_count: Option<u64>,
    partial_fingerprints: Value,
    properties: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<Value>,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

impl Message {
    const fn text(text: String) -> Self {
        Self { text }
    }
}
