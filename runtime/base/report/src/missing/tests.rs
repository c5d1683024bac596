use super::*;
use crate::barriers::tests::flow;

use Insertion::{Before, BodyEnd};

fn any(one: Insertion) -> Option<Line> {
    matches!(one, Before(_)).then_some(Line::Statement)
}

/// No line is within braces.
fn flat(_: Insertion) -> usize {
    0
}

fn unordered<'a>(
    flow: &'a Flow,
    pairs: &[Pair],
    runs_clean: &'a dyn Fn(&NewBarrier, &[Pair]) -> bool,
) -> Unordered<'a> {
    let in_functions = HashMap::new();
    Unordered { flow, in_kernel: true, in_functions, pairs: pairs.to_vec(), runs_clean }
}

fn fix(text: &str, pairs: &[Pair]) -> Option<Vec<u32>> {
    fix_with(text, pairs, None)
}

fn fix_with(text: &str, pairs: &[Pair], head: Option<u32>) -> Option<Vec<u32>> {
    let flow = flow(text);
    let all = [unordered(&flow, pairs, &|_, _| false)];
    missing(
        &all,
        Level::Block,
        |one| if head.map(Before) == Some(one) { Some(Line::LoopHead) } else { any(one) },
        flat,
    )
    .map(lines)
}

/// The lines of barriers, all of which stand before lines.
fn lines(found: Missing) -> Vec<u32> {
    found.insertions.iter().map(|one| if let Before(line) = one { *line } else { unreachable!() }).collect()
}

#[test]
fn the_barrier_stands_before_the_later_access() {
    assert_eq!(fix("u: L1 L17 a0 L18 a1 L19", &[[0, 1]]), Some(vec![18]));
    // The read comes before the write of the next iteration.
    let over_back_edge = "u 1: L1
         u 2,3: L2
         u 1: L17 a0 L18 B L19 a1
         u: L20";
    assert_eq!(fix(over_back_edge, &[[0, 1]]), Some(vec![17]));
    let branches = "u 1,2: L1
         3: L17 a0
         3: L18 a1
         u: L19";
    assert_eq!(fix(branches, &[[0, 1]]), None);
}

#[test]
fn a_loop_that_each_warp_runs_by_itself_has_room_for_a_barrier_of_the_warp() {
    let at_level = |text: &str, level| {
        let flow = flow(text);
        missing(&[unordered(&flow, &[[0, 1]], &|_, _| false)], level, any, flat).map(lines)
    };
    let rows = "u 1: L1\nw 2,3: L2\nw 1: L17 a0 L18 a1 L19 W\nu: L20";
    assert_eq!(at_level(rows, Level::Warp), Some(vec![18]));
    assert!(one_would_do(&flow(rows), &[[0, 1]], Level::Warp));
    // Warps are in different iterations, so no barrier of the block has a place; lanes that part have none either.
    assert_eq!(at_level(rows, Level::Block), None);
    assert!(!one_would_do(&flow(rows), &[[0, 1]], Level::Block));
    let of_lanes = rows.replace("w 1:", " 1:").replace(" W", "");
    assert_eq!(at_level(&of_lanes, Level::Warp), None);
}

#[test]
fn before_the_head_of_a_loop_is_before_the_loop() {
    // A tile is stored and then added up by a loop of one line, in an outer loop that ends with a barrier.
    let tiled = "u 1: L1\nu 2: L6 L7 a0\nu 2,3: L9 a1\nu 1,4: L10 B\nu:";
    assert_eq!(fix_with(tiled, &[[0, 1]], Some(9)), Some(vec![9]));
    // The same with the loop unrolled: the line is not a loop of its own any more.
    assert_eq!(fix_with("u 1: L1\nu 1,2: L6 a0 L9 a1 L10 B\nu:", &[[0, 1]], Some(9)), Some(vec![9]));
    // Without the barrier at the end, the next iteration's store needs one, too.
    let open = "u 1: L1\nu 2: L6 L7 a0\nu 2,3: L9 a1\nu 1,4: L10\nu:";
    assert_eq!(fix_with(open, &[[0, 1]], Some(9)), Some(vec![9, 10]));
    // What iterations of the loop do to each other stays.
    assert_eq!(fix_with("u 1: L1\nu 1,2: L9 a0 a1\nu:", &[[1, 0]], Some(9)), None);
    // Some threads skip the loop: the place before it is not that of the line alone.
    let skipped = "u 1: L1 a0\nu 2,3: L8\nu 2,3: L9 a1\nu:";
    assert_eq!(fix_with(skipped, &[[0, 1]], Some(9)), Some(vec![8]));
}

