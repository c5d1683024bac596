//! Objects: which of them may be one memory, which of their bytes are accessed, which are only read.

use gpurace_protocol::launch::{Extent, Launch};

use super::*;

#[test]
fn objects_that_are_only_read() {
    let kernel = |written: bool| {
        let mut k = Kernel::new("lookup");
        let table = k.pointer("table");
        let (i, any) = (k.gid(), k.opaque("value loaded from `idx`", Width::W32, Uniform::Thread, &[]));
        let read = k.read(table, any);
        if written {
            k.write(table, i);
        }
        (k, read)
    };
    assert_eq!(proved(kernel(false).0), Vec::<String>::new());
    let (k, read) = kernel(true);
    not_proved(k, &[read]);
}

#[test]
fn no_pointer_leads_to_constant_memory() {
    let conditions = |constant: bool| {
        let mut k = Kernel::new("filter");
        let symbol = "coefficients".to_owned();
        let coefficients = k.object("coefficients", ObjectKind::Variable { symbol, size: 1 << 20, constant });
        let out = k.pointer("out");
        let (i, any) = (k.gid(), k.opaque("value loaded from `idx`", Width::W32, Uniform::Thread, &[]));
        k.read(coefficients, any);
        k.write(out, i);
        proved(k)
    };
    let disjoint = |conditions: &[String]| conditions.iter().any(|c| c.contains("disjoint"));
    assert!(!disjoint(&conditions(true)));
    assert!(disjoint(&conditions(false)));
}

#[test]
fn two_parts_of_dynamic_shared_memory() {
    let kernel = |guarded: bool| {
        let mut k = Kernel::new("carved");
        let (s, n) = (k.dynamic("s"), k.scalar("n"));
        let t = k.tid();
        let inside = k.lt(t, n);
        let cond = if guarded { inside } else { k.p.exprs.truth(true) };
        k.when(cond, |k| {
            k.write(s, t);
            let second = k.add(n, t);
            k.write(s, second);
        });
        k
    };
    let guarded = proved(kernel(true));
    assert!(!guarded.contains(&"blockDim.x <= n".to_owned()), "{guarded:?}");
    let conditions = proved(kernel(false));
    assert!(conditions.contains(&"blockDim.x <= n".to_owned()), "{conditions:?}");
}

#[test]
fn atomics_on_the_same_bytes() {
    let kernel = |ops: [Op; 2], size: i64| {
        let mut k = Kernel::new("histogram");
        let bins = k.pointer("bins");
        let any = k.opaque("value loaded from `data`", Width::W32, Uniform::Thread, &[]);
        let low = k.binc(BinOp::And, any, 255);
        let first = k.access(ops[0], bins, low, 4);
        let index = k.p.exprs.zext(Width::W64, low);
        let by = k.p.exprs.c64(4);
        let offset = k.p.exprs.product(index, by);
        let second = k.access_bytes(ops[1], bins, offset, size);
        (k, vec![first, second])
    };
    let atomic = |scope| Op::Atomic { scope, writes: true };
    let [block, device] = [atomic(Scope::Block), atomic(Scope::Device)];
    let [load, store] = [false, true].map(|writes| Op::Volatile { writes });
    for ops in [[device, device], [device, load]] {
        assert_eq!(proved(kernel(ops, 4).0), Vec::<String>::new(), "{ops:?}");
    }
    // The stores race with each other.
    let (k, sites) = kernel([device, store], 4);
    not_proved(k, &sites[1..]);
    for (ops, size) in [
        ([block, block], 4),
        ([device, device], 8),
        ([device, Op::Read], 4),
        ([block, load], 4),
        ([device, load], 8),
        ([load, store], 4),
        ([store, Op::Read], 4),
    ] {
        let (k, sites) = kernel(ops, size);
        not_proved(k, &sites);
    }
}

#[test]
fn bytes_not_elements() {
    // Each thread writes 16 bytes.
    let kernel = |apart: i64| {
        let mut k = Kernel::new("vectors");
        let s = k.shared("s", 1 << 16);
        let t = k.tid();
        let wide = k.p.exprs.zext(Width::W64, t);
        let by = k.p.exprs.c64(apart);
        let offset = k.p.exprs.product(wide, by);
        let site = k.access_bytes(Op::Write, s, offset, 16);
        (k, site)
    };
    proved(kernel(16).0);
    let (k, site) = kernel(12);
    not_proved(k, &[site]);
}

