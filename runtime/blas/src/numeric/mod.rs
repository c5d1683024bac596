//! The algorithms, on memory that the runtime has checked.
//!
//! | module | what it computes |
//! |---|---|
//! | [`product`] | products of whole matrices |
//! | [`vectors`] | level 1: vectors |
//! | [`triangles`] | level 2: a matrix, however it is stored, and vectors |
//! | [`matrices`] | level 3: products and solutions with triangles and symmetric matrices |
//! | [`factors`] | LU factors, solutions and inverses |
//! | [`mixed`] | elements whose type is known only when the call is made |

pub mod factors;
pub mod matrices;
pub mod mixed;
pub mod product;
pub mod triangles;
pub mod vectors;