#[test]
fn the_end_of_a_loop_is_a_place_if_no_statement_is_one() {
    // The first statement of the body is a loop that some threads do not enter, and the last one left no code.
    let tiled = "u 1: L1\nu 2,3: L6\n 2,3: L7 a0\nu 1,4: B L9 a1 L20\nu:";
    let flow = flow(tiled);
    let found = |pairs: &[Pair], end: u32| {
        let kind = |one| match one {
            Before(6 | 7) => Some(Line::LoopHead),
            _ if one == Before(end) => Some(Line::LoopEnd),
            _ => any(one),
        };
        let all = [unordered(&flow, pairs, &|_, _| false)];
        missing(&all, Level::Block, kind, flat).map(lines)
    };
    assert_eq!(found(&[[1, 0]], 20), Some(vec![20]));
    assert_eq!(found(&[[0, 0]], 20), None);
    // Before a statement comes first.
    assert_eq!(found(&[[1, 0]], 21), Some(vec![20]));
    assert_eq!(fix("u 1: L1\nu 1,2: L5 a0 B L9 a1 L20\nu:", &[[1, 0]]), Some(vec![20]));
}

#[test]
fn the_end_of_a_body_without_braces_is_a_place_if_there_is_no_other() {
    let fix = |text: &str, pairs: &[Pair]| {
        let flow = flow(text);
        let kind = |one| match one {
            BodyEnd(2) => Some(Line::LoopEnd),
            Before(2) => Some(Line::LoopHead),
            Before(3 | 7) | BodyEnd(_) => None,
            _ => any(one),
        };
        let all = [unordered(&flow, pairs, &|_, _| false)];
        missing(&all, Level::Block, kind, flat).map(|found| found.insertions)
    };
    // A barrier begins each iteration, in the loop's head or in a function; the body is line 3, or in line 2.
    let end = Some(vec![BodyEnd(2)]);
    assert_eq!(fix("u 1: L1\nu 1,2: L2 B L3 a0 L2\nu: L7 a1", &[[0, 1]]), end);
    assert_eq!(fix("u 1: L1\nu 1,2: L2 B a0\nu: L7 a1", &[[0, 1]]), end);
    assert_eq!(fix("u 1: L1\nu 2,3: L2\nu 1: L2 B a0\nu: L7 a1", &[[0, 1]]), end);
    // Before what the head does for the next iteration.
    let head = "u 1: L1\nu 1,2: L2 B L3 a0 L2 a1\nu: L7";
    assert_eq!(fix(head, &[[0, 1]]), end);
    assert_eq!(fix(head, &[[1, 1]]), None);
    // Before a statement comes first.
    assert_eq!(fix("u 1: L1\nu 1,2: L2 B L3 a0 L2\nu: L4 a1", &[[0, 1]]), Some(vec![Before(4)]));
    // Some threads leave the loop alone; the line has no loop; two ways lead back.
    assert_eq!(fix("u 1: L1\n 1,2: L2 B L3 a0 L2\nu: L7 a1", &[[0, 1]]), None);
    assert_eq!(fix("u 1: L1\nu 1,2: L1 L2 B L3 a0 L2\nu: L7 a1", &[[0, 1]]), None);
    assert_eq!(fix("u 1: L1\nu 1,2: L2 B L3 a0\nu 1,3: L3\nu: L7 a1", &[[0, 1]]), None);
}

