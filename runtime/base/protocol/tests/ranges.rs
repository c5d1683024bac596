//! The ranges of random expressions under random guards, beside the values that all threads of a small block have.

use gpurace_protocol::expr::{Axis, BinOp, Cast, CmpOp, Expr, ExprId, Exprs, LoopId, VarId, Width};
use gpurace_protocol::fold;
use gpurace_protocol::launch::{Launch, LaunchShape};
use gpurace_protocol::protocol::{Induction, Loop, Protocol, Step, Stmt, Test};
use gpurace_protocol::range::{Range, Ranges, View};
use gpurace_protocol::show;
use gpurace_protocol::uniform::uniform_value;
use gpurace_random::Random;

const COMPARISONS: [CmpOp; 6] = [CmpOp::Ult, CmpOp::Ule, CmpOp::Slt, CmpOp::Sle, CmpOp::Eq, CmpOp::Ne];
const DIVISIONS: [BinOp; 6] = [BinOp::UDiv, BinOp::SDiv, BinOp::URem, BinOp::SRem, BinOp::LShr, BinOp::AShr];
const BITWISE: [BinOp; 3] = [BinOp::And, BinOp::Or, BinOp::Xor];
const EXTREMES: [BinOp; 4] = [BinOp::UMin, BinOp::UMax, BinOp::SMin, BinOp::SMax];

/// Expressions over two 32-bit values, and guards on them.
struct Case {
    values: Vec<ExprId>,
    guards: Vec<(ExprId, bool)>,
}

/// One of the expressions with this width.
fn one(r: &mut Random, exprs: &Exprs, of: &[ExprId], width: Width) -> ExprId {
    let of: Vec<_> = of.iter().copied().filter(|id| exprs.width(*id) == width).collect();
    r.pick(&of)
}

/// The same expressions for equal random numbers, whatever the two values are.
fn case(r: &mut Random, exprs: &mut Exprs, x: Expr, y: Expr) -> Case {
    let mut values = vec![exprs.add(x), exprs.add(y)];
    for at in 0..2 {
        let wide = exprs.zext(Width::W64, values[at]);
        values.push(wide);
    }
    for _ in 0..2 + r.below(12usize) {
        let width = r.pick(&[Width::W32, Width::W32, Width::W64]);
        let a = one(r, exprs, &values, width);
        let b = one(r, exprs, &values, width);
        let by = r.pick(&[-16, -3, -1, 1, 2, 3, 4, 7, 8, 15, 16, 100]);
        let constant = if width == Width::W32 { exprs.c32(by) } else { exprs.c64(by) };
        let made = match r.below(13u32) {
            0 | 1 => exprs.bin(BinOp::Add, a, b),
            2 => exprs.bin(BinOp::Sub, a, b),
            3 => exprs.bin(BinOp::Add, a, constant),
            4 | 5 => exprs.bin(BinOp::Mul, a, constant),
            6 => {
                let by = if width == Width::W32 { exprs.c32(by & 7) } else { exprs.c64(by & 7) };
                exprs.bin(BinOp::Shl, a, by)
            }
            7 => exprs.bin(BinOp::Sub, constant, a),
            8 => exprs.bin(r.pick(&DIVISIONS), a, constant),
            9 => exprs.bin(r.pick(&BITWISE), a, if r.chance(50) { constant } else { b }),
            10 => exprs.bin(r.pick(&EXTREMES), a, if r.chance(50) { constant } else { b }),
            11 => {
                let holds = exprs.cmp(r.pick(&COMPARISONS), a, constant);
                exprs.add(Expr::Select(holds, a, b))
            }
            _ => match (width, r.chance(50)) {
                (Width::W64, _) => exprs.add(Expr::Cast(Cast::Trunc, Width::W32, a)),
                (_, true) => exprs.zext(Width::W64, a),
                (_, false) => exprs.sext(Width::W64, a),
            },
        };
        values.push(made);
    }
    let guards = (0..r.below(4u32))
        .map(|_| {
            let width = r.pick(&[Width::W32, Width::W32, Width::W64]);
            let a = one(r, exprs, &values, width);
            let bound = r.pick(&[-20, -1, 0, 1, 5, 16, 30, 63, 128]);
            let constant = if width == Width::W32 { exprs.c32(bound) } else { exprs.c64(bound) };
            let b = if r.chance(60) { constant } else { one(r, exprs, &values, width) };
            let op = r.pick(&COMPARISONS);
            let truth = r.chance(70);
            (exprs.cmp(op, a, b), truth)
        })
        .collect();
    Case { values, guards }
}

