#!/usr/bin/env bash
# Builds and tests packages for other languages, and what uses them, as their users have them. `cargo
# xtask` runs this in the root of the repository as `parts.sh PART`. It sets TARGET, the target
# directory, and for the parts that need them:
#
#   WHEEL, TARBALL   the packages       MOCK, HOST_TEST, CHROMIUM, WASSETTE   programs
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1

announce() { printf 'xtask: %s\n' "$1" >&2; }
fail() { printf 'error: %s\n' "$1" >&2; exit 1; }

# Runs a command whose output is of interest only if it fails.
quietly() {
    local output
    output=$("$@" 2>&1) || fail "\`$*\`: $output"
}

# Checks that Node is new enough. How to install it is the user's choice, and Python's too.
node_20() { node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || fail "\`node\` is needed on the PATH, 20 or newer"; }

# Installs the packages in the lock file of a folder, unless they are there (npm writes its own list of
# them last), without their scripts, which none needs.
npm_ci() {
    node_20
    if [ "$1/package-lock.json" -nt "$1/node_modules/.package-lock.json" ]; then
        announce "npm ci in $1"
        quietly npm ci --ignore-scripts --no-audit --no-fund --prefix "$1"
    fi
}

minor() { "$1" -c 'import sys; print(sys.version_info[1])' 2>/dev/null; }

# Makes a virtual environment of this Python with the packages in a file of requirements, and the wheel if
# there is one, and prints its own Python.
environment() {
    local venv minor python
    if ! minor=$(minor "$1") || [ "$minor" -lt 11 ]; then fail "\`$1\` is needed on the PATH, 3.11 or newer"; fi
    venv=$TARGET/python/$(tr / - <<<"${2%.txt}")-3.$minor
    if [ ! -e "$venv/pyvenv.cfg" ]; then
        announce "Python 3.$minor in $venv"
        quietly "$1" -m venv "$venv"
    fi
    python=$venv/bin/python
    [ -e "$python" ] || python=$venv/Scripts/python.exe # on Windows
    local install=("$python" -m pip install --quiet --disable-pip-version-check)
    quietly "${install[@]}" --requirement "$2"
    # It has no dependencies.
    [ -z "${WHEEL-}" ] || quietly "${install[@]}" --no-deps --force-reinstall "$WHEEL"
    echo "$python"
}

# Prints the lowest and the newest Python on the PATH or installed by pyenv.
pythons() {
    local python minor
    for python in python3 python3.{11..19} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
        if minor=$(minor "$python") && [ "$minor" -ge 11 ]; then echo "$minor $python"; fi
    done | sort --numeric-sort --unique --key 1,1 | sed -n '1p; $p' | uniq | cut -d ' ' -f 2
}

tools() { WHEEL='' environment python3 bindings/python/requirements/tools.txt; }

build_wheel() {
    local python
    python=$(tools)
    announce "the wheel"
    rm -rf "$TARGET/bindings/python"
    # Without a target, the flags would also apply to programs that run during the build.
    (cd bindings/python && CARGO_TARGET_DIR=$TARGET quietly "$python" -m maturin build --locked \
        --target "$HOST" --out "$TARGET/bindings/python")
}

test_python() {
    local tools user found python examples=$TARGET/python/readme
    tools=$(tools)
    user=$(environment python3 bindings/python/requirements/examples.txt)
    cd bindings/python
    announce "format, lints and types of the Python package"
    local files=(src tests bench.py ../../cli/list_bench.py)
    quietly "$tools" -m ruff format --config pyproject.toml --check "${files[@]}"
    quietly "$tools" -m ruff check --config pyproject.toml "${files[@]}"
    quietly "$tools" -m mypy "${files[@]}"
    PATH=$(dirname "$tools"):$PATH quietly "$tools" -m pyright "${files[@]}"

    announce "types as users see them: those of the README's examples, and that all that is public has one"
    quietly "$user" tests/readme.py "$examples"
    (
        # Pyright asks the first Python there for the folder of installed packages.
        PATH=$(dirname "$user"):$PATH
        cd "$examples"
        quietly "$tools" -m mypy --strict --no-incremental --python-executable "$user" .
        quietly "$tools" -m pyright .
        quietly "$tools" -m pyright --verifytypes voice_calling --ignoreexternal
    )
    cd ../..
    found=$(pythons)
    [ "$(wc -l <<<"$found")" -gt 1 ] || announce "only one Python is installed, so only that one is tested"
    while read -r python; do
        announce "Python 3.$(minor "$python")"
        python=$(environment "$python" bindings/python/requirements/test.txt)
        (cd bindings/python && USER_PYTHON=$user "$python" -m pytest --quiet -c pyproject.toml tests </dev/null)
    done <<<"$found"
    announce "Python: that the figures can be measured"
    (cd bindings/python && "$user" bench.py --short)
}

