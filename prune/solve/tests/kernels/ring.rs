//! What the kernels with a ring of tiles have in common: warp 0 writes a tile of 96 elements, and the threads of three
//! further warps read one element each.

use std::fmt::Debug;

use super::*;

/// The conditions of kernels that look at `threadIdx.x` alone.
pub const ONE_ROW: [&str; 2] = ["blockDim.y == 1", "blockDim.z == 1"];

/// A thread of warp 0 writes its elements of a tile.
pub fn write_tile(k: &mut Kernel, s: ObjectId, tile: E) -> SiteId {
    let (t, row, three) = (k.tid(), k.mulc(tile, 96), k.c(3));
    k.range(0, three, |k, j| {
        let column = k.mulc(j, 32);
        let own = k.add(column, t);
        let at = k.add(row, own);
        k.write(s, at)
    })
}

/// A thread of another warp reads an element of a tile that another lane has written.
pub fn read_tile(k: &mut Kernel, s: ObjectId, tile: E) -> SiteId {
    let (t, row, back) = (k.tid(), k.mulc(tile, 96), k.c(127));
    let own = k.sub(back, t);
    let at = k.add(row, own);
    k.read(s, at)
}

/// The parity of `i / stages`: true where this is odd, or where it is not.
pub fn parity(k: &mut Kernel, i: E, stages: i64, odd: bool) -> E {
    let round = k.binc(BinOp::UDiv, i, stages);
    let bit = k.binc(BinOp::And, round, 1);
    let zero = k.c(0);
    k.p.exprs.cmp(if odd { CmpOp::Ne } else { CmpOp::Eq }, bit, zero)
}

/// A condition for all threads but one.
pub fn all_but(k: &mut Kernel, thread: i64) -> E {
    let t = k.tid();
    let own = k.eqc(t, thread);
    k.binc(BinOp::Xor, own, 1)
}

/// The kernel is proved for blocks of one row.
pub fn is_proved(k: Kernel) {
    let mut conditions = proved(k);
    conditions.retain(|condition| !condition.contains("fits unsigned 32 bits"));
    assert_eq!(conditions, ONE_ROW);
}

/// Nothing is proved of these accesses, the only ones that can race. They race in no launch for which this is shown.
pub fn all_are_open((k, sites): (Kernel, Vec<SiteId>), what: &dyn Debug) {
    let outcome = prove(&k.done());
    let open = outcome.verdicts.sites.iter().filter(|s| matches!(s.verdict, Verdict::Unknown(_)));
    assert_eq!(open.count(), sites.len(), "{what:?}: {:?}", words(&outcome));
}
