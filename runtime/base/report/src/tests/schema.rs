//! Tests that the JSON is that of the documented interface.

use proptest::prelude::*;
use serde_json::Value;

use super::{INTERFACE, interface};
use crate::plain::MakePlain as _;
use crate::schema::*;

#[test]
fn the_example_of_the_interface_is_read() {
    let report = interface();
    assert_eq!(report.device, Device::Cpu);
    let race = &report.races[0];
    assert_eq!((race.kind, race.scope), (RaceKind::WriteRead, Scope::Block));
    assert_eq!((race.later().op, race.later().line), (Op::Read, Some(18)));
    assert_eq!((race.earlier().op, race.earlier().thread), (Op::Write, Some([63, 0, 0])));
    assert_eq!(
        report.divergence[0].waiting,
        [Waiting::at(Some("k.cu".to_owned()), Some(9), 32, [0, 0, 0]), Waiting::exited(96, [32, 0, 0])]
    );
    assert_eq!(report.stats.kernels[0].sites, report.stats.sites);
}

#[test]
fn the_example_of_the_interface_is_written_as_it_was_read() {
    /// True if a value has everything that the example has.
    fn has(value: &Value, example: &Value) -> bool {
        match (value, example) {
            (Value::Object(fields), Value::Object(wanted)) => {
                wanted.iter().all(|(key, wanted)| fields.get(key).is_some_and(|value| has(value, wanted)))
            }
            (Value::Array(items), Value::Array(wanted)) => {
                items.len() == wanted.len()
                    && items.iter().zip(wanted).all(|(item, wanted)| has(item, wanted))
            }
            _ => value == example,
        }
    }
    let [written, example] =
        [&*interface().to_json(), INTERFACE].map(|json| serde_json::from_str::<Value>(json).unwrap());
    assert!(has(&written, &example), "{written:#}");
    assert_eq!(Report::from_json(&interface().to_json()).unwrap(), interface());
}

/// Adds a field to each object of the example, one at a time.
#[test]
fn no_object_takes_an_unknown_field() {
    fn objects(value: &Value, path: String, out: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    objects(value, format!("{path}/{key}"), out);
                }
                out.push(path);
            }
            Value::Array(items) => {
                for (at, value) in items.iter().enumerate() {
                    objects(value, format!("{path}/{at}"), out);
                }
            }
            _ => {}
        }
    }
    let example: Value = serde_json::from_str(INTERFACE).unwrap();
    let mut paths = Vec::new();
    objects(&example, String::new(), &mut paths);
    assert_eq!(paths.len(), 13, "{paths:?}");
    for path in paths {
        let mut changed = example.clone();
        changed.pointer_mut(&path).unwrap()["extra"] = Value::Bool(true);
        assert!(Report::from_json(&changed.to_string()).is_err(), "`{path}` took a field");
    }
}

#[test]
fn another_schema_is_refused() {
    let other = INTERFACE.replace("gpurace-report/1", "gpurace-report/2");
    assert!(Report::from_json(&other).is_err());
    let gone = INTERFACE.replace("\"exited\": true", "\"exited\": false");
    assert!(Report::from_json(&gone).is_err());
}

#[test]
fn what_is_not_known_is_null() {
    let json = serde_json::to_value(Access::new(Op::Copy)).unwrap();
    let fields = json.as_object().unwrap();
    assert_eq!(fields.len(), 12);
    for (key, value) in fields {
        assert_eq!(value.is_null(), !["op", "frames"].contains(&&**key), "{key}");
    }
}

#[test]
fn words_are_those_of_the_interface() {
    fn words<T: serde::Serialize>(values: &[T]) -> String {
        let words: Vec<_> = values
            .iter()
            .map(|value| serde_json::to_value(value).unwrap().as_str().unwrap().to_owned())
            .collect();
        words.join(" ")
    }
    assert_eq!(
        words(&RaceKind::ALL),
        "write-write read-write write-read atomic-write write-atomic atomic-read read-atomic atomic-atomic"
    );
    assert_eq!(words(&[Op::Read, Op::Write, Op::Atomic, Op::Copy, Op::Host]), "read write atomic copy host");
    assert_eq!(
        words(&[Scope::Warp, Scope::Block, Scope::Cluster, Scope::Grid, Scope::Device, Scope::System]),
        "warp block cluster grid device system"
    );
    assert_eq!(words(&[Device::Cpu, Device::Cuda]), "cpu cuda");
}

#[test]
fn a_kind_is_made_of_its_sides() {
    let effects = [Effect::Read, Effect::Write, Effect::Atomic];
    let mut kinds = Vec::new();
    for earlier in effects {
        for later in effects {
            let Some(kind) = RaceKind::new(earlier, later) else {
                assert_eq!((earlier, later), (Effect::Read, Effect::Read));
                continue;
            };
            assert_eq!((kind.earlier(), kind.later()), (earlier, later));
            assert_eq!(serde_json::to_value(kind).unwrap().as_str(), Some(kind.to_string().as_str()));
            kinds.push(kind);
        }
    }
    assert_eq!(kinds.len(), RaceKind::ALL.len());
    assert!(RaceKind::ALL.iter().all(|kind| kinds.contains(kind)));
}

proptest! {
    /// Names come from users, so any text must survive, but for its odd characters.
    #[test]
    fn any_text_survives_as_plain_text(name in ".*", count: u64, line in proptest::option::of(any::<u32>())) {
        let mut report = interface();
        report.notes.push(name.clone());
        report.races[0].kernel = Some(name.clone());
        report.races[0].count = count;
        report.races[0].accesses[1].file = Some(name);
        report.races[0].accesses[1].line = line;
        let read = Report::from_json(&report.to_json()).unwrap();
        report.make_plain();
        prop_assert_eq!((read.races, read.notes), (report.races, report.notes));
    }
}
