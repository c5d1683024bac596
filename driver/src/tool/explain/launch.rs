//! One launch of a kernel: reads it from the command line, and solves for it.

use std::collections::HashMap;

use gpurace_protocol::arguments;
use gpurace_protocol::client::Solver;
use gpurace_protocol::launch::{Extent, GUARD, Launch, LaunchShape};
use gpurace_protocol::protocol::{ObjectKind, Param, Protocol};
use gpurace_protocol::show;
use gpurace_protocol::verdict::{Verdict as Answered, Verdicts, Witness};
use gpurace_protocol::wire::Request;
use serde_json::{Value, json};

use super::{Known, remarks};
use crate::diagnostic::Error;
use crate::tool::facts::{Site, Verdict};
use crate::toolchain::World;

/// The address of the first allocation.
const FIRST: u64 = 1 << 48;
/// The size of an allocation without a given size, in bytes.
const LARGE: u64 = 1 << 40;
/// The most threads of a block.
const MOST_THREADS: u64 = 1024;

/// Remarks by number of the site.
pub type Remarks = HashMap<u32, Vec<String>>;

/// Replaces the verdicts for all launches by those for one. Returns the launch in words, and remarks.
///
/// # Errors
/// The launch is impossible, or the solver is missing.
pub fn solve(kernel: &mut Known, text: &str) -> Result<(String, Remarks), Error> {
    let Some(proofs) = &kernel.proofs else {
        return Err(Error::new(format!(
            "the prover does not follow `{}`, so it cannot solve for a launch",
            kernel.facts.name
        ))
        .hint("run `gpurace explain` without `--launch` for the reason"));
    };
    let protocol = &proofs.protocol;
    let (launch, unused) = read(text, protocol, &kernel.facts.name)?;
    let installation = World::real()?.installation()?;
    let solver = installation.solver.ok_or_else(|| {
        Error::new("`libgpurace_solve.so` was not found").hint("build gpurace with `scripts/setup`")
    })?;
    let failed = |e| Error::new(format!("no answer for this launch: {e}"));
    let request =
        Request { protocol: protocol.clone(), launch: Some(launch.clone()), budget_ms: 0, dump: None };
    let answer = Solver::open(&solver).and_then(|solver| solver.ask(&request)).map_err(failed)?;
    let places: HashMap<u32, Site> =
        kernel.sites.iter().copied().zip(kernel.facts.sites.iter().cloned()).collect();
    for (number, site) in kernel.sites.iter().zip(&mut kernel.facts.sites) {
        decide(site, *number, protocol, [&proofs.verdicts, &answer.verdicts], &launch, &places);
    }
    let remarks = remarks::of_first_warp(protocol, &launch);
    let dims = |[x, y, z]: [u32; 3]| format!("({x},{y},{z})");
    let mut head = format!("launch: grid {}, block {}\n", dims(launch.shape.grid), dims(launch.shape.block));
    for name in unused {
        head += &format!("note: no access depends on an argument `{name}`; {}\n", takes(protocol));
    }
    Ok((head, remarks))
}

/// Sets the verdict on a site for this launch. It is proved if the launch meets the conditions of the proof
/// for all launches, or if the solver proves it for this launch.
fn decide(
    site: &mut Site,
    number: u32,
    protocol: &Protocol,
    verdicts: [&Verdicts; 2],
    launch: &Launch,
    places: &HashMap<u32, Site>,
) {
    let [before, now] = verdicts.map(|v| v.sites.iter().find(|site| site.site.0 == number));
    site.requires.clear();
    site.witness = Value::Null;
    let failing = match before.map(|found| &found.verdict) {
        Some(Answered::Proved) => return,
        Some(Answered::ProvedIf(conditions)) => {
            let exprs = &verdicts[0].exprs;
            let failing: Vec<String> = conditions
                .iter()
                .filter(|condition| !condition.holds(protocol, exprs, launch))
                .map(|condition| show::condition(protocol, exprs, condition))
                .collect();
            if failing.is_empty() {
                site.verdict = Verdict::Proved;
                site.why = Some("this launch meets its conditions".to_owned());
                return;
            }
            failing
        }
        Some(Answered::Racy(_) | Answered::Unknown(_)) | None => Vec::new(),
    };
    let (verdict, mut why) = match now.map(|found| (&found.verdict, found.why.clone())) {
        Some((Answered::Proved, why)) => (Verdict::Proved, why),
        Some((Answered::ProvedIf(conditions), why)) => {
            let hold = conditions.iter().all(|c| c.holds(protocol, &verdicts[1].exprs, launch));
            (if hold { Verdict::Proved } else { Verdict::Checked }, why)
        }
        Some((Answered::Racy(race), why)) => {
            site.witness = in_words(race, places);
            (Verdict::Racy, why)
        }
        Some((Answered::Unknown(why), _)) => (Verdict::Checked, why.clone()),
        None => (Verdict::Checked, "the prover does not follow how the kernel reaches it".to_owned()),
    };
    if let Some(other) = now.and_then(|found| found.with).and_then(|other| places.get(&other.0)) {
        why += &format!(" (with {})", other.place());
    }
    if !failing.is_empty() && verdict != Verdict::Proved {
        why += &format!("; this launch does not meet {}", failing.join(", "));
    }
    (site.verdict, site.why) = (verdict, Some(why));
}

