//! Protocols, requests and answers, and what reads them at a launch.

use bolero::check;
use gpurace_abi::LaunchShape;
use gpurace_fuzz::{Input, Target, edited, time};
use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::{Axis, BinOp, Cast, CmpOp, Expr, LoopId, OpaqueId, ParamId, VarId, Width};
use gpurace_protocol::launch::{Extent, Launch};
use gpurace_protocol::place::{self, Place};
use gpurace_protocol::protocol::{
    Access, Breaks, Induction, Loop, Object, ObjectId, ObjectKind, Op, Opaque, PROTOCOL_VERSION, Param,
    Protocol, Scope, SiteId, Space, Step, Stmt, Stored, Sync, Test, Ticket, Uniform, Unknown,
};
use gpurace_protocol::run::{self, Thread};
use gpurace_protocol::verdict::{SiteVerdict, Verdict, Verdicts, Witness, WitnessAccess};
use gpurace_protocol::wire::{self, Answer, KernelProofs, ModuleProofs, Request, to_bytes};
use gpurace_protocol::{show, touched};

/// A protocol with each kind of statement and of object.
fn protocol() -> Protocol {
    let mut protocol = Protocol { kernel: "k".to_owned(), ..Protocol::default() };
    let param =
        |name: &str, offset, pointer| Param { name: name.to_owned(), width: Width::W64, offset, pointer };
    protocol.params = vec![param("out", 0, true), param("n", 8, false)];
    let object = |name: &str, kind| Object { name: name.to_owned(), kind };
    protocol.opaques = vec![Opaque {
        what: "a load".to_owned(),
        width: Width::W64,
        uniform: Uniform::Warp,
        loops: vec![LoopId(0)],
        range: Some((0, 7)),
        loaded_by: Some(SiteId(0)),
        argument: None,
        last: None,
        ticket: None,
    }];
    let e = &mut protocol.exprs;
    let tid = e.add(Expr::Tid(Axis::X));
    let wide = e.zext(Width::W64, tid);
    let four = e.c64(4);
    protocol.stored = vec![Stored { site: SiteId(0), value: four }];
    protocol.opaques[0].ticket = Some(Ticket { site: SiteId(0), added: four });
    let offset = e.bin(BinOp::Mul, wide, four);
    let n = e.add(Expr::Param { id: ParamId(1), width: Width::W64 });
    let var = e.add(Expr::Var { id: VarId(0), width: Width::W64 });
    let opaque = e.add(Expr::Opaque { id: OpaqueId(0), width: Width::W64 });
    let turn = e.add(Expr::Iteration(LoopId(0)));
    let below = e.cmp(CmpOp::Slt, var, n);
    let odd = e.cmp(CmpOp::Ne, opaque, turn);
    let index = e.select(odd, offset, var);
    let mask = e.add(Expr::Cast(Cast::Trunc, Width::W32, n));
    let at = e.c64(16);
    protocol.objects = vec![
        object("out", ObjectKind::Param(ParamId(0))),
        object("tile", ObjectKind::Shared { size: 256 }),
        object("slot", ObjectKind::Slot { at }),
        object("v", ObjectKind::Variable { symbol: "v".to_owned(), size: 64, constant: false }),
        object("?", ObjectKind::Opaque { space: Space::Global, uniform: Uniform::Grid, loaded_by: None }),
    ];
    let access = |site, op, object, offset| {
        Stmt::Access(Access { site: SiteId(site), op, object: ObjectId(object), offset, size: four })
    };
    protocol.body = vec![
        access(0, Op::Write, 0, offset),
        Stmt::Sync(Sync::Block),
        Stmt::Loop(Loop {
            id: LoopId(0),
            vars: vec![Induction { id: VarId(0), width: Width::W64, from: wide, step: Step::Add(four) }],
            cond: below,
            test: Test::Before,
            breaks: Some(Breaks { uniform: Uniform::Thread, unless: odd }),
            body: vec![
                Stmt::If {
                    cond: odd,
                    then: vec![access(1, Op::Read, 1, index), Stmt::Sync(Sync::Lanes(mask))],
                    otherwise: vec![access(2, Op::Atomic { scope: Scope::Device, writes: true }, 2, var)],
                },
                Stmt::Sync(Sync::Warp),
            ],
        }),
        access(3, Op::Volatile { writes: false }, 3, offset),
        Stmt::Unknown(Unknown { why: "a call".to_owned(), touches: None, syncs: true }),
    ];
    protocol
}