#[test]
fn stencil_with_two_buffers_and_in_place() {
    let kernel = |in_place: bool| {
        let mut k = Kernel::new("stencil");
        let (a, n) = (k.pointer("a"), k.scalar("n"));
        let b = if in_place { a } else { k.pointer("b") };
        let i = k.gid();
        let last = k.addc(n, -1);
        let zero = k.c(0);
        let (low, high) = (k.lt(zero, i), k.lt(i, last));
        let inside = k.p.exprs.both(low, high);
        let sites = k.when(inside, |k| {
            let [left, own, right] = [-1, 0, 1].map(|d| {
                let at = k.addc(i, d);
                k.read(a, at)
            });
            [left, own, right, k.write(b, i)]
        });
        (k, sites)
    };
    let conditions = proved(kernel(false).0);
    assert!(conditions.contains(&"disjoint(a, b)".to_owned()));
    let (k, sites) = kernel(true);
    not_proved(k, &[sites[0], sites[2], sites[3]]);
}

/// Each thread copies an element.
fn copy() -> Protocol {
    let mut k = Kernel::new("copy");
    let (a, b) = (k.pointer("a"), k.pointer("b"));
    let i = k.gid();
    k.read(a, i);
    k.write(b, i);
    k.done()
}

#[test]
fn disjoint_is_tested_by_bytes() {
    let p = copy();
    let outcome = prove(&p);
    let holds = |shift: u64| {
        let mut at = launch([2, 1, 1], [32, 1, 1], &p, &[]);
        let base = at.params[0] + shift;
        at.params[1] = base;
        // Both lie in one large allocation, as with a pool.
        let pool = Some((at.params[0], at.params[0] + (1 << 20)));
        at.objects[0].as_mut().unwrap().allocation = pool;
        *at.objects[1].as_mut().unwrap() =
            gpurace_protocol::launch::Extent { base, allocation: pool, guard: 0 };
        outcome.verdicts.sites.iter().all(|s| match &s.verdict {
            Verdict::ProvedIf(all) => all.iter().all(|c| c.holds(&p, &outcome.verdicts.exprs, &at)),
            Verdict::Proved => true,
            _ => false,
        })
    };
    assert!(holds(256));
    assert!(!holds(252));
    assert!(!holds(0));
}

#[test]
fn in_place_at_a_launch() {
    // One array for input and output is right if each thread reads what it writes.
    let p = copy();
    let mut at = launch([2, 1, 1], [32, 1, 1], &p, &[]);
    at.params[1] = at.params[0];
    at.objects[1] = at.objects[0];
    at_launch(&p, &at, &[]);
    let base = at.params[0] + 4;
    at.params[1] = base;
    at.objects[1].as_mut().unwrap().base = base;
    at_launch(&p, &at, &[SiteId(0), SiteId(1)]);
}

#[test]
fn unseen_code_keeps_what_it_can_reach() {
    let mut k = Kernel::new("calls");
    let (s, x) = (k.shared("s", 4096), k.pointer("x"));
    let (t, i) = (k.tid(), k.gid());
    k.write(s, t);
    k.write(x, i);
    let why = "call to unknown function 'f'".to_owned();
    k.stmt(Stmt::Unknown(Unknown { why, touches: Some(Space::Global), syncs: false }));
    let outcome = prove(&k.done());
    assert_eq!(words(&outcome), ["proved-if", "unknown"]);
}

#[test]
fn opaque_pointers_meet_everything_of_their_space() {
    let mut k = Kernel::new("opaque");
    let (s, x) = (k.shared("s", 4096), k.pointer("x"));
    let any = k.object(
        "*table",
        ObjectKind::Opaque { space: Space::Global, uniform: Uniform::Thread, loaded_by: None },
    );
    let (t, i) = (k.tid(), k.gid());
    k.write(s, t);
    k.write(x, i);
    k.read(any, i);
    let outcome = prove(&k.done());
    assert_eq!(words(&outcome), ["proved-if", "unknown", "unknown"]);
}