/// Returns a witness in the form of facts.
fn in_words(race: &Witness, places: &HashMap<u32, Site>) -> Value {
    let side = |access: &gpurace_protocol::verdict::WitnessAccess| {
        let site = places.get(&access.site.0);
        json!({
            "op": site.map(|site| &site.op),
            "line": site.and_then(|site| site.line),
            "block": access.ctaid,
            "thread": access.tid,
            "offset": access.offset,
            "size": access.size,
        })
    };
    json!({
        "grid": race.launch.shape.grid,
        "block": race.launch.shape.block,
        "params": {},
        "object": race.object,
        "accesses": [side(&race.accesses[0]), side(&race.accesses[1])],
    })
}

/// Returns the list of names that `--launch` takes.
fn takes(protocol: &Protocol) -> String {
    let names = protocol.params.iter().map(|param| format!(", `{}`", param.name));
    format!("`--launch` takes `grid`, `block`, `shared`{}", names.collect::<String>())
}

/// Reads a launch such as `grid=4,2,block=256,n=1000,x=ptr(4096),y=x+64`. Also returns the names of arguments
/// that no address and no condition depends on.
fn read<'t>(text: &'t str, protocol: &Protocol, kernel: &str) -> Result<(Launch, Vec<&'t str>), Error> {
    let mut given: Vec<(&str, Vec<&str>)> = Vec::new();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match (word.split_once('='), given.last_mut()) {
            (Some((name, value)), _) => given.push((name.trim(), vec![value.trim()])),
            (None, Some((_, values))) => values.push(word),
            (None, None) => {
                return Err(Error::new(format!("`{word}` of `--launch` has no name"))
                    .hint("write `grid=4,2,block=256,n=1000`"));
            }
        }
    }
    let known = |name: &str| protocol.params.iter().any(|param| param.name == name);
    let mut values: HashMap<&str, &str> = HashMap::new();
    let mut dims = HashMap::from([("grid", [1; 3]), ("block", [0; 3])]);
    let mut dynamic_shared = 0;
    let mut unused = Vec::new();
    for (name, words) in &given {
        if let Some(dims) = dims.get_mut(name) {
            *dims = dimensions(name, words)?;
        } else if let [value] = words[..] {
            if *name == "shared" && !known(name) {
                dynamic_shared = number(name, value, 32)? as u32;
            } else if known(name) {
                values.insert(name, value);
            } else {
                unused.push(*name);
            }
        } else {
            return Err(Error::new(format!("`{name}` of `--launch` has {} values, wanted one", words.len())));
        }
    }
    let (grid, block) = (dims["grid"], dims["block"]);
    let most = match protocol.max_threads {
        0 => MOST_THREADS,
        most => u64::from(most).min(MOST_THREADS),
    };
    let threads: u64 = block.iter().map(|n| u64::from(*n)).fold(1, u64::saturating_mul);
    if threads == 0 {
        return Err(Error::new("`--launch` has no block size").hint("add `block=256`"));
    }
    if threads > most {
        return Err(Error::new(format!(
            "a block of {threads} threads is too big: `{kernel}` takes at most {most}"
        )));
    }
    let mut launch =
        Launch { shape: LaunchShape { grid, block, cluster: None, dynamic_shared }, ..Launch::default() };
    arguments(&mut launch, protocol, &values)?;
    Ok((launch, unused))
}