fn launch(block: [u32; 3]) -> Launch {
    Launch { shape: LaunchShape { grid: [1; 3], block, ..LaunchShape::default() }, ..Launch::default() }
}

#[test]
fn every_value_lies_in_its_range() {
    let cases = gpurace_random::number("GPURACE_CASES", 20_000);
    let (mut compared, mut narrow) = (0u64, 0u64);
    for seed in 0..cases {
        let block = {
            let mut r = Random(seed);
            [1 + r.below(16u32), 1 + r.below(8u32), 1]
        };
        let mut protocol = Protocol::default();
        let own = case(&mut Random(seed), &mut protocol.exprs, Expr::Tid(Axis::X), Expr::Tid(Axis::Y));
        // The values of one thread: the same expressions over the dimensions of a block.
        let mut twin = Exprs::default();
        let of = case(&mut Random(seed), &mut twin, Expr::Ntid(Axis::X), Expr::Ntid(Axis::Y));
        let at = launch(block);
        let mut ranges = Ranges::new(&protocol, &protocol.exprs, Some(&at)).guarded(&own.guards);
        let threads = (0..block[0]).flat_map(|x| (0..block[1]).map(move |y| launch([x, y, 1])));
        for thread in threads {
            let value = |id| uniform_value(&twin, &thread, id).expect("a value of two numbers");
            if of.guards.iter().any(|(guard, truth)| (value(*guard) == 1) != *truth) {
                continue;
            }
            for (id, twin_id) in own.values.iter().zip(&of.values) {
                for view in [View::Signed, View::Unsigned] {
                    let width = protocol.exprs.width(*id);
                    let (range, value) = (ranges.computed(*id, view), view.read(width, value(*twin_id)));
                    let show = |id: &ExprId| show::expr(&protocol, &protocol.exprs, *id);
                    assert!(
                        range.lo <= value && value <= range.hi,
                        "seed {seed}, block {block:?}, thread {:?}: {} is {value}, and not in {range:?} ({view:?}), with {:?}",
                        thread.shape.block,
                        show(id),
                        own.guards.iter().map(|(guard, truth)| (show(guard), truth)).collect::<Vec<_>>(),
                    );
                    compared += 1;
                    narrow += u64::from(range.count() < 1 << 16);
                }
            }
        }
    }
    // Ranges that say nothing would pass too.
    assert!(narrow * 2 > compared, "{narrow} of {compared} ranges are narrow");
}

/// A loop of two variables that start at constants or at the thread's index, and the condition on one of them.
struct RandomLoop {
    starts: [Option<u64>; 2],
    steps: [Step; 2],
    test: Test,
    /// Which variable the condition compares, after this sum, with this constant.
    compared: (usize, u64, CmpOp, u64),
}

