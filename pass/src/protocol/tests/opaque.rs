//! Kernels that protocols must not describe. Each has a neighbour in another file that they may.

use super::calls::unknowns;
use super::machine::Argument::Int;
use super::machine::Program;
use super::{ONE, words};
use gpurace_protocol::expr::{Expr, Width};
use gpurace_protocol::protocol::{Protocol, Step, Stmt, Sync, Uniform};

fn loops(body: &[Stmt]) -> Vec<&gpurace_protocol::protocol::Loop> {
    body.iter()
        .flat_map(|stmt| match stmt {
            Stmt::Loop(of) => [vec![of], loops(&of.body)].concat(),
            Stmt::If { then, otherwise, .. } => [loops(then), loops(otherwise)].concat(),
            _ => Vec::new(),
        })
        .collect()
}

fn opaque_groups(protocol: &Protocol) -> Vec<Uniform> {
    protocol.opaques.iter().map(|o| o.uniform).collect()
}

#[test]
fn index_loaded_from_memory() {
    let program = Program::of("KERNEL k(int *a, int *b) { a[b[tid]] = 1; }");
    assert_eq!(opaque_groups(&program.protocol), [Uniform::Thread]);
    program.assert_covered(ONE, [4, 1, 1], &[words(64), words(4)], 200);
}

#[test]
fn condition_loaded_from_memory() {
    let program = Program::of("KERNEL k(int *a, int *b) { if (b[0]) a[tid] = 1; sync(); a[tid + 1] = 2; }");
    // All threads use one address, but may find different values there.
    assert_eq!(opaque_groups(&program.protocol), [Uniform::Thread]);
    program.assert_covered(ONE, [4, 1, 1], &[words(64), words(4)], 20);
}

#[test]
fn value_after_a_loop_that_threads_leave_apart() {
    let source =
        "KERNEL k(int *a, int n) { int i = 0; while (i * i < tid) { a[i] = 1; ++i; } if (i == n) a[i] = 2; }";
    let program = Program::of(source);
    assert_eq!(opaque_groups(&program.protocol), [Uniform::Thread], "{:#?}", program.protocol);
    program.assert_covered(ONE, [4, 1, 1], &[words(64), Int(2)], 200);
}

#[test]
fn value_after_a_loop_that_all_leave_together() {
    let source = "KERNEL k(int *a, int n) { int i = 0; while (i * i < n) { a[i] = 1; ++i; } a[i] = 2; }";
    let program = Program::of(source);
    assert_eq!(opaque_groups(&program.protocol), [Uniform::Grid], "{:#?}", program.protocol);
    program.assert_covered(ONE, [4, 1, 1], &[words(64), Int(10)], 200);
}

#[test]
fn irregular_steps() {
    let source = "KERNEL k(int *a, int n) {
        for (int i = n; i > 0; i = i & (i - 1)) a[i] = 1;
        for (int i = tid + 1; i < n; i = i * i + 1) a[i] = 2; }";
    let program = Program::of(source);
    let steps: Vec<_> = loops(&program.protocol.body).iter().flat_map(|l| &l.vars).map(|v| v.step).collect();
    assert_eq!(steps, [Step::Any(Uniform::Grid), Step::Any(Uniform::Thread)]);
    program.assert_covered(ONE, [4, 1, 1], &[words(64), Int(13)], 400);
}

#[test]
fn conditional_increment_is_no_step() {
    let source = "KERNEL k(int *a, int *b, int n) { int j = 0; for (int i = 0; i < n; ++i) { if (b[i] > 1) { a[j] = 1; ++j; } } }";
    let program = Program::of(source);
    let steps: Vec<_> = loops(&program.protocol.body).iter().flat_map(|l| &l.vars).map(|v| v.step).collect();
    assert!(steps.contains(&Step::Any(Uniform::Thread)), "{steps:?}");
    program.assert_covered(ONE, [2, 1, 1], &[words(64), words(8), Int(4)], 2000);
}

#[test]
fn break_on_loaded_value() {
    let source = "KERNEL k(int *a, int *b, int n) { for (int i = 0; i < n; ++i) { if (b[i] == 3) break; a[i] = 1; sync(); } a[tid] = 2; }";
    let program = Program::of(source);
    let breaks = loops(&program.protocol.body)[0].breaks;
    assert_eq!(breaks.map(|breaks| breaks.uniform), Some(Uniform::Thread));
    program.assert_covered(ONE, [2, 1, 1], &[words(64), words(8), Int(6)], 400);
}