test_javascript() {
    local node runtimes=$PWD/bindings/javascript/test/runtimes
    npm_ci bindings/javascript
    npm_ci "$runtimes"
    npm_ci bindings/javascript/test/frameworks
    cd bindings/javascript
    runtimes=$runtimes/node_modules
    for node in node "$runtimes/node-oldest/bin/node" "$runtimes/node-newest/bin/node"; do
        announce "JavaScript: tests with $node"
        DENO=$runtimes/@deno/linux-x64-glibc/deno VOICE_CALLING_TARBALL=$TARBALL \
            "$node" --test --test-reporter=spec test/*.test.mjs
    done
    announce "JavaScript: users' tests in Jest and Vitest"
    npm test --silent --prefix test/frameworks
    announce "JavaScript: that the figures can be measured"
    node bench.mjs --short
}

# Installs the packages of a folder, and runs its scripts.
run_npm() {
    local script
    npm_ci "$1"
    for script in "${@:2}"; do
        announce "$1: $script"
        npm run --silent --prefix "$1" "$script"
    done
}

temporal() { environment python3 engines/temporal/requirements/test.txt; }

test_temporal() {
    local python
    python=$(temporal)
    cd engines/temporal
    announce "format, lints and types of the recipe for Temporal"
    quietly "$python" -m ruff format --check .
    quietly "$python" -m ruff check .
    quietly "$python" -m mypy .
    announce "dockets on Temporal"
    "$python" -m pytest --quiet
    announce "Temporal and the command for lists: that the figures can be measured"
    "$python" bench.py
    COMMAND=$(dirname "$python")/voice-calling "$python" ../../cli/list_bench.py
}

# Builds what the examples need beside components: the guest in Python, and programs that call the component
# by bindings. Prints the Python of these.
build_examples() {
    local python folder=$TARGET/examples
    python=$(environment python3 examples/python/requirements.txt)
    announce "examples/python"
    # It looks for the guest's imports in VIRTUAL_ENV, and in the system's Python otherwise.
    (cd examples/python && VIRTUAL_ENV=$(dirname "$python")/.. quietly "$(dirname "$python")/componentize-py" \
        --wit-path ../wit --world workflow componentize --stub-wasi renewals --output "$folder/guest-python.wasm")
    npm_ci examples/bindings-javascript
    announce "examples/bindings-javascript"
    (cd examples/bindings-javascript && quietly node_modules/.bin/jco transpile --name voice-calling \
        "$TARGET/voice-calling.wasm" --quiet --out-dir generated)
    environment python3 examples/bindings-python/requirements.txt
}

# Puts into the folder for Obelisk what it has beside components: pages, settings, and the WIT for users,
# with the options and outcomes, what an operator of their own exports, and the types of the client.
fill_obelisk() {
    local waits='blocking_strategy = "await"' interrupts='blocking_strategy = "interrupt"'
    mkdir -p "$1"/wit/{types,workflows,operator}
    cp engines/obelisk/{*.md,deployment.toml,server.toml} "$1"
    {
        sed '/^\[database/,$d' engines/obelisk/postgres.toml
        sed '1d; /^\[database/,/^$/d' engines/obelisk/server.toml
        echo
        sed -n '/^\[database/,$p' engines/obelisk/postgres.toml
    } >"$1/server-postgres.toml"
    grep -q "$waits" engines/obelisk/deployment.toml || fail "the deployment has no $waits"
    sed "s/$waits/$interrupts/" engines/obelisk/deployment.toml >"$1/deployment-postgres.toml"
    cp wit/types/* "$1/wit/types"
    cp engines/obelisk/wit/* "$1/wit/workflows"
    cp engines/obelisk/operator/wit/* "$1/wit/operator"
}

case $1 in
    obelisk) fill_obelisk "$2" ;;
    wheel) build_wheel ;;
    python) test_python ;;
    javascript) test_javascript ;;
    mcp) run_npm bindings/mcp test ;;
    wassette) VOICE_CALLING_TARGET=$TARGET run_npm bindings/mcp test:wassette ;;
    node-red)
        # Node-RED 5 runs on the Node that it needs, which is newer than the one that the other tools need.
        npm_ci bindings/node-red/test/node-red-5
        run_npm bindings/node-red test test:5
        ;;
    page) run_npm mock/browser page ;;
    pictures) PAGE_PICTURES=$PWD/docs/pictures run_npm mock/browser pictures ;;
    # With the Node that it needs, which is newer too.
    restate) run_npm engines/restate check test ;;
    temporal) test_temporal ;;
    examples) build_examples ;;
    measure-command)
        python=$(temporal)
        COMMAND=$(dirname "$python")/voice-calling "$python" cli/list_bench.py "$2"
        ;;
    measure-restate)
        npm_ci engines/restate
        npm run --silent --prefix engines/restate bench -- "$2"
        ;;
    measure-temporal)
        python=$(temporal)
        cd engines/temporal
        "$python" bench.py "$2"
        ;;
esac
