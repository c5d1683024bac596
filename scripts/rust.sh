# Finds the cargo that builds gpurace, and sets the folder that it builds into. The other scripts source
# this file after they have set $root.

export LLVM_SYS_221_PREFIX=/usr/lib/llvm-22
# The built programs find the CUDA toolkit by their own path, which must lie in the checkout.
export CARGO_TARGET_DIR=$root/target

# Prints the Rust version that the workspace needs.
wanted_rust() {
    sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml"
}

# True if PATH has a cargo of at least this version.
cargo_is() {
    local found
    found=$(cargo --version 2>/dev/null | cut -d ' ' -f 2) || return 1
    [ -n "$found" ] && [ "$(printf '%s\n%s\n' "$1" "$found" | sort -V | head -n 1)" = "$1" ]
}

# Puts the first cargo of at least this version into PATH: from PATH, the home folder or the cache.
# False if there is none.
use_cargo() {
    local wanted=$1
    cargo_is "$wanted" && return
    PATH=$HOME/.cargo/bin:$PATH
    cargo_is "$wanted" && return
    export RUSTUP_HOME=$root/.cache/rustup CARGO_HOME=$root/.cache/cargo
    PATH=$CARGO_HOME/bin:$PATH
    cargo_is "$wanted"
}