#[test]
fn a_loop_without_barriers_needs_two() {
    let text = "u 1: L1
         u 2,3: L2
         u 1: L17 a0 L18 a1
         u: L20";
    assert_eq!(fix(text, &[[0, 1]]), Some(vec![17, 18]));
}

#[test]
fn no_barrier_is_put_where_only_some_threads_come() {
    assert_eq!(fix(": L17 a0 L18 a1", &[[0, 1]]), None);
    let text = "u 1,2: L1
         2: L17 a0
         u: L18 a1";
    assert_eq!(fix(text, &[[0, 1]]), Some(vec![18]));
    let text = "u 1,2: L1
         2: L17 a0
         : L18 a1";
    assert_eq!(fix(text, &[[0, 1]]), None);
}

#[test]
fn no_barrier_is_put_beside_lanes_that_wait_alone() {
    let text = "u 1,2: L1
         2: l
         u: L17 a0 l L18 a1";
    assert_eq!(fix(text, &[[0, 1]]), None);
    assert_eq!(fix(&text.replace("2: l", "2:"), &[[0, 1]]), Some(vec![18]));
}

#[test]
fn all_races_must_be_ordered() {
    let text = "u: L1 a0 L2 a1 L3 a2";
    assert_eq!(fix(text, &[[0, 1], [0, 2]]), Some(vec![2]));
    assert_eq!(fix(text, &[[0, 1], [1, 2]]), Some(vec![2, 3]));
    assert_eq!(fix(text, &[[0, 1], [2, 2]]), None);
    assert_eq!(fix(text, &[[0, 7]]), None);
}

#[test]
fn as_many_barriers_as_the_races_need() {
    let text = "u: L1 a0 L2 a1 L3 a2 L4 a3 L5 a4";
    let flow = flow(text);
    let of = |pairs: &[Pair]| {
        let all = [unordered(&flow, pairs, &|_, _| false)];
        missing(&all, Level::Block, any, flat).map(|found| (found.parted.clone(), lines(found)))
    };
    let each = [[0, 1], [1, 2], [2, 3], [3, 4]];
    // Each barrier parts neighbours. Farther accesses need none of their own.
    let far = [each.as_slice(), &[[0, 4], [1, 3]]].concat();
    let parted = each.map(|pair| (0, pair)).to_vec();
    assert_eq!(of(&far), Some((parted, vec![2, 3, 4, 5])));
    assert_eq!(of(&[[0, 2], [1, 2], [4, 3]]), Some((vec![(0, [1, 2]), (0, [4, 3])], vec![3, 5])));
    // One barrier for all is the least, wherever it stands.
    assert_eq!(of(&[[0, 4], [1, 2], [0, 3]]), Some((Vec::new(), vec![3])));
    assert_eq!(of(&[[0, 1], [1, 2], [2, 2]]), None);
}

#[test]
fn a_line_must_be_one_place_in_all_kernels() {
    let (one, two) = (flow("u: L17 a0 L18 a1"), flow("u 1: L17 a0\n : L18 a1"));
    let of = |flow| unordered(flow, &[[0, 1]], &|_, _| false);
    let found = missing(&[of(&one)], Level::Block, any, flat);
    assert_eq!(
        found,
        Some(Missing { insertions: vec![Before(18)], in_every_launch: true, parted: Vec::new() })
    );
    assert_eq!(missing(&[of(&one), of(&two)], Level::Block, any, flat), None);
    assert_eq!(missing(&[of(&one)], Level::Block, |one| any(one).filter(|_| one != Before(18)), flat), None);
}