#[test]
fn irreducible_control_flow_is_unknown() {
    let source = "KERNEL k(int *a, int n) { int i = 0; if (n > 3) goto middle;
        top: a[i] = 1; if (i == n) return; middle: ++i; a[i + 1] = 2; if (i < 9) goto top; }";
    let program = Program::of(source);
    let found = unknowns(&program.protocol.body);
    assert!(found.len() == 1 && found[0].touches.is_some() && !found[0].syncs, "{found:?}");
    assert_eq!(program.protocol.body.len(), 1);
}

#[test]
fn irreducible_control_flow_with_barrier_may_sync() {
    let source = "KERNEL k(int *a, int n) { int i = 0; if (n > 3) goto middle;
        top: a[i] = 1; sync(); middle: ++i; if (i < 9) goto top; }";
    assert!(unknowns(&Program::of(source).protocol.body)[0].syncs);
}

#[test]
fn named_barriers_have_numbers() {
    let source = "KERNEL k(int *a, int n) { a[tid] = 1; __nvvm_bar_sync(1);
        asm volatile(\"bar.arrive %0, 64;\" :: \"r\"(n + tid) : \"memory\"); a[0] = 2; }";
    let program = Program::of(source);
    let exprs = &program.protocol.exprs;
    let found: Vec<_> = gpurace_protocol::place::syncs(&program.protocol)
        .into_iter()
        .map(|(sync, _)| match sync {
            Sync::Named(of) => (exprs.as_const(of.id), exprs.as_const(of.threads), of.waits),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(found, [(Some(1), Some(0), true), (None, Some(64), false)]);
    assert!(unknowns(&program.protocol.body).is_empty());
}

#[test]
fn shuffles_and_votes() {
    let source = "KERNEL k(int *a, int n) { int v = __nvvm_shfl_sync_idx_i32(-1, tid, 0, 31); a[v] = 1;
        if (__nvvm_vote_any_sync(-1, tid < n)) a[tid] = 2; if (__nvvm_vote_any_sync(1, tid < n)) a[tid] = 3;
        if (__syncthreads_or(tid < n)) a[tid] = 4; }";
    let source = source.replace("__syncthreads_or", "__nvvm_bar0_or");
    let program = Program::of(&source);
    let mut groups = opaque_groups(&program.protocol);
    groups.sort();
    assert_eq!(
        groups,
        [Uniform::Thread, Uniform::Thread, Uniform::Warp, Uniform::Block],
        "{:#?}",
        program.protocol
    );
}

#[test]
fn vote_in_part_of_a_warp_is_no_common_value() {
    let source =
        "KERNEL k(int *a, int n) { if (tid < n) { if (__nvvm_vote_any_sync(-1, tid & 1)) a[tid] = 2; } }";
    assert_eq!(opaque_groups(&Program::of(source).protocol), [Uniform::Thread]);
}

#[test]
fn trap_does_not_stand_before_what_follows() {
    let source = "KERNEL k(int *a, int n) { if (tid >= n) { a[0] = 1; __builtin_trap(); } a[tid] = 1; sync(); a[tid + 1] = 2; }";
    let program = Program::of(source);
    // Only the write before the trap is conditional.
    let ifs = program.protocol.body.iter().filter(|s| matches!(s, Stmt::If { .. })).count();
    assert_eq!((ifs, program.protocol.body.len()), (1, 4), "{:#?}", program.protocol);
    program.assert_exact(ONE, [4, 1, 1], &[words(64), Int(8)]);
}

#[test]
fn constant_memory_is_the_same_for_all() {
    let source = "__constant__ int limit[4] = {3, 9, 7, 5};
        KERNEL k(int *a) { for (int i = 0; i < limit[0]; ++i) { a[i] = 1; sync(); } a[limit[tid & 3]] = 2; }";
    let program = Program::of(source);
    assert_eq!(
        opaque_groups(&program.protocol),
        [Uniform::Thread],
        "the first limit is a value of the launch"
    );
    program.assert_exact(ONE, [4, 1, 1], &[words(64)]);
}

#[test]
fn what_lies_behind_a_variable_in_constant_memory_is_unknown() {
    let source = "__constant__ int at[4] = {0, 8, 24, 16}, next = 40;
        KERNEL k(int *a) { for (int i = 0; i < 4; ++i) a[at[i] + tid] = 1; }";
    Program::of(source).assert_exact(ONE, [8, 1, 1], &[words(64)]);
    let source = "__constant__ int at[4] = {0, 8, 24, 16}, next = 40;
        KERNEL k(int *a) { if (at[4] == 7) a[0] = 1; }";
    assert_eq!(opaque_groups(&Program::of(source).protocol), [Uniform::Grid]);
}

#[test]
fn what_is_loaded_again_is_one_value() {
    let opaques = |body: &str| {
        let source =
            format!("struct Image {{ int width, height; }}; KERNEL k(int *a, Image *p, int *q) {{ {body} }}");
        Program::of(&source).protocol.opaques.len()
    };
    assert_eq!(opaques("if (tid < p->width) a[ctaid * p->width + tid] = 1;"), 1);
    assert_eq!(opaques("if (tid < p->width && ctaid < p->height) a[ctaid * p->width + tid] = 1;"), 2);
    assert_eq!(
        opaques("int w = p->width; for (int i = 0; i < 3; ++i) a[i * p->width + w] = 1;"),
        2,
        "`a` may be `p`"
    );
    // Another thread may write it behind a barrier, and this one may do so.
    assert_eq!(opaques("if (tid < p->width) { sync(); a[ctaid * p->width + tid] = 1; }"), 2);
    assert_eq!(opaques("if (tid < p->width) { *q = 1; a[ctaid * p->width + tid] = 1; }"), 2);
    // Only one way leads over the first load.
    assert_eq!(opaques("int w = 0; if (tid < 3) w = p->width; a[p->width] = w;"), 1, "`w` decides nothing");
    assert_eq!(opaques("int w = 0; if (tid < 3) w = p->width; a[p->width + w] = 1;"), 2);
    // Not in the same iteration.
    assert_eq!(opaques("int w = 0; for (int i = 0; i < *q; ++i) w += p[i].width; a[p->width] = 1;"), 2);
}

#[test]
fn unused_values_are_left_out() {
    let program =
        Program::of("KERNEL k(int *a, int n, int m) { int x = a[m] * n; if (x > m) x = x % 7; a[0] = x; }");
    assert_eq!(program.protocol.params.len(), 2, "{:#?}", program.protocol);
    let leaves = program.protocol.exprs.iter().filter(|(_, e)| matches!(e, Expr::Opaque { .. })).count();
    assert_eq!(leaves, 0, "{:#?}", program.protocol);
}

#[test]
fn which_site_loads_a_value() {
    let of = |body: &str| {
        let source = format!("KERNEL k(int *a, int *n, int m) {{ __shared__ int s[64]; {body} }}");
        let protocol = Program::of(&source).protocol;
        protocol.opaques.iter().map(|opaque| opaque.loaded_by).collect::<Vec<_>>()
    };
    let site = |id| Some(gpurace_protocol::protocol::SiteId(id));
    assert_eq!(of("for (int i = 0; i < n[ctaid]; ++i) a[i] = 1;"), [site(0)]);
    assert_eq!(of("if (n[2 * tid]) a[n[tid]] = 1;"), [site(0), site(1)]);
    // The program says that other threads may change it meanwhile.
    assert_eq!(of("if (*(volatile int *)n) a[tid] = 1;"), [None]);
    assert_eq!(of("if (__atomic_load_n(n, __ATOMIC_RELAXED)) a[tid] = 1;"), [None]);
    // The value is that of the last iteration.
    assert_eq!(of("int last = 0; for (int i = 0; i < m; ++i) last = n[i]; a[last] = 1;"), [None]);
    // A part of what is loaded.
    let halves = "long long both = ((long long *)n)[ctaid]; if ((short)both) a[tid] = 1;";
    assert_eq!(of(halves), [site(0)]);
}

#[test]
fn which_additions_give_tickets() {
    let of = |body: &str| {
        let source = format!("KERNEL k(int *a, int *n, int m) {{ {body} }}");
        let protocol = Program::of(&source).protocol;
        let ticket = |t: gpurace_protocol::protocol::Ticket| (t.site.0, protocol.exprs.get(t.added));
        protocol.opaques.iter().map(|opaque| opaque.ticket.map(ticket)).collect::<Vec<_>>()
    };
    let constant = |value: i32| Expr::Const { width: Width::W32, bits: u64::from(value as u32) };
    let take = "__atomic_fetch_add(n, 3, __ATOMIC_RELAXED)";
    assert_eq!(of(&format!("a[{take}] = 1;")), [Some((0, constant(3)))]);
    assert_eq!(of("a[__atomic_fetch_sub(n, 1, __ATOMIC_RELAXED)] = 1;"), [Some((0, constant(-1)))]);
    let argument = of("a[__atomic_fetch_add(n, m, __ATOMIC_RELAXED)] = 1;");
    assert!(matches!(argument[..], [Some((0, Expr::Param { .. }))]), "{argument:?}");
    // The value after the addition is a sum.
    assert_eq!(of("a[__atomic_add_fetch(n, 3, __ATOMIC_RELAXED)] = 1;"), [Some((0, constant(3)))]);
    assert_eq!(of(&format!("for (int i = 0; i < m; ++i) a[{take}] = 1;")), [Some((0, constant(3)))]);
    // The value is that of the last iteration.
    assert_eq!(of(&format!("int last = 0; for (int i = 0; i < m; ++i) last = {take}; a[last] = 1;")), [None]);
    assert_eq!(of("a[__atomic_exchange_n(n, 3, __ATOMIC_RELAXED)] = 1;"), [None]);
    assert_eq!(of("a[__atomic_fetch_or(n, 3, __ATOMIC_RELAXED)] = 1;"), [None]);
}

#[test]
fn which_stores_have_known_values() {
    let of = |body: &str| {
        let source = format!(
            "KERNEL k(int *a, int *n, int m) {{ __shared__ int s; {body} sync(); if (tid < s) a[tid] = 1; }}"
        );
        let protocol = Program::of(&source).protocol;
        protocol.stored.iter().map(|stored| protocol.exprs.get(stored.value)).collect::<Vec<_>>()
    };
    let take = "__atomic_fetch_add(n, 3, __ATOMIC_RELAXED)";
    assert!(matches!(of(&format!("if (tid == 0) s = {take};"))[..], [Expr::Opaque { .. }]));
    assert!(matches!(of(&format!("if (tid == 0) s = {take} * 4 + m;"))[..], [Expr::Bin(..)]));
    assert_eq!(of("if (tid == 0) s = 7;"), [Expr::Const { width: Width::W32, bits: 7 }]);
    assert_eq!(of("if (tid == 0) s = m;"), []);
    assert_eq!(of("if (tid == 0) s = a[5];"), []);
    // Other memory, and stores that are no plain ones.
    assert_eq!(of(&format!("if (tid == 0) {{ s = m; a[0] = {take}; }}")), []);
    assert_eq!(of(&format!("if (tid == 0) *(volatile int *)&s = {take};")), []);
}

#[test]
fn breaks_have_conditions() {
    let of = |body: &str| {
        let source =
            format!("KERNEL k(int *a, int *b, int n, int m) {{ for (int i = 0; i < n; ++i) {{ {body} }} }}");
        let protocol = Program::of(&source).protocol;
        let breaks = loops(&protocol.body)[0].breaks;
        breaks.map(|breaks| gpurace_protocol::show::expr(&protocol, &protocol.exprs, breaks.unless))
    };
    assert_eq!(of("a[i] = 1;"), None);
    assert_eq!(of("a[0] = 1; if (i == m) break; a[i] = 1;").as_deref(), Some("i != m"));
    assert_eq!(
        of("a[0] = 1; if (b[i] == m) break; a[i] = 1;").as_deref(),
        Some("[a value loaded from `b`] != m")
    );
    let two = of("a[0] = 1; if (i == m) break; a[i] = 1; if (b[0] > i) break; a[2] = 1;");
    assert!(two.is_some_and(|two| two.contains("i != m") && two.contains("loaded from `b`")));
}

/// No protocol describes a kernel whose blocks share their memory, or wait for each other. Neither
/// does one describe the accesses of other blocks to a block's shared memory.
#[test]
fn blocks_that_reach_each_other() {
    let kernel = |what: &str| {
        let source = format!(
            "__device__ __noinline__ void helper() {{ asm volatile(\"barrier.cluster.arrive;\" ::: \"memory\"); }}
            KERNEL k(int *a) {{ __shared__ int s[64]; s[tid] = a[tid]; {what} a[tid] = s[tid]; }}"
        );
        let program = Program::of(&source);
        let whole = matches!(&program.protocol.body[..], [Stmt::Unknown(u)] if u.why.contains("of a cluster") && u.syncs);
        (whole, unknowns(&program.protocol.body).len())
    };
    for what in [
        "asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: \"memory\");",
        "unsigned r; asm volatile(\"mapa.shared::cluster.u32 %0, %1, 1;\" : \"=r\"(r) : \"r\"(tid)); a[tid + 64] = r;",
        "helper();",
        "if (a[0]) helper();",
    ] {
        assert_eq!(kernel(what), (true, 1), "{what}");
    }
    // A register of clusters is only a value of each thread.
    let register =
        "unsigned r; asm volatile(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(r)); a[tid + 64 + r] = 1;";
    for what in ["sync();", register] {
        assert_eq!(kernel(what), (false, 0), "{what}");
    }
}
