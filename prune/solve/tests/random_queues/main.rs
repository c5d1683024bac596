//! Random kernels whose threads take numbers by atomic additions, hand them to their blocks through shared memory, and
//! go on by what they got, beside random executions: no access that is proved takes part in a race.
//!
//! `GPURACE_CASES` sets the number of kernels.
#[path = "../common/mod.rs"]
mod common;

mod acts;
mod describe;
mod execute;

use std::collections::HashMap;

use acts::{Act, Maker};
use common::*;
use describe::{Names, describe};
use execute::{Code, compile, racing_sites};
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::{SiteVerdict, Verdict};
use gpurace_random::Random;

#[test]
fn random_queues_beside_random_executions() {
    let cases = gpurace_random::number("GPURACE_CASES", 200);
    let (mut by_the_rules, mut filled, mut put, mut races) = (0, 0, 0, 0);
    for seed in 0..cases {
        let mut r = Random(seed);
        let tidy = r.chance(60);
        let mut maker = Maker { r: &mut r, values: 0, tidy, hands: 0 };
        let acts = maker.acts(0, &mut Vec::new());
        let mut k = Kernel::new("random");
        let mut names = Names {
            counters: [if tidy { k.pointer("n") } else { k.shared("n", 4) }, k.pointer("m")],
            words: [k.shared("w", 4), k.shared("v", 4)],
            arrays: [k.pointer("out"), k.pointer("other")],
            loops: Vec::new(),
            values: HashMap::new(),
        };
        describe(&mut k, &acts, &mut names);
        let p = k.done();
        let (blocks, threads) = (1 + r.below(2usize), 2 + r.below(3usize));
        let known = guarded(blocks as u32, threads as u32, &p, &[]);
        let proved = |p: &Protocol| {
            let of = |site: &SiteVerdict| matches!(site.verdict, Verdict::Proved).then_some(site.site.0);
            prove_with(p, &known).verdicts.sites.iter().filter_map(of).collect::<Vec<u32>>()
        };
        let without = proved(&Protocol { stored: Vec::new(), ..p.clone() }).len();
        let proved = proved(&p);
        by_the_rules += proved.len().saturating_sub(without);
        let mut code = Vec::new();
        compile(&acts, &mut code, &mut 0);
        for code in &code {
            let Code::Access { act, site } = code else { continue };
            filled += usize::from(matches!(act, Act::Fill { .. }) && proved.contains(site));
            put += usize::from(matches!(act, Act::Put { .. }) && proved.contains(site));
        }
        for _ in 0..30 {
            let Some(racing) = racing_sites(&code, [blocks, threads], !tidy, &mut r) else { continue };
            races += racing.len();
            for site in racing {
                assert!(!proved.contains(&site), "seed {seed}: site {site} of {acts:#?}");
            }
        }
    }
    let enough = by_the_rules > 10 && filled > 4 && put > 4 && races > 1_000;
    assert!(enough, "{by_the_rules} proved, {filled} of them fill, {put} put, {races} races");
}