#[test]
fn a_barrier_in_a_function_is_one_in_each_of_its_calls() {
    let fix = |texts: &[&str], pairs: &[Pair]| {
        let flows: Vec<Flow> = texts.iter().map(|text| flow(text)).collect();
        let all: Vec<_> = flows
            .iter()
            .map(|flow| {
                let in_functions = HashMap::from([(0, BTreeSet::from([7, 8]))]);
                Unordered { in_functions, ..unordered(flow, pairs, &|_, _| false) }
            })
            .collect();
        missing(&all, Level::Block, any, flat).map(lines)
    };
    let once = "u: L20 I7.1 a0 I8.1 a1 L21";
    let twice = "u: L20 I7.1 a0 I8.1 a1 B L21 I7.2 a2 I8.2 a3 B";
    assert_eq!(fix(&[once], &[[0, 1]]), Some(vec![8]));
    assert_eq!(fix(&[twice], &[[0, 1], [2, 3]]), Some(vec![8]));
    // Several kernels have the lines of the function alone in common.
    assert_eq!(fix(&[once, &once.replace("L20", "L30")], &[[0, 1]]), Some(vec![8]));
    // Between two calls, the kernel's own line comes first.
    let used_again = twice.replacen(" B", "", 1);
    assert_eq!(fix(&[&used_again], &[[1, 2]]), Some(vec![21]));
    // Lines that threads may run alone, or that some threads run here, or that not all kernels have.
    assert_eq!(fix(&[&once.replace("I8", "I9")], &[[0, 1]]), None);
    assert_eq!(fix(&["u 1: L20 I7.1 a0\n : I8.1 a1"], &[[0, 1]]), None);
    assert_eq!(fix(&[once, "u: L30 I7.1 a0 a1"], &[[0, 1]]), None);
}

#[test]
fn before_a_loop_of_a_function_is_before_it_in_each_call() {
    let looped = |call: u32, at: u32| {
        let (body, after, a) = (at + 1, at + 2, 2 * (call - 1));
        format!("u {body}: L20 I7.{call} a{a}\nu {body},{after}: I8.{call} a{}\n", a + 1)
    };
    let flow = flow(&(looped(1, 0) + &looped(2, 2) + "u: L21"));
    let in_functions = HashMap::from([(0, BTreeSet::from([7, 8]))]);
    let pairs = [[0, 1], [2, 3]];
    let all = [Unordered { in_functions, ..unordered(&flow, &pairs, &|_, _| false) }];
    let head = |one| if one == Before(8) { Some(Line::LoopHead) } else { any(one) };
    assert_eq!(missing(&all, Level::Block, head, flat).map(lines), Some(vec![8]));
    assert_eq!(places_of(&all[0], &head)[&Before(8)], [(0, 3), (2, 3)]);
}

#[test]
fn each_call_is_tried_alone() {
    // Each call has a loop whose statement meets itself.
    let text = "u 1: L20\nu 1,2: I7.1 a0 a1\nu 3: L21\nu 3,4: I7.2 a2 a3\nu: L22";
    let flow = flow(text);
    let pairs = [[0, 1], [2, 3]];
    for clean in [vec![0, 2], vec![2]] {
        let runs_clean = |barrier: &NewBarrier, pairs: &[Pair]| {
            assert!(pairs.iter().flatten().all(|site| barrier.precedes.contains(site)));
            pairs.iter().all(|[first, _]| clean.contains(first))
        };
        let in_functions = HashMap::from([(0, BTreeSet::from([7]))]);
        let all = [Unordered { in_kernel: false, in_functions, ..unordered(&flow, &pairs, &runs_clean) }];
        let found = missing(&all, Level::Block, any, flat).map(|found| (found.in_every_launch, lines(found)));
        assert_eq!(found, (clean.len() == 2).then_some((false, vec![7])));
    }
}

#[test]
fn outside_of_a_loop_is_better() {
    // The first iteration reads what was stored before the loop; a barrier ends each iteration.
    let text = "u 1: L5 a0 L6\nu 2,3: L7\nu 1: L8 a1 L9 B\nu:";
    let fix = |depth: fn(Insertion) -> usize| {
        let flow = flow(text);
        let kind = |one| if one == Before(7) { Some(Line::LoopHead) } else { any(one) };
        missing(&[unordered(&flow, &[[0, 1]], &|_, _| false)], Level::Block, kind, depth)
    };
    let fix = |depth| fix(depth).map(lines);
    assert_eq!(fix(|one| usize::from(one.line() > 7)), Some(vec![7]));
    assert_eq!(fix(flat), Some(vec![8]));
}

