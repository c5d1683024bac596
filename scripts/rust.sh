# Sourced by the other scripts, with $root set: which cargo builds gpurace, and where.

export LLVM_SYS_191_PREFIX=/usr/lib/llvm-19
# The programs find their toolkit from where they lie: always in the checkout.
export CARGO_TARGET_DIR=$root/target

# The newest Rust that a part of the workspace asks for.
wanted_rust() {
    grep -h '^rust-version = "' "$root"/Cargo.toml "$root"/*/Cargo.toml "$root"/*/*/Cargo.toml |
        cut -d '"' -f 2 | sort -V | tail -n 1
}

# Whether the cargo in PATH is there and at least this version.
cargo_is() {
    local found
    found=$(cargo --version 2>/dev/null | cut -d ' ' -f 2) || return 1
    [ -n "$found" ] && [ "$(printf '%s\n%s\n' "$1" "$found" | sort -V | head -n 1)" = "$1" ]
}

# Takes the first cargo that serves: in PATH, in the home folder, in the cache.
use_cargo() {
    local wanted=$1
    cargo_is "$wanted" && return
    PATH=$HOME/.cargo/bin:$PATH
    cargo_is "$wanted" && return
    export RUSTUP_HOME=$root/.cache/rustup CARGO_HOME=$root/.cache/cargo
    PATH=$CARGO_HOME/bin:$PATH
    cargo_is "$wanted"
}