fn launch() -> Launch {
    let extent = Extent { base: 4096, allocation: Some((4096, 1024)), guard: 0 };
    Launch {
        shape: LaunchShape { grid: [2, 1, 1], block: [32, 1, 1], ..LaunchShape::default() },
        params: vec![4096, 5],
        objects: vec![Some(extent), None, None, Some(extent), None],
        ..Launch::default()
    }
}

fn verdicts(protocol: &Protocol) -> Verdicts {
    let mut exprs = protocol.exprs.clone();
    let n = exprs.add(Expr::Param { id: ParamId(1), width: Width::W64 });
    let (seven, grid) = (exprs.c64(7), exprs.add(Expr::Nctaid(Axis::Y)));
    let small = exprs.cmp(CmpOp::Ult, n, seven);
    let wide = exprs.zext(Width::W64, grid);
    let conditions = vec![
        Condition::Holds(small),
        Condition::Fits { value: wide, signed: true, guards: vec![(small, false)] },
        Condition::Disjoint(ObjectId(0), ObjectId(3)),
    ];
    let side =
        WitnessAccess { site: SiteId(1), op: Op::Read, ctaid: [0; 3], tid: [1, 0, 0], offset: -4, size: 4 };
    let witness = Witness { launch: launch(), accesses: [side.clone(), side], object: "tile".to_owned() };
    let of = |site, verdict| SiteVerdict { site: SiteId(site), verdict, why: "so".to_owned(), with: None };
    let sites = vec![
        of(0, Verdict::ProvedIf(conditions)),
        of(1, Verdict::Racy(Box::new(witness))),
        of(2, Verdict::Unknown("?".to_owned())),
        of(3, Verdict::Proved),
    ];
    Verdicts { exprs, sites }
}

/// The magic number and the version.
const HEAD: usize = 8;

/// Makes the head of encoded bytes right.
fn headed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= HEAD {
        bytes[..4].copy_from_slice(b"gprp");
        bytes[4..HEAD].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
    }
    bytes
}

fn fuzz(
    name: &'static str,
    valid: Vec<u8>,
    decode: impl Fn(&[u8]) -> bool + std::panic::RefUnwindSafe + Copy,
) {
    let target = Target::new(name);
    assert!(decode(&valid), "{name} refuses a valid input");
    let valid = [valid];
    check!().with_iterations(usize::MAX).with_test_time(time()).with_type::<Input>().for_each(|input| {
        let bytes = edited(&valid, input);
        target.run(headed(&bytes), decode);
    });
}

/// Does what the runtime does with a protocol at a launch.
fn used(protocol: &Protocol) {
    let launch = launch();
    for place in Place::all(protocol) {
        let _ = (place.guards(), place.loops().count());
    }
    let _ =
        (place::syncs(protocol), touched::parts(protocol, &launch), touched::unreached(protocol, &launch));
    let _ = run::trace(protocol, &launch, Thread::default(), &mut |_| 1, 1000);
}

fn tested(verdicts: &Verdicts, protocol: &Protocol) {
    for site in &verdicts.sites {
        if let Verdict::ProvedIf(conditions) = &site.verdict {
            for condition in conditions {
                let _ = condition.holds(protocol, &verdicts.exprs, &launch());
                let _ = show::condition(protocol, &verdicts.exprs, condition);
            }
        }
    }
}

