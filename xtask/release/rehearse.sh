#!/usr/bin/env bash
# The release on registries of this machine, and used from there as its users get it.
# `cargo xtask release rehearse` runs this in the root of the repository, and sets:
#
#   RELEASE   the folder of the release         VERSION   its version
#   SCRATCH   a folder for this run, with the packages of WASI as wasi:<name>@<version>.wasm
#   PLATFORM  the end of the names of the programs' archives
#   XTASK, WKG, WASMTIME, WASH, OBELISK         programs
set -euo pipefail

step() { printf 'rehearsal: %s\n' "$1" >&2; }
fail() { printf 'error: %s\n' "$1" >&2; exit 1; }

for program in minisign docker-registry openssl; do
    command -v "$program" >/dev/null ||
        fail "$program is missing: \`cargo xtask setup release\` installs it on Debian"
done

# Fails unless the first text contains the second.
contains() {
    case $1 in
        *"$2"*) ;;
        *) fail "expected \`$2\` in: $1" ;;
    esac
}

servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT

# Prints a free port below those that the system gives to connections.
free_port() {
    local port=$((10000 + RANDOM % 10000))
    if (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then free_port; else echo "$port"; fi
}

# Waits until something listens on the port.
listening() {
    for _ in $(seq 600); do
        if (: >"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
        sleep 0.1
    done
    fail "nothing listens on port $1"
}

# The first block of code in this language.
first_block() { awk -v begin="\`\`\`$2" '$0 == begin { on = 1; next } on && /^```/ { exit } on' "$1"; }

# A command that knows the mock, and reaches nothing else over HTTP.
offline() {
    VOICE_CALLING_BASE_URL=$mock VOICE_CALLING_API_TOKEN=mock-token-0001 \
        HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 NO_PROXY=127.0.0.1 "$@"
}

# A function of a component on wasmtime, as the documentation calls one.
call() {
    offline "$WASMTIME" run -S http --env VOICE_CALLING_BASE_URL --env VOICE_CALLING_API_TOKEN \
        --invoke "$1" "$2"
}

# ------------------------------------------------------------------------------------- documents

step "the mock service, from its archive"
mock_name=voice-calling-mock-$VERSION-$PLATFORM
tar -xzf "$RELEASE/$mock_name.tar.gz" -C "$SCRATCH"
newest=$(objdump -T "$SCRATCH/$mock_name/voice-calling-mock" | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -n 1)
contains "$(cat docs/mock.md)" "(glibc ${newest#GLIBC_} or newer)"
port=$(free_port)
"$SCRATCH/$mock_name/voice-calling-mock" --port "$port" --call-ms 50 >/dev/null &
servers+=($!)
listening "$port"
mock=http://127.0.0.1:$port

step "the command for lists, from its archive"
cli_name=voice-calling-cli-$VERSION-$PLATFORM
tar -xzf "$RELEASE/$cli_name.tar.gz" -C "$SCRATCH"
printf 'id,phone\n1,+91 00000-00077\n' >"$SCRATCH/list.csv"
for expected in "1 called" "1 called before"; do
    contains "$(offline "$SCRATCH/$cli_name/voice-calling" call-list "$SCRATCH/list.csv" --agent-id 7 \
        --number-column phone --key-column id --campaign rehearsal --ledger "$SCRATCH/list.db" \
        --results "$SCRATCH/results.csv")" "$expected"
done

step "verifying the release, and copies of it that were tampered with"
verify=$(first_block docs/releasing.md text)
mkdir "$SCRATCH/signature"
for key in ours other; do
    minisign -G -f -W -p "$SCRATCH/signature/$key.pub" -s "$SCRATCH/signature/$key.key" >/dev/null
done
copy=$SCRATCH/copy
signed() {
    rm -rf "$copy"
    cp -R "$RELEASE" "$copy"
    cp "$SCRATCH/signature/ours.pub" "$copy/voice-calling.pub"
    minisign -S -s "$SCRATCH/signature/ours.key" -m "$copy/SHA256SUMS" -t rehearsal >/dev/null
}
verified() { (cd "$copy" && bash -c "$verify") >/dev/null 2>&1; }
tampered() {
    signed
    (cd "$copy" && bash -c "$2")
    if verified; then fail "$1 was not noticed by: $verify"; fi
}
signed
verified || fail "the release is not verified by: $verify"
tampered "a changed file" 'printf x >>LICENSE'
tampered "a missing file" 'rm LICENSE'
tampered "changed checksums" 'printf x >>LICENSE; sed -i "/  LICENSE$/d" SHA256SUMS; sha256sum LICENSE >>SHA256SUMS'
tampered "another key" "cp '$SCRATCH/signature/other.pub' voice-calling.pub"
rm -rf "$copy"

# -------------------------------------------------------------------------------------- packages

step "the wheel, from an index (PEP 503)"
python3 -m venv "$SCRATCH/venv"
python=$SCRATCH/venv/bin/python
"$python" -m pip download --quiet --dest "$SCRATCH/files" \
    "$RELEASE"/voice_calling-"$VERSION"-*.whl
for file in "$SCRATCH"/files/*; do
    name=$(basename "$file")
    # Names of projects are normalized in an index.
    project=$(tr 'A-Z_.' 'a-z--' <<<"${name%%-*}")
    mkdir -p "$SCRATCH/index/simple/$project"
    cp "$file" "$SCRATCH/index/simple/$project"
    printf '<!DOCTYPE html><a href="%s">%s</a>\n' "$name" "$name" >"$SCRATCH/index/simple/$project/index.html"
done
port=$(free_port)
"$python" -m http.server --bind 127.0.0.1 --directory "$SCRATCH/index" "$port" >/dev/null 2>&1 &
servers+=($!)
listening "$port"
# Else a folder of wheels that the user has named might be searched, too.
env --unset PIP_FIND_LINKS "$python" -m pip install --quiet --no-cache-dir \
    --index-url "http://127.0.0.1:$port/simple/" voice-calling
first_block bindings/python/README.md python >"$SCRATCH/example.py"
contains "$(offline "$python" "$SCRATCH/example.py")" COMPLETED

step "the tarballs, in an empty project"
project=$SCRATCH/javascript
mkdir "$project"
echo '{ "private": true }' >"$project/package.json"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$project" \
    "$RELEASE/voice-calling-$VERSION.tgz" "$RELEASE"/voice-calling-linux-*-"$VERSION.tgz" \
    "$RELEASE/voice-calling-mcp-$VERSION.tgz" \
    "$RELEASE/voice-calling-node-red-$VERSION.tgz" @modelcontextprotocol/client@2.4.0
first_block bindings/javascript/README.md js >"$project/example.mjs"
contains "$(offline node "$project/example.mjs")" COMPLETED
cp xtask/release/agent.mjs xtask/release/nodes.cjs "$project"
contains "$(cd "$project" && offline node agent.mjs)" text
nodes=$(cd "$project" && offline node nodes.cjs)
[ "$nodes" = "account call completed docket fetch" ] || fail "the nodes for Node-RED are: $nodes"

# ------------------------------------------------------------------------------------ registries

# Debian's docker-registry. All that are started serve the same images.
registry() {
    mkdir -p "$SCRATCH/images"
    cat >"$SCRATCH/registry-$1.yml" <<YAML
version: 0.1
log: { level: warn }
storage: { filesystem: { rootdirectory: $SCRATCH/images } }
http: { addr: "127.0.0.1:$1"$2 }
YAML
    docker-registry serve "$SCRATCH/registry-$1.yml" >/dev/null 2>&1 &
    servers+=($!)
    listening "$1"
}

step "pushing to a registry, twice"
port=$(free_port)
registry "$port" ""
host=127.0.0.1:$port
export RUST_BACKTRACE=0
"$XTASK" release push "$host/acme"
"$XTASK" release push "$host/acme"
manifest=$(python3 -c 'import sys, urllib.request as u; print(u.urlopen(u.Request(sys.argv[1], headers={"Accept": "application/vnd.oci.image.manifest.v1+json"})).read().decode())' \
    "http://$host/v2/acme/voice-calling/component/manifests/$VERSION")
for annotation in title description licenses version; do
    contains "$manifest" "org.opencontainers.image.$annotation"
done

step "another file under a version that is released"
taken=$host/taken/voice-calling/component:$VERSION
"$WKG" oci push --insecure "$host" "$taken" "$RELEASE/voice-calling-p3.wasm" >/dev/null
if said=$("$XTASK" release push "$host/taken" 2>&1); then fail "$taken was overwritten"; fi
contains "$said" "never overwritten"
"$WKG" oci pull --insecure "$host" --output "$SCRATCH/kept.wasm" "$taken" >/dev/null
cmp "$SCRATCH/kept.wasm" "$RELEASE/voice-calling-p3.wasm"

step "the component, from the registry"
# What users write who take packages from a registry that is not known by itself.
place="{ registry = \"$host\", metadata = { preferredProtocol = \"oci\", oci = { registry = \"$host\", namespacePrefix = \"acme/\" } } }"
cat >"$SCRATCH/wkg-config.toml" <<TOML
[namespace_registries]
voice-calling = $place
wasi = $place

[registry."$host".oci]
protocol = "http"
TOML
export WKG_CONFIG_FILE=$SCRATCH/wkg-config.toml WKG_CACHE_DIR=$SCRATCH/wkg-cache
mkdir "$WKG_CACHE_DIR"
"$WKG" get "voice-calling:component@$VERSION" --output "$SCRATCH/component.wasm" >/dev/null
cmp "$SCRATCH/component.wasm" "$RELEASE/voice-calling.wasm"
said=$(call 'create-docket-v2({agent-id: 7, to-phone-number: "919876543210", call-context: "{}", external-id: none, extra: none}, none)' "$SCRATCH/component.wasm")
contains "$said" 'docket-id: "'
"$WASH" oci pull --insecure "$host/acme/voice-calling/component:$VERSION" "$SCRATCH/wash.wasm" >/dev/null 2>&1
cmp "$SCRATCH/wash.wasm" "$RELEASE/voice-calling.wasm"

step "the world of a guest, against the WIT from the registry"
for file in "$SCRATCH"/wasi:*.wasm; do
    name=$(basename "$file" .wasm)
    name=${name#wasi:}
    "$WKG" oci push --insecure "$host" "$host/acme/wasi/${name/@/:}" "$file" >/dev/null
done
mkdir -p "$SCRATCH/guest/wit"
cat >"$SCRATCH/guest/wit/world.wit" <<WIT
package acme:caller@0.1.0;
world caller {
    import voice-calling:client/dockets@$VERSION;
    export call: func(number: string) -> result<string, string>;
}
WIT
(cd "$SCRATCH/guest" && "$WKG" fetch wit && "$WKG" build --output world.wasm) >/dev/null

step "the folder for Obelisk, with the component from the registry: one docket, by its webhook"
# The engine speaks to registries by TLS only. Not an authority, which would not do as the
# certificate of a server.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -config /dev/stdin \
    -keyout "$SCRATCH/tls.key" -out "$SCRATCH/tls.pem" 2>/dev/null <<'CONFIG'
[req]
distinguished_name = name
x509_extensions = server
prompt = no
[name]
CN = 127.0.0.1
[server]
basicConstraints = CA:FALSE
subjectAltName = IP:127.0.0.1
CONFIG
port=$(free_port)
registry "$port" ", tls: { certificate: $SCRATCH/tls.pem, key: $SCRATCH/tls.key }"
tar -xzf "$RELEASE/voice-calling-obelisk-$VERSION.tar.gz" -C "$SCRATCH"
folder=$SCRATCH/voice-calling-obelisk-$VERSION
grep -q 'location = "voice-calling.wasm"' "$folder/deployment.toml" || fail "deployment.toml has no such location"
sed -i "s|location = \"voice-calling.wasm\"|location = \"oci://127.0.0.1:$port/acme/voice-calling/component:$VERSION\"|" \
    "$folder/deployment.toml"
# The variable is OpenSSL's, which the engine's TLS library heeds as well.
OBELISK_FOLDER=$folder SSL_CERT_FILE=$SCRATCH/tls.pem \
    cargo test --quiet --locked --workspace --features obelisk-harness/engine --test dockets -- \
    --exact docket::a_docket_is_created_once_and_completed_by_its_webhook

# ---------------------------------------------------------------------------------------- crates

step "the crates for Rust, packaged, and built from the packages"
# In the order in which they are published. Cargo unpacks a version from a folder once and for all: from
# the usual one, it might build what an earlier rehearsal has packaged.
crates=$SCRATCH/crates-$$
package() {
    cargo package --quiet --locked --allow-dirty --target-dir "$crates" \
        --package voice-calling-core --package voice-calling-net "$@"
}
package --package voice-calling --package voice-calling-rules --package voice-calling-cli \
    --package voice-calling-mock --features voice-calling/ledger
package --no-verify --package voice-calling-host

step "the packaged host, in the program of one who embeds it"
# Checked, not built: the machine code of wasmtime would take minutes, and says nothing more.
embedder=$SCRATCH/embedder
mkdir -p "$embedder/src"
for crate in core net host; do
    tar -xzf "$crates/package/voice-calling-$crate-$VERSION.crate" -C "$embedder"
done
cp "$embedder/voice-calling-host-$VERSION/examples/embed.rs" "$embedder/src/main.rs"
cp Cargo.lock "$embedder"
cat >"$embedder/Cargo.toml" <<TOML
$(first_block docs/embedding.md toml | sed "s/{ path = .*/\"$VERSION\"/")

[package]
name = "embedder"
edition = "2024"

[patch.crates-io]
voice-calling-core.path = "voice-calling-core-$VERSION"
voice-calling-host.path = "voice-calling-host-$VERSION"
voice-calling-net.path = "voice-calling-net-$VERSION"

[workspace]
TOML
cargo check --quiet --manifest-path "$embedder/Cargo.toml" --target-dir "$crates"
step "done: voice-calling $VERSION as its users get it"