#[test]
fn the_rest_of_the_races_is_tried() {
    // A loop's statement meets itself, and all threads read behind the loop.
    let flow = flow("u 1: L1 B\nu 1,2: L3 a0 a1 L4\nu: L5 a2");
    let pairs = [[0, 1], [1, 2]];
    let runs_clean = |_: &NewBarrier, pairs: &[Pair]| {
        assert_eq!(pairs, [[0, 1]]);
        true
    };
    let found = missing(&[unordered(&flow, &pairs, &runs_clean)], Level::Block, any, flat);
    let wanted = Missing { insertions: vec![Before(4)], in_every_launch: false, parted: Vec::new() };
    assert_eq!(found, Some(wanted));
}

#[test]
fn a_launch_decides_what_conditions_exclude() {
    // A loop whose statement meets itself: only the launch knows if it also does within an iteration.
    let text = "u 1: L1
         u 2,3: L17
         u 4,5: L18
         u: L20 a2
         5: a0 a1
         u 1:";
    let flow = flow(text);
    for answer in [true, false] {
        let asked = std::cell::RefCell::new(Vec::new());
        let runs_clean = |barrier: &NewBarrier, pairs: &[Pair]| {
            assert_eq!(pairs, [[0, 1]]);
            asked.borrow_mut().push(barrier.clone());
            answer
        };
        let all = [unordered(&flow, &[[0, 1]], &runs_clean)];
        let found = missing(&all, Level::Block, |one| any(one).filter(|_| one == Before(18)), flat);
        let wanted = Missing { insertions: vec![Before(18)], in_every_launch: false, parted: Vec::new() };
        assert_eq!(found, answer.then_some(wanted));
        let precedes = BTreeSet::from([0, 1]);
        let wanted = NewBarrier { level: Level::Block, precedes, loops: 1, ends_iteration: false };
        assert_eq!(asked.into_inner(), [wanted]);
    }
    let with_lanes = self::flow(&text.replace("a0 a1", "a0 a1 l"));
    assert_eq!(new_barrier(&with_lanes, (2, 0), Level::Block), None);
    let after = new_barrier(&flow, (3, 0), Level::Block).unwrap();
    assert_eq!((after.precedes, after.loops), (BTreeSet::from([2]), 0));
}

#[test]
fn a_barrier_at_the_end_of_an_iteration_precedes_the_next_one() {
    let at_end = |text: &str, place| {
        let new = new_barrier(&flow(text), place, Level::Block)?;
        new.ends_iteration.then_some(new.precedes)
    };
    let rounds = "u 1: L1\nu 2,3: L2\nu 1: L3 a0 a1 L4\nu: L5 a2";
    assert_eq!(at_end(rounds, (2, 3)), Some(BTreeSet::from([0, 1])));
    assert_eq!(at_end("u 1: L1\nu 1,2: L3 a0 L4\nu: L5", (1, 2)), Some(BTreeSet::from([0])));
    // An access comes before the loop's condition; the iteration goes on, or some threads leave the loop before.
    assert_eq!(at_end(&rounds.replace("L2", "L2 a3"), (2, 3)), None);
    assert_eq!(at_end(rounds, (2, 1)), None);
    let left = "u 1: L1\nu 2,4: L2\nu 3,4: L3 a0\nu 1: L4\nu: L5";
    assert_eq!(at_end(left, (3, 0)), None);
    assert_eq!(at_end(&left.replace("3,4: L3", "3: L3"), (3, 0)), Some(BTreeSet::from([0])));
    // Some iterations do not come there.
    assert_eq!(at_end("u 1: L1\nu 2,5: L2\nu 3,4: L3 a0\nu 4: L4\nu 1: L6\nu: L7", (3, 0)), None);
}
