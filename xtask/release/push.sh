#!/usr/bin/env bash
# Pushes the components and WIT packages of a release to an OCI registry, over http if that is on
# loopback. A version that is there is never overwritten. `cargo xtask release push` runs this in the
# root of the repository, as `push.sh REGISTRY/NAMESPACE`, and sets:
#
#   RELEASE  the folder of the release    VERSION  its version    WKG  the program
set -euo pipefail

say() { printf 'xtask: %s\n' "$1" >&2; }
fail() { printf 'error: %s\n' "$1" >&2; exit 1; }

(cd "$RELEASE" && sha256sum --check --quiet --strict SHA256SUMS) || fail "the files are not those that were released"
license=$(sed -n 's/^license = "\(.*\)"/\1/p' Cargo.toml)
pulled=$(mktemp)
trap 'rm -f "$pulled"' EXIT
base=$1
insecure=()
case $base in 127.0.0.1:*) insecure=(--insecure "${base%%/*}") ;; esac
export RUST_BACKTRACE=0

# Pushes a file of the release under a name, unless the registry has the same bytes, so that this can
# be run again after a part has been pushed.
push() {
    local reference=$base/voice-calling/$2:$VERSION file=$RELEASE/$1 said
    if said=$("$WKG" oci pull "${insecure[@]}" --output "$pulled" "$reference" 2>&1); then
        cmp --quiet "$pulled" "$file" || fail "$reference is already released, with other bytes than $file. \
A released version is never overwritten: release another one"
        say "$reference: already there"
        return
    fi
    # Only a package that is certainly absent may be pushed.
    shopt -s nocasematch
    [[ $said == *manifest[\ _]unknown* || $said == *name[\ _]unknown* ]] ||
        fail "cannot find out whether $reference exists: $said"
    "$WKG" oci push "${insecure[@]}" --annotation "org.opencontainers.image.title=${1%.wasm}" \
        --annotation "org.opencontainers.image.description=$3" \
        --annotation "org.opencontainers.image.licenses=$license" \
        --annotation "org.opencontainers.image.version=$VERSION" "$reference" "$file" >/dev/null
    say "$reference: pushed"
}

description() { sed -n 's/^description = "\(.*\)"/\1/p' "component/$1/Cargo.toml"; }

push voice-calling.wasm component "$(description p2)"
push voice-calling-p3.wasm component-p3 "$(description p3)"
push voice-calling-tools-read-only.wasm component-tools-read-only "$(description tools)"
push voice-calling-tools.wasm component-tools "$(description tools)"
for package in types client client-async tools; do
    push "wit-$package-$VERSION.wasm" "$package" "The WIT package voice-calling:$package"
done
