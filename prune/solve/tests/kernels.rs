//! Kernels that every proof technique is named after, each beside a neighbour
//! in which nothing may be proved.
mod common;
use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;

fn show(name: &str, p: &Protocol) -> gpurace_solve::Outcome {
    let t = std::time::Instant::now();
    let o = prove(p);
    println!("{name}: {:?} in {:?}, {} queries {} repeated, longest {:?}", words(&o), t.elapsed(), o.stats.asked, o.stats.repeated, o.stats.longest);
    for s in &o.verdicts.sites {
        match &s.verdict {
            Verdict::ProvedIf(c) => println!("   site {}: if {}", s.site.0, c.iter().map(|c| gpurace_protocol::show::condition(p, &o.verdicts.exprs, c)).collect::<Vec<_>>().join("; ")),
            v => println!("   site {}: {v:?} {}", s.site.0, s.why),
        }
    }
    o
}

#[test]
fn try_all() {
    // saxpy
    let mut k = Kernel::new("saxpy");
    let (x, y) = (k.pointer("x"), k.pointer("y"));
    let n = k.scalar("n");
    let i = k.gid();
    let c = k.lt(i, n);
    k.when(c, |k| {
        k.read(x, i);
        k.read(y, i);
        k.write(y, i);
    });
    show("saxpy", &k.done());

    // grid stride
    let mut k = Kernel::new("stride");
    let x = k.pointer("x");
    let n = k.scalar("n");
    let i = k.gid();
    let (b, g) = (k.bdim(), k.gdim());
    let s = k.mul(b, g);
    k.looped(i, Step::Add(s), |k, v| k.lt(v, n), |k, v| {
        k.write(x, v);
    });
    show("grid stride", &k.done());

    // reduction
    let mut k = Kernel::new("reduce");
    let s = k.shared("s", 4096);
    let t = k.tid();
    k.write(s, t);
    k.sync();
    let b = k.bdim();
    let half = k.binc(BinOp::LShr, b, 1);
    let zero = k.c(0);
    k.looped(half, Step::UDiv(2), |k, v| k.ult(zero, v), |k, v| {
        let c = k.ult(t, v);
        k.when(c, |k| {
            let o = k.add(t, v);
            k.read(s, o);
            k.read(s, t);
            k.write(s, t);
        });
        k.sync();
    });
    show("reduction", &k.done());

    // matmul tiled
    let mut k = Kernel::new("matmul");
    let (a, bb, c) = (k.pointer("a"), k.pointer("b"), k.pointer("c"));
    let n = k.scalar("n");
    let (sa, sb) = (k.shared("sa", 1024), k.shared("sb", 1024));
    let (tx, ty) = (k.tid(), k.tidy());
    let (bx, by) = (k.bid(), k.bidy());
    let r0 = k.mulc(by, 16);
    let row = k.add(r0, ty);
    let c0 = k.mulc(bx, 16);
    let col = k.add(c0, tx);
    let tiles = k.binc(BinOp::SDiv, n, 16);
    k.range(0, tiles, |k, m| {
        let m16 = k.mulc(m, 16);
        let rn = k.mul(row, n);
        let mt = k.add(m16, tx);
        let ia = k.add(rn, mt);
        k.read(a, ia);
        let ty16 = k.mulc(ty, 16);
        let st = k.add(ty16, tx);
        k.write(sa, st);
        k.read(bb, ia);
        k.write(sb, st);
        k.sync();
        let sixteen = k.c(16);
        k.range(0, sixteen, |k, j| {
            let i1 = k.add(ty16, j);
            k.read(sa, i1);
            let j16 = k.mulc(j, 16);
            let i2 = k.add(j16, tx);
            k.read(sb, i2);
        });
        k.sync();
    });
    let rn = k.mul(row, n);
    let ic = k.add(rn, col);
    k.write(c, ic);
    show("matmul", &k.done());
}
