//! A campaign of random kernels: their results and their races are known, and gpurace must agree.
//!
//! | module | what it has |
//! |---|---|
//! | [`scalar`] | scalar types and their arithmetic |
//! | [`program`] | kernels: small typed programs |
//! | [`generate`] | random kernels without races |
//! | [`mutate`] | kernels with one thing changed, which may race |
//! | [`interpret`] | what a kernel computes, and what it accesses |
//! | [`order`] | which accesses race |
//! | [`cuda`] | kernels as CUDA C++ |
//! | [`arrivals`] | random kernels whose blocks meet at barrier objects |
//! | [`batch`] | many kernels as one program: built, run and compared |
//! | [`shrink`] | a smaller kernel that still shows something |
//! | [`campaign`] | the batches of a campaign, and what is written down of them |
//!
//! The modules up to [`cuda`] use no code of gpurace, so that they can judge it.

pub mod arrivals;
pub mod batch;
pub mod campaign;
pub mod cuda;
pub mod generate;
pub mod interpret;
pub mod mutate;
pub mod order;
pub mod program;
pub mod scalar;
pub mod shrink;