/// `m.p[which][i] = ...` and `m.p[other][i]`, with pointers in a struct that is passed by value.
fn slots(k: &mut Kernel, which: E, first: i64) -> ObjectId {
    let (wide, eight, first) = (k.p.exprs.zext(Width::W64, which), k.p.exprs.c64(8), k.p.exprs.c64(first));
    let bytes = k.p.exprs.product(wide, eight);
    let at = k.p.exprs.sum(bytes, first);
    k.object("m.p", ObjectKind::Slot { at })
}

/// A launch with these pointers from byte `first` on, each to so many bytes of one allocation.
fn with_pointers(p: &Protocol, launch: &Launch, first: u32, pointers: &[u64]) -> Launch {
    let mut launch = launch.clone();
    let read = |at: u32, width: Width| {
        let at = (at.checked_sub(first)? / 8) as usize;
        pointers.get(at).copied().filter(|_| width == Width::W64)
    };
    let behind = |base| Extent { base, allocation: Some((1 << 32, (1 << 32) + 4096)), guard: 0 };
    gpurace_protocol::arguments::read(p, &mut launch, &read, &behind);
    launch
}

#[test]
fn pointers_in_an_argument_that_blocks_choose() {
    // Each row of blocks has its own pointer, and in the neighbour, the first row's.
    let kernel = |own: bool| {
        let mut k = Kernel::new("batched");
        let (x, y) = (k.gid(), k.bidy());
        let zero = k.c(0);
        let m = slots(&mut k, if own { y } else { zero }, 0);
        let write = k.write(m, x);
        (k, write)
    };
    let conditions = proved(kernel(true).0);
    assert!(conditions.contains(&"disjoint(m.p, m.p)".to_owned()), "{conditions:?}");
    // With one row, the neighbour is free of races too.
    let conditions = proved(kernel(false).0);
    assert!(conditions.contains(&"gridDim.y == 1".to_owned()), "{conditions:?}");

    let (k, write) = kernel(true);
    let p = k.done();
    let one = launch([2, 3, 1], [32, 1, 1], &p, &[]);
    let base = 1 << 32;
    let apart = with_pointers(&p, &one, 0, &[base, base + 256, base + 512]);
    at_launch(&p, &apart, &[]);
    let verdicts = prove(&p).verdicts;
    let held = |launch: &Launch| match &verdicts.sites[0].verdict {
        Verdict::ProvedIf(conditions) => conditions.iter().all(|c| c.holds(&p, &verdicts.exprs, launch)),
        other => panic!("{other:?}"),
    };
    assert!(held(&apart));
    // Two rows have one pointer; the last elements of one row are the first of another; a pointer leads to
    // the end of its memory; one pointer is not known.
    let same = with_pointers(&p, &one, 0, &[base, base + 256, base]);
    let overlap = with_pointers(&p, &one, 0, &[base, base + 252, base + 512]);
    for launch in [same, overlap] {
        assert!(!held(&launch));
        assert_eq!(racing(&p, &launch, 0), [write].into());
        assert_eq!(words(&prove_with(&p, &launch)), ["unknown"]);
    }
    for pointers in [&[base, base + 256, base + 4000][..], &[base, base + 256]] {
        let launch = with_pointers(&p, &one, 0, pointers);
        assert!(!held(&launch));
        assert_eq!(words(&prove_with(&p, &launch)), ["unknown"]);
    }
}

#[test]
fn a_pointer_in_an_argument_that_the_launch_chooses() {
    let kernel = |of_loop: bool| {
        let mut k = Kernel::new("pick");
        let (n, i) = (k.scalar("n"), k.gid());
        let write = |k: &mut Kernel, which: E| {
            let m = slots(k, which, 16);
            k.write(m, i)
        };
        if of_loop {
            k.range(0, n, write)
        } else {
            write(&mut k, n)
        };
        k
    };
    let disjoint = |conditions: Vec<String>| conditions.contains(&"disjoint(m.p, m.p)".to_owned());
    assert!(!disjoint(proved(kernel(false))));
    assert!(disjoint(proved(kernel(true))));
}