impl RandomLoop {
    fn draw(r: &mut Random, exprs: &mut Exprs) -> Self {
        let start = |r: &mut Random| {
            r.chance(70).then(|| r.pick(&[0, 1, 2, 3, 7, 64, 100, 1 << 31, u64::from(u32::MAX)]))
        };
        let starts = [start(r), start(r)];
        let step = |r: &mut Random, exprs: &mut Exprs| match r.below(5u32) {
            0 => Step::Add(exprs.c32(r.pick(&[-7, -1, 1, 2, 16]))),
            1 => Step::Mul(r.pick(&[1, 2, 3, 10])),
            2 => Step::UDiv(r.pick(&[2, 3, 10])),
            3 => Step::SDiv(r.pick(&[2, 3, 10])),
            _ => Step::AShr(r.pick(&[1, 2, 31])),
        };
        let steps = [step(r, exprs), step(r, exprs)];
        let bound = r.pick(&[0, 1, 2, 5, 64, 1000, u64::from(u32::MAX)]);
        let sum = r.pick(&[0, 0, 0, 1, u64::from(u32::MAX)]);
        Self {
            starts,
            steps,
            test: r.pick(&[Test::Before, Test::After]),
            compared: (r.below(2usize), sum, r.pick(&COMPARISONS), bound),
        }
    }

    /// The condition, or what it is for these values of the variables.
    fn goes_on(&self, values: [u64; 2], swap: bool) -> bool {
        let (of, sum, op, bound) = self.compared;
        let value = Width::W32.truncate(values[of].wrapping_add(sum));
        let (a, b) = if swap { (bound, value) } else { (value, bound) };
        fold::compare(op, Width::W32, a, b)
    }
}

#[test]
fn every_value_of_a_loop_lies_in_its_range() {
    let cases = gpurace_random::number("GPURACE_CASES", 20_000);
    let (mut compared, mut narrow) = (0u64, 0u64);
    for seed in 0..cases {
        let r = &mut Random(seed);
        let mut protocol = Protocol::default();
        let e = &mut protocol.exprs;
        let of = RandomLoop::draw(r, e);
        let swap = r.chance(50);
        let vars = [0, 1].map(|id| e.add(Expr::Var { id: VarId(id), width: Width::W32 }));
        let tid = e.add(Expr::Tid(Axis::X));
        let from =
            of.starts.map(|start| start.map_or(tid, |bits| e.add(Expr::Const { width: Width::W32, bits })));
        let (var, sum, op, bound) = of.compared;
        let sum = e.add(Expr::Const { width: Width::W32, bits: sum });
        let bound = e.add(Expr::Const { width: Width::W32, bits: bound });
        let value = e.bin(BinOp::Add, vars[var], sum);
        let cond = if swap { e.cmp(op, bound, value) } else { e.cmp(op, value, bound) };
        let all = [0, 1].map(|i| Induction {
            id: VarId(i as u32),
            width: Width::W32,
            from: from[i],
            step: of.steps[i],
        });
        let id = LoopId(1);
        let stmt = Loop { id, vars: all.to_vec(), cond, test: of.test, breaks: None, body: Vec::new() };
        protocol.body.push(Stmt::Loop(stmt));
        let at = launch([6, 1, 1]);
        let mut ranges = Ranges::new(&protocol, &protocol.exprs, Some(&at));
        let most = ranges.iterations(id);
        for thread in 0..6 {
            let mut values = of.starts.map(|start| start.unwrap_or(thread));
            for iteration in 0..100 {
                let seen = |what: &str, range: Range, value: i128| {
                    assert!(
                        range.lo <= value && value <= range.hi,
                        "seed {seed}: {what} is {value} in iteration {iteration}, and not in {range:?}: {:?} {:?} {:?} {:?}",
                        of.starts,
                        of.steps,
                        of.compared,
                        of.test,
                    );
                };
                seen("the iteration", most, iteration);
                for i in [0, 1] {
                    for view in [View::Signed, View::Unsigned] {
                        let range = ranges.computed(vars[i], view);
                        seen("a variable", range, view.read(Width::W32, values[i]));
                        compared += 1;
                        narrow += u64::from(range.count() < 1 << 16);
                    }
                }
                let next = [0, 1].map(|i| {
                    fold::step(of.steps[i], Width::W32, values[i], |e| protocol.exprs.as_const(e))
                        .expect("a step")
                });
                // The condition ends the loop before this iteration, or after it.
                if !of.goes_on(values, swap) {
                    break;
                }
                values = next;
            }
        }
    }
    assert!(narrow * 3 > compared, "{narrow} of {compared} ranges are narrow");
}
