//! The barrier of the grid of `cooperative_groups`.

use super::machine::Program;
use gpurace_protocol::protocol::{ObjectKind, Stmt, Sync};

/// The barrier of the grid, made as `cooperative_groups` makes it, and its address.
const GRID: &str = r#"
    #undef sync
    namespace cooperative_groups { inline namespace __v1 { namespace details {
        static __device__ unsigned sync_grids_arrive(volatile unsigned *at) {
            __syncthreads();
            unsigned old = 0;
            if (tid == 0) asm volatile("atom.add.release.gpu.u32 %0, [%1], 1;" : "=r"(old) : "l"(at) : "memory");
            return old;
        }
        static __device__ void sync_grids_wait(unsigned old, volatile unsigned *at) {
            unsigned now = old;
            if (tid == 0)
                do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(at) : "memory");
                while (!((old ^ now) & 0x80000000));
            __syncthreads();
        }
        namespace grid {
            static __device__ unsigned barrier_arrive(unsigned *at) { return sync_grids_arrive(at); }
            static __device__ void barrier_wait(unsigned old, unsigned *at) { sync_grids_wait(old, at); }
            static __device__ void sync(unsigned *at) {
                unsigned old = sync_grids_arrive(at);
                sync_grids_wait(old, at);
            }
        }
    } } }
    __device__ unsigned *workspace(int hi, int lo) {
        unsigned high, low;
        asm("mov.u32 %0, %%envreg1;" : "=r"(high));
        asm("mov.u32 %0, %%envreg2;" : "=r"(low));
        return (unsigned *)(((u64)(hi ? high : low) << 32) | (lo ? low : high)) + 1;
    }
    namespace grid = cooperative_groups::details::grid;
"#;

fn syncs(body: &[Stmt]) -> Vec<Sync> {
    body.iter()
        .flat_map(|stmt| match stmt {
            Stmt::Sync(sync) => vec![*sync],
            Stmt::Loop(of) => syncs(&of.body),
            Stmt::If { then, otherwise, .. } => [syncs(then), syncs(otherwise)].concat(),
            _ => Vec::new(),
        })
        .collect()
}

#[test]
fn barrier_of_the_grid() {
    let source =
        format!("{GRID} KERNEL k(int *a) {{ a[tid] = 1; grid::sync(workspace(1, 1)); a[tid + 1] = 2; }}");
    let program = Program::of(&source);
    assert_eq!(syncs(&program.protocol.body), [Sync::Block, Sync::Block, Sync::Grid]);
    let kinds: Vec<_> = program.protocol.objects.iter().map(|o| &o.kind).collect();
    assert!(matches!(kinds[..], [ObjectKind::Param(_), ObjectKind::GridBarrier]), "{kinds:?}");
}

#[test]
fn barrier_of_the_grid_in_two_parts_orders_nothing_between() {
    let source = format!(
        "{GRID} KERNEL k(int *a) {{ unsigned old = grid::barrier_arrive(workspace(1, 1)); a[tid] = 1;
            grid::barrier_wait(old, workspace(1, 1)); a[tid + 1] = 2; }}"
    );
    assert_eq!(syncs(&Program::of(&source).protocol.body), [Sync::Block, Sync::Block]);
}

#[test]
fn an_address_made_of_other_registers_is_not_the_barriers() {
    for (hi, lo) in [(0, 1), (1, 0)] {
        let source = format!("{GRID} KERNEL k(int *a) {{ grid::sync(workspace({hi}, {lo})); a[tid] = 1; }}");
        let objects = Program::of(&source).protocol.objects;
        assert!(!objects.iter().any(|o| o.kind == ObjectKind::GridBarrier), "{objects:?}");
        assert!(objects.iter().any(|o| matches!(o.kind, ObjectKind::Opaque { .. })), "{objects:?}");
    }
}