#[test]
fn pointers_in_an_argument_that_threads_choose() {
    // `m.p[t & 3][t >> 2]`, and `m.p[t & 3][t >> 3]`, where two threads meet.
    let kernel = |apart: bool| {
        let mut k = Kernel::new("by_thread");
        let t = k.tid();
        let (which, i) = (k.binc(BinOp::And, t, 3), k.binc(BinOp::LShr, t, if apart { 2 } else { 3 }));
        let m = slots(&mut k, which, 16);
        let write = k.write(m, i);
        (k, vec![write])
    };
    only_with(kernel);
}

#[test]
fn pointers_in_an_argument_that_a_loop_goes_through() {
    // In the neighbour the threads exchange what they wrote through the pointer before.
    let kernel = |same: bool| {
        let mut k = Kernel::new("views");
        let (n, i) = (k.scalar("n"), k.gid());
        let next = k.addc(i, 1);
        let sites = k.range(1, n, |k, v| {
            let before = k.addc(v, -1);
            let (m, other) = (slots(k, v, 64), slots(k, before, 64));
            let write = k.write(m, i);
            let read = k.read(other, if same { i } else { next });
            vec![write, read]
        });
        (k, sites)
    };
    only_with(kernel);
}

#[test]
fn a_pointer_in_an_argument_may_be_a_parameter() {
    let kernel = |apart: bool| {
        let mut k = Kernel::new("slot_and_parameter");
        let x = k.pointer("x");
        let (t, y) = (k.tid(), k.bidy());
        let next = k.addc(t, 1);
        // The parameter lies at byte 0.
        let m = slots(&mut k, y, if apart { 8 } else { 0 });
        let read = k.read(x, next);
        let write = k.write(m, t);
        (k, vec![read, write])
    };
    only_with(kernel);
}

#[test]
fn numbers_in_an_argument_are_known_at_a_launch() {
    // `m.p[tensor[b]][chunk[b] * 64 + t]`
    let mut k = Kernel::new("tensors");
    let (b, t) = (k.bid(), k.tid());
    let number = |k: &mut Kernel, first: i64| {
        let (wide, four, first) = (k.p.exprs.zext(Width::W64, b), k.p.exprs.c64(4), k.p.exprs.c64(first));
        let bytes = k.p.exprs.product(wide, four);
        let at = k.p.exprs.sum(bytes, first);
        let made = k.opaque("an element", Width::W32, Uniform::Block, &[]);
        k.p.opaques.last_mut().unwrap().argument = Some(at);
        made
    };
    let (tensor, chunk) = (number(&mut k, 64), number(&mut k, 128));
    let m = slots(&mut k, tensor, 0);
    let start = k.mulc(chunk, 64);
    let index = k.add(start, t);
    let write = k.write(m, index);
    let p = k.done();
    let given = |tensors: [u64; 4], chunks: [u64; 4]| {
        let mut launch = launch([4, 1, 1], [64, 1, 1], &p, &[]);
        let read = |at: u32, width: Width| match (at, width) {
            (64..80, Width::W32) => Some(tensors[(at as usize - 64) / 4]),
            (128..144, Width::W32) => Some(chunks[(at as usize - 128) / 4]),
            (0..16, Width::W64) => Some(u64::from(at / 8 + 1) << 32),
            _ => None,
        };
        let behind = |base| Extent { base, allocation: Some((base, base + 4096)), guard: 0 };
        gpurace_protocol::arguments::read(&p, &mut launch, &read, &behind);
        launch
    };
    at_launch(&p, &given([0, 0, 0, 1], [0, 1, 2, 0]), &[]);
    at_launch(&p, &given([1, 0, 1, 0], [7, 2, 2, 7]), &[]);
    // Two blocks have one part of one tensor.
    for launch in [given([0, 0, 0, 1], [0, 1, 1, 0]), given([1, 1, 0, 1], [0, 1, 0, 0])] {
        assert_eq!(racing(&p, &launch, 0), [write].into());
        assert_eq!(words(&prove_with(&p, &launch)), ["unknown"]);
    }
    // A tensor without a pointer.
    assert_eq!(words(&prove_with(&p, &given([0, 0, 0, 9], [0, 1, 2, 0]))), ["unknown"]);
}