#[test]
fn kernels() {
    fuzz("protocol", to_bytes(&protocol()), |bytes| match wire::protocol(bytes) {
        Ok(protocol) => {
            used(&protocol);
            true
        }
        Err(_) => false,
    });
}

#[test]
fn proofs_of_a_kernel() {
    let protocol = protocol();
    let proofs = KernelProofs { verdicts: verdicts(&protocol), protocol };
    fuzz("proofs", to_bytes(&proofs), |bytes| match wire::kernel_proofs(bytes) {
        Ok(proofs) => {
            used(&proofs.protocol);
            tested(&proofs.verdicts, &proofs.protocol);
            true
        }
        Err(_) => false,
    });
}

#[test]
fn proofs_of_a_module() {
    let proofs = ModuleProofs { at_launch: true, kernels: vec![("k".to_owned(), to_bytes(&protocol()))] };
    fuzz("module's proofs", to_bytes(&proofs), |bytes| wire::module_proofs(bytes).is_ok());
}

#[test]
fn requests_to_the_solver() {
    let request = Request { protocol: protocol(), launch: Some(launch()), budget_ms: 5, dump: None };
    fuzz("request", to_bytes(&request), |bytes| wire::request(bytes).is_ok());
}

#[test]
fn answers_of_the_solver() {
    let protocol = protocol();
    let answer = Answer { verdicts: verdicts(&protocol), queries: 3, gave_up: 1, cost_ms: 300 };
    fuzz("answer", to_bytes(&answer), |bytes| {
        let protocol = self::protocol();
        match wire::answer(bytes, &protocol) {
            Ok(answer) => {
                tested(&answer.verdicts, &protocol);
                true
            }
            Err(_) => false,
        }
    });
}

#[test]
fn nesting_has_a_bound() {
    let mut protocol = protocol();
    let cond = protocol.exprs.truth(true);
    protocol.body = Vec::new();
    let flat = to_bytes(&protocol);
    protocol.body = vec![Stmt::If { cond, then: Vec::new(), otherwise: Vec::new() }];
    let nested = to_bytes(&protocol);
    // The bytes of an `if`, up to its first list.
    let at = flat.iter().zip(&nested).position(|(a, b)| a != b).unwrap();
    let whole = nested.len() - flat.len();
    let begin = &nested[at..at + whole - 1];
    let bytes = [&nested[..at], &begin.repeat(200_000), &[0; 64]].concat();
    assert!(wire::protocol(&bytes).is_err());
}

#[test]
fn no_loop_begins_with_its_own_variable() {
    let mut protocol = protocol();
    let own = protocol.exprs.add(Expr::Var { id: VarId(0), width: Width::W64 });
    let Some(Stmt::Loop(of)) = protocol.body.get_mut(2) else { panic!("the third statement is the loop") };
    of.vars[0].from = own;
    // The range of the variable would need itself, without an end.
    assert!(wire::protocol(&to_bytes(&protocol)).is_err());
}

#[test]
fn shared_operands_are_computed_once() {
    let mut protocol = protocol();
    let mut square = protocol.exprs.add(Expr::Param { id: ParamId(1), width: Width::W64 });
    for _ in 0..200 {
        let half = protocol.exprs.c64(13);
        let shifted = protocol.exprs.bin(BinOp::LShr, square, half);
        square = protocol.exprs.bin(BinOp::Xor, square, shifted);
    }
    let zero = protocol.exprs.c64(0);
    let cond = protocol.exprs.cmp(CmpOp::Ne, square, zero);
    for condition in
        [Condition::Holds(cond), Condition::Fits { value: square, signed: false, guards: vec![] }]
    {
        let target = Target::new("shared operands");
        target.run(Vec::new(), |_| condition.holds(&protocol, &protocol.exprs, &launch()));
        target.run(Vec::new(), |_| !show::condition(&protocol, &protocol.exprs, &condition).is_empty());
    }
}
