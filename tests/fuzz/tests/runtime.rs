//! The decoders of the runtime: suppressions and the proof cache.

use std::path::{Path, PathBuf};

use bolero::check;
use gpurace_fuzz::{Input, Target, edited, time};
use gpurace_report::schema::Report;
use gpurace_rt::prove::cache::{Cache, LaunchAnswer};
use gpurace_rt::session::suppress::Suppressions;

#[test]
fn suppressions() {
    let report = include_str!("../../../runtime/render/src/tests/everything.json");
    let report = Report::from_json(report).unwrap();
    let valid =
        [b"# benign\nrace:reduce_flag\nkernel:^legacy::*\nfile:third_party/\nobject:^s*h$\n".to_vec()];
    let target = Target::new("suppressions");
    check!().with_iterations(usize::MAX).with_test_time(time()).with_type::<Input>().for_each(|input| {
        target.run(edited(&valid, input), |bytes| {
            let Ok(all) = Suppressions::parse(&String::from_utf8_lossy(bytes)) else { return false };
            for race in &report.races {
                let _ = all.of_race(race);
            }
            for divergence in &report.divergence {
                let _ = all.of_divergence(divergence);
            }
            true
        });
    });
}

/// The only file below a folder.
fn only_file(folder: &Path) -> PathBuf {
    let entry = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    if entry.is_dir() { only_file(&entry) } else { entry }
}

#[test]
fn cache_entries() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, key) = (Cache::at(folder.path()), [7; 32]);
    cache.put(&key, &LaunchAnswer { cost_ms: 700, proved: vec![1, 300] }.to_bytes());
    let path = only_file(folder.path());
    let valid = [std::fs::read(&path).unwrap()];
    assert!(cache.get(&key).is_some());
    let target = Target::new("cache entry");
    check!().with_iterations(usize::MAX).with_test_time(time()).with_type::<(bool, Input)>().for_each(
        |(is_sealed, input)| {
            let mut bytes = edited(&valid, input);
            if *is_sealed && bytes.len() >= 64 {
                bytes[..32].copy_from_slice(&key);
                let sum = *blake3::hash(&bytes[64..]).as_bytes();
                bytes[32..64].copy_from_slice(&sum);
            }
            target.run(bytes, |bytes| {
                std::fs::write(&path, bytes).unwrap();
                cache.get(&key).is_some_and(|body| LaunchAnswer::from_bytes(&body).is_some())
            });
        },
    );
}
