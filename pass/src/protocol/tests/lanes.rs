//! Syncs of some lanes, and the sets that their masks name.

use gpurace_protocol::lanes::{masks, sets_of};
use gpurace_protocol::protocol::{Protocol, Stmt, Sync};

use super::machine::Argument::Int;
use super::machine::Program;
use super::{ONE, words};

/// `cooperative_groups::tiled_partition<N>`, as CUDA 13 computes its mask.
const TILE: &str = r#"
    template <unsigned N> struct Tile {
        static __device__ unsigned mask() {
            unsigned laneid;
            asm volatile("mov.u32 %0, %%laneid;" : "=r"(laneid));
            return 0xFFFFFFFF >> (32 - N) << (laneid & ~(N - 1));
        }
        __device__ void sync() const { __nvvm_bar_warp_sync(mask()); }
    };
"#;

/// The period and the first set of each mask of the protocol, in the order of the expressions.
fn sets(protocol: &Protocol) -> Vec<Option<(u32, u32)>> {
    let of = |mask| Some(sets_of(&protocol.exprs, None, mask)?.sets);
    masks(&protocol.body).into_iter().map(|mask| of(mask).map(|s| (s.period(), s.first()))).collect()
}

#[test]
fn tiles_of_cooperative_groups() {
    for size in [2, 4, 8, 16] {
        let source = format!(
            "{TILE} KERNEL k(int *a) {{ __shared__ int s[64]; Tile<{size}> tile; s[tid] = a[tid]; \
             tile.__SYNC__(); a[tid] = s[tid ^ 1]; }}"
        );
        // `sync` is a macro of these tests.
        let source = format!("#undef sync\n{}", source.replace("__SYNC__", "sync"));
        let program = Program::of(&source);
        assert_eq!(sets(&program.protocol), [Some((size, (1 << size) - 1))]);
        program.assert_exact(ONE, [40, 1, 1], &[words(40)]);
    }
}

#[test]
fn masks_written_by_hand() {
    let forms = [
        ("0xff << (tid & 24)", Some((8, 0xff))),
        ("0xf << (lane & ~3)", Some((4, 0xf))),
        ("0xf << (lane / 4 * 4)", Some((4, 0xf))),
        ("lane < 16 ? 0xffff : 0xffff0000", Some((16, 0xffff))),
        ("(tid & 16) ? 0xffff0000 : 0xffff", Some((16, 0xffff))),
        ("3u << (lane & 30)", Some((2, 3))),
        ("0xffff", Some((32, 0xffff))),
        ("0xff << (tid & 12)", None),
        ("1 << lane", None),
        ("n", None),
        ("a[0]", None),
        ("__nvvm_activemask()", None),
    ];
    for (mask, expected) in forms {
        let source = format!(
            "KERNEL k(int *a, int n) {{ a[tid] = 1; __nvvm_bar_warp_sync({mask}); a[tid + 1] = 2; }}"
        );
        assert_eq!(sets(&Program::of(&source).protocol), [expected], "{mask}");
    }
}

#[test]
fn the_whole_mask_is_the_warps() {
    for mask in ["-1", "n ? -1 : 0xffffffff"] {
        let source = format!("KERNEL k(int *a, int n) {{ a[tid] = 1; __nvvm_bar_warp_sync({mask}); }}");
        let body = Program::of(&source).protocol.body;
        assert!(body.contains(&Stmt::Sync(Sync::Warp)), "{body:?}");
    }
}

#[test]
fn syncs_in_control_flow() {
    let kernels = [
        "for (int i = 0; i < (tid & 24); i += 8) { a[tid] += i; __nvvm_bar_warp_sync(0xff << (lane & 24)); }",
        "if (lane < 16) { a[tid] = 1; __nvvm_bar_warp_sync(0xffff); } else a[tid] = 2; a[tid + 1] += 1;",
        "if (tid >= n) return; a[tid] = 1; __nvvm_bar_warp_sync(3 << (tid & 30)); a[tid ^ 1] += 2;",
        "int m = 0xf << (lane & 28); do { a[tid] += 1; __nvvm_bar_warp_sync(m); } while (--n > tid);",
        // A mask that changes in a loop.
        "for (int i = 0; i < 4; i++) { a[tid] += i; __nvvm_bar_warp_sync(1 << lane | 1 << i); }",
    ];
    for body in kernels {
        let source = format!("KERNEL k(int *a, int n) {{ {body} }}");
        let program = Program::of(&source);
        assert_eq!(masks(&program.protocol.body).len(), 1, "{body}");
        program.assert_exact(ONE, [40, 1, 1], &[words(64), Int(19)]);
    }
}
