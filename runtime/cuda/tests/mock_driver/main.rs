//! The backend with a mock driver (`mock/libcuda.cpp`). Each test runs again in a process of its
//! own, whose library path has that driver, or none.

mod code;
mod launches;
mod memory;
mod opening;
mod support;
