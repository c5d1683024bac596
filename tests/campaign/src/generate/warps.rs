//! Work of single warps: collectives, and memory that lanes share between syncs of their warp.

use super::maps::{Map, add, binary, less, mul, rem, u};
use super::{Maker, THREAD};
use crate::program::{Collective, Element, Expr, Kind, Stmt};
use crate::scalar::{Op, Scalar};

impl Maker<'_> {
    pub(super) fn warp_work(&mut self) -> Vec<Stmt> {
        if !self.active.is_multiple_of(32) || self.active != self.kernel.threads() {
            return self.phases();
        }
        match self.r.below(3) {
            0 => self.lanes_share(),
            _ => self.collectives(),
        }
    }

    /// Collectives of whole warps, or of their lower lanes in a branch.
    fn collectives(&mut self) -> Vec<Stmt> {
        let mut body = Vec::new();
        for _ in 0..1 + self.r.below(3) {
            let lanes = self.r.pick(&[32, 32, 16, 8]);
            let one = self.collective(lanes);
            if lanes == 32 {
                body.extend(one);
            } else {
                let lane = rem(Expr::Local(THREAD), u(32));
                body.push(Kind::If(less(lane, u(lanes)), one, Vec::new()).into());
            }
        }
        if self.r.chance(30) {
            return vec![self.looped(u(0), u(3), u(1), |_, _| body)];
        }
        body
    }

    fn collective(&mut self, lanes: u32) -> Vec<Stmt> {
        let mask = if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 };
        let near = 1 << self.r.below(lanes.ilog2());
        let collective = match self.r.below(9) {
            0 | 1 => Collective::Xor(near),
            2 if lanes == 32 => Collective::Down(near),
            3 => Collective::Up(near),
            4 => Collective::From(self.r.below(lanes)),
            5 => Collective::Ballot,
            6 => Collective::Add,
            7 => Collective::Any,
            8 => Collective::Match,
            _ => Collective::Max,
        };
        let s = match collective {
            Collective::Add | Collective::Max | Collective::Match => self.r.pick(&[Scalar::U32, Scalar::I32]),
            Collective::Ballot | Collective::Any => Scalar::U32,
            _ => self.r.pick(&[Scalar::U32, Scalar::I32, Scalar::U64, Scalar::F32, Scalar::F64, Scalar::I64]),
        };
        let s = if collective == Collective::Match { Scalar::U32 } else { s };
        let result = match collective {
            Collective::Ballot | Collective::Match => Scalar::U32,
            Collective::Any => Scalar::I32,
            _ => s,
        };
        let v = self.local(result);
        let mut e = self.value(s, 2);
        if collective == Collective::Match {
            e = binary(Op::And, e, u(3));
        }
        vec![Kind::Warp(v, collective, mask, e).into(), self.mix(Expr::Local(v))]
    }

    /// Lanes exchange elements through their warp's part of an array, between syncs of the warp.
    fn lanes_share(&mut self) -> Vec<Stmt> {
        let threads = self.active;
        let s = self.scalar();
        let region = self.region(threads, Element::Scalar(s));
        let t = self.thread();
        let lane = rem(t.clone(), u(32));
        let first = binary(Op::Sub, t.clone(), lane.clone());
        let own = Map::random(self.r, 32);
        let value = self.value(s, 2);
        let at = add(first.clone(), own.of(lane.clone()));
        let mut body: Vec<Stmt> = vec![Kind::Store(self.place(&region, at.clone(), 0), value).into()];
        let sync = |body: &mut Vec<Stmt>| body.push(Kind::SyncWarp(u32::MAX).into());
        sync(&mut body);
        let rounds = self.r.below(3);
        if self.r.chance(50) {
            // A tree within the warp.
            let distance = self.local(Scalar::U32);
            let d = Expr::Local(distance);
            let to = self.place(&region, t.clone(), 0);
            let from = self.load(&region, add(t.clone(), d.clone()), 0);
            let update = Kind::Update(if s.is_float() { Op::Add } else { Op::Xor }, to, from);
            let inner = vec![
                Kind::If(less(lane.clone(), d.clone()), vec![update.into()], Vec::new()).into(),
                Kind::SyncWarp(u32::MAX).into(),
            ];
            let test = less(u(0), d.clone());
            body.push(Kind::For(distance, u(16), test, binary(Op::Shr, d, u(1)), inner).into());
        }
        for _ in 0..rounds {
            let other = self.index(32);
            body.push(self.mix_load(&region, add(first.clone(), other)));
            sync(&mut body);
            let half = self.r.chance(40);
            let value = self.value(s, 1);
            let op = if s.is_float() { Op::Add } else { Op::Sub };
            let update: Stmt = Kind::Update(op, self.place(&region, at.clone(), 0), value).into();
            if half {
                // The lower lanes go on among themselves.
                let lanes = self.r.pick(&[16, 8, 4]);
                let own = add(first.clone(), lane.clone());
                let next = add(first.clone(), rem(add(lane.clone(), u(1)), u(lanes)));
                let value = self.value(s, 1);
                let inner = vec![
                    Kind::Update(op, self.place(&region, own, 0), value).into(),
                    Kind::SyncWarp((1 << lanes) - 1).into(),
                    self.mix_load(&region, next),
                ];
                body.push(Kind::If(less(lane.clone(), u(lanes)), inner, Vec::new()).into());
            } else {
                body.push(update);
            }
            sync(&mut body);
        }
        let other = mul(binary(Op::Xor, lane, u(7)), u(1));
        body.push(self.mix_load(&region, add(first, other)));
        self.barrier(&mut body);
        body
    }
}
