//! The interpreter judges small kernels as their authors do, and the generator keeps its promise.

use gpurace_campaign::interpret::{Refused, run};
use gpurace_campaign::program::{Array, Element, Expr, Kernel, Kind, Place, Space, Special};
use gpurace_campaign::scalar::{Op, Scalar, Test};
use gpurace_campaign::{generate, mutate};

fn u(n: u64) -> Expr {
    Expr::Const(Scalar::U32, n)
}

fn binary(op: Op, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

/// `s[t] = t; sync; out[t] = s[t ^ with];` in one block of 64 threads.
fn exchange(sync: Option<Kind>, with: u64) -> Kernel {
    let array = |space| Array { space, element: Element::Scalar(Scalar::U32), extents: vec![64], seed: 0 };
    let t = Expr::Special(Special::Thread, 0);
    let place = |array, index| Place { array, index: vec![index], part: 0 };
    let other = binary(Op::Xor, t.clone(), u(with));
    let mut body = vec![Kind::Store(place(0, t.clone()), t.clone()).into()];
    body.extend(sync.map(Into::into));
    body.push(Kind::Store(place(1, t), Expr::Load(Box::new(place(0, other)))).into());
    let mut kernel = Kernel {
        launches: 1,
        grid: [1; 3],
        block: [64, 1, 1],
        arrays: vec![array(Space::Shared), array(Space::Global)],
        params: Vec::new(),
        locals: Vec::new(),
        functions: Vec::new(),
        body,
    };
    kernel.number();
    kernel
}

#[test]
fn barriers_order_blocks_and_syncs_order_warps() {
    let near = exchange(Some(Kind::SyncWarp(u32::MAX)), 1);
    let far = exchange(Some(Kind::SyncWarp(u32::MAX)), 32);
    assert_eq!(run(&exchange(Some(Kind::Barrier), 32)).unwrap().races.pairs.len(), 0);
    assert_eq!(run(&near).unwrap().races.pairs.len(), 0);
    assert_eq!(run(&far).unwrap().races.pairs.into_iter().collect::<Vec<_>>(), [(0, 2)]);
    assert_eq!(run(&exchange(None, 0)).unwrap().races.pairs.len(), 0);
    let outcome = run(&exchange(Some(Kind::Barrier), 5)).unwrap();
    assert_eq!(outcome.arrays[1][4 * 8], 8 ^ 5);
}

#[test]
fn kernels_without_a_meaning_are_refused() {
    assert_eq!(run(&exchange(Some(Kind::Barrier), 64)), Err(Refused::OutOfBounds));
    let t = Box::new(Expr::Special(Special::Thread, 0));
    let some = Expr::Compare(Test::Less, t, Box::new(u(40)));
    let divergent = Kind::If(some, vec![Kind::Barrier.into()], Vec::new());
    assert_eq!(run(&exchange(Some(divergent), 1)), Err(Refused::Divergent));
}

#[test]
fn arithmetic_is_that_of_cuda() {
    let apply = |s: Scalar, op, a: i64, b: i64| s.apply(op, s.keep(a as u64), s.keep(b as u64));
    assert_eq!(apply(Scalar::U8, Op::Add, 250, 10), 4);
    assert_eq!(apply(Scalar::I16, Op::Mul, 0x7fff, 3), 0x7ffd);
    assert_eq!(Scalar::I8.signed(apply(Scalar::I8, Op::Shr, -100, 2)), -25);
    assert_eq!(apply(Scalar::U32, Op::Sub, 0, 1), 0xffff_ffff);
    assert_eq!(Scalar::I32.signed(apply(Scalar::I32, Op::Div, -7, 2)), -3);
    assert_eq!(Scalar::I32.signed(apply(Scalar::I32, Op::Rem, -7, 2)), -1);
    assert_eq!(Scalar::I8.convert(Scalar::U64, 0xff), u64::MAX);
    assert_eq!(Scalar::U8.convert(Scalar::I64, 0xff), 0xff);
    assert_eq!(Scalar::I32.convert(Scalar::F32, 0xffff_fffe), u64::from((-2f32).to_bits()));
    assert!(Scalar::I32.test(Test::Less, 0xffff_ffff, 0) && !Scalar::U32.test(Test::Less, 0xffff_ffff, 0));
}

#[test]
fn generated_kernels_do_not_race_and_many_mutants_do() {
    let (mut kernels, mut racy) = (0, 0);
    for seed in 0..150 {
        let kernel = generate::kernel(seed);
        match run(&kernel) {
            Ok(outcome) => assert_eq!(outcome.races.pairs.len(), 0, "seed {seed}"),
            Err(Refused::TooLong) => continue,
            Err(why) => panic!("seed {seed}: {why:?}"),
        }
        kernels += 1;
        let mutant = mutate::mutant(&kernel, seed);
        racy += u32::from(mutant.is_some_and(|(_, outcome)| !outcome.races.pairs.is_empty()));
    }
    assert!(kernels > 120 && racy > 30, "{kernels} kernels, {racy} mutants that race");
}