/// Reads the dimensions of a grid or block. Those that are left out are 1.
fn dimensions(name: &str, words: &[&str]) -> Result<[u32; 3], Error> {
    let mut dims = [1; 3];
    if words.len() > 3 {
        return Err(Error::new(format!("`{name}` has {} dimensions, wanted at most 3", words.len())));
    }
    for (dim, word) in dims.iter_mut().zip(words) {
        *dim = number(name, word, 32)? as u32;
        if *dim == 0 || *dim > i32::MAX as u32 {
            return Err(Error::new(format!("`{name}` has a dimension of {word}")));
        }
    }
    Ok(dims)
}

/// Reads a whole number of `bits` bits, signed or not. Returns it zero-extended.
fn number(name: &str, text: &str, bits: u32) -> Result<u64, Error> {
    let wrong = || Error::new(format!("`{name}` is `{text}`, wanted a whole number of {bits} bits"));
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16),
        None => digits.parse::<i128>(),
    };
    let value = value.map_err(|_| wrong())?;
    let value = if negative { -value } else { value };
    let fits = value >= -(1i128 << (bits - 1)) && value < 1i128 << bits;
    // The low bits of a negative number are its two's complement.
    if fits { Ok((value & ((1i128 << bits) - 1)) as u64) } else { Err(wrong()) }
}

/// Sets the values of all parameters and the places of all objects.
fn arguments(launch: &mut Launch, protocol: &Protocol, values: &HashMap<&str, &str>) -> Result<(), Error> {
    let mut next = FIRST;
    let mut place = |size: u64| {
        let start = next;
        next += size.next_multiple_of(LARGE) + LARGE;
        (start, start + size)
    };
    let mut pointers: HashMap<&str, Extent> = HashMap::new();
    for param in protocol.params.iter().filter(|param| param.pointer) {
        let size = match values.get(param.name.as_str()) {
            None => LARGE,
            Some(text) => match text.strip_prefix("ptr(").and_then(|rest| rest.strip_suffix(')')) {
                Some(size) => number(&param.name, size, 40)?,
                // It points into the memory of another pointer: see below.
                None => continue,
            },
        };
        let (start, end) = place(size);
        pointers.insert(&param.name, Extent { base: start, allocation: Some((start, end)), guard: GUARD });
    }
    for param in protocol.params.iter().filter(|param| param.pointer) {
        if !pointers.contains_key(param.name.as_str()) {
            let extent = alias(param, values[param.name.as_str()], &pointers)?;
            pointers.insert(&param.name, extent);
        }
    }
    // Values in constant memory are unknown if none is given.
    let is_given = |param: &&Param| values.contains_key(param.name.as_str());
    let constants = protocol.params.iter().filter(|param| param.is_constant()).any(|param| is_given(&param));
    for param in protocol.params.iter().filter(|param| constants || !param.is_constant()) {
        let value = match (pointers.get(param.name.as_str()), values.get(param.name.as_str())) {
            (Some(extent), _) if param.pointer => extent.base,
            (_, Some(text)) => number(&param.name, text, param.width.bits())?,
            (_, None) => {
                return Err(Error::new(format!("`--launch` has no value for `{}`", param.name))
                    .hint(format!("add `{}=VALUE`; {}", param.name, takes(protocol))));
            }
        };
        launch.params.push(value);
    }
    for object in &protocol.objects {
        launch.objects.push(match &object.kind {
            ObjectKind::Param(id) | ObjectKind::Image(id) => protocol
                .params
                .get(id.0 as usize)
                .and_then(|param| pointers.get(param.name.as_str()))
                .copied(),
            ObjectKind::Variable { size, .. } => {
                let (start, end) = place(*size);
                Some(Extent { base: start, allocation: Some((start, end)), guard: GUARD })
            }
            ObjectKind::GridBarrier
            | ObjectKind::Shared { .. }
            | ObjectKind::DynamicShared
            | ObjectKind::Unshared
            | ObjectKind::Slot { .. }
            | ObjectKind::Opaque { .. } => None,
        });
    }
    // Only tables of the source are known.
    arguments::read(protocol, launch, &|_, _| None, &|base| Extent { base, ..Extent::default() });
    Ok(())
}

/// Returns the place of `x`, `x+64` or `x-64`: so many bytes from another pointer, in its allocation.
fn alias(param: &Param, text: &str, pointers: &HashMap<&str, Extent>) -> Result<Extent, Error> {
    let at = text.find(['+', '-']).unwrap_or(text.len());
    let (other, offset) = text.split_at(at);
    let offset = match offset {
        "" => 0,
        offset => number(&param.name, offset.strip_prefix('+').unwrap_or(offset), 64)?,
    };
    match pointers.get(other.trim()) {
        Some(of) => Ok(Extent { base: of.base.wrapping_add(offset), ..*of }),
        None => Err(Error::new(format!("`{}` is `{text}`, wanted a place in memory", param.name))
            .hint("`ptr(BYTES)` is an allocation of its own, `x+64` points 64 bytes behind `x`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpurace_protocol::expr::{ParamId, Width};
    use gpurace_protocol::protocol::Object;

    /// `k(int n, float* x, float* y)`.
    fn protocol() -> Protocol {
        let param = |name: &str, width, pointer| Param { name: name.into(), width, offset: 0, pointer };
        let object = |name: &str, id| Object { name: name.into(), kind: ObjectKind::Param(ParamId(id)) };
        Protocol {
            params: vec![
                param("n", Width::W32, false),
                param("x", Width::W64, true),
                param("y", Width::W64, true),
            ],
            objects: vec![object("x", 1), object("y", 2)],
            ..Protocol::default()
        }
    }

    #[test]
    fn launches_are_read() {
        let (launch, unused) = read("grid=4,2,block=256,n=-1", &protocol(), "k").unwrap();
        assert!(unused.is_empty());
        assert_eq!((launch.shape.grid, launch.shape.block), ([4, 2, 1], [256, 1, 1]));
        assert_eq!(launch.params[0], 0xffff_ffff);
        let [x, y] = [0, 1].map(|i| launch.objects[i].unwrap().allocation.unwrap());
        assert!(x.1 <= y.0, "allocations of their own: {x:?}, {y:?}");
        assert_eq!(launch.params[1..], [x.0, y.0]);
    }

    #[test]
    fn pointers_lie_where_they_are_said_to() {
        let (launch, _) = read("block=32,y=ptr(4096),x=y+64,n=0x10", &protocol(), "k").unwrap();
        let [x, y] = [0, 1].map(|i| launch.objects[i].unwrap());
        assert_eq!((x.base, x.allocation), (y.base + 64, y.allocation));
        assert_eq!(y.allocation, Some((y.base, y.base + 4096)));
        assert_eq!(launch.params[0], 16);
    }

    #[test]
    fn arguments_that_nothing_depends_on_are_named() {
        let (launch, unused) = read("block=32,m=1,n=4,scale=0.5", &protocol(), "k").unwrap();
        assert_eq!((unused, launch.params[0]), (vec!["m", "scale"], 4));
    }

    #[test]
    fn impossible_launches_are_refused() {
        let refused = |text| read(text, &protocol(), "k").unwrap_err().to_string();
        insta::assert_snapshot!(refused("block=32,m=1"), @r"
        error: `--launch` has no value for `n`
        hint: add `n=VALUE`; `--launch` takes `grid`, `block`, `shared`, `n`, `x`, `y`
        ");
        insta::assert_snapshot!(refused("n=1"), @r"
        error: `--launch` has no block size
        hint: add `block=256`
        ");
        insta::assert_snapshot!(refused("block=64,32,n=1"), @"error: a block of 2048 threads is too big: `k` takes at most 1024");
        insta::assert_snapshot!(refused("block=32,n=4294967296"), @"error: `n` is `4294967296`, wanted a whole number of 32 bits");
        insta::assert_snapshot!(refused("block=32,n=1,x=z"), @r"
        error: `x` is `z`, wanted a place in memory
        hint: `ptr(BYTES)` is an allocation of its own, `x+64` points 64 bytes behind `x`
        ");
    }
}
