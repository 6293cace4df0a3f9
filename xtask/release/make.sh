#!/usr/bin/env bash
# Puts what was built into the folder of a release. The same files give the same bytes. `cargo xtask
# release` runs this in the root of the repository, and sets:
#
#   RELEASE   the folder, which has the WIT packages and the licences    VERSION  its version
#   TARGET    the target directory    PROGRAMS  the folder of programs   PLATFORM  this machine's name
#   WHEEL, TARBALL  the packages for this platform
set -euo pipefail
export LC_ALL=C

step() { printf 'xtask: %s\n' "$1" >&2; }

# Archives everything below a folder, without times and owners.
archive() {
    step "$1.tar.gz: archiving"
    tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
        --use-compress-program='gzip -9n' --transform="s,^[.],$1," --file "$RELEASE/$1.tar.gz" --directory "$2" .
}

pack() {
    step "$1: packing"
    (cd "$1" && npm pack --silent --pack-destination "$2" >/dev/null)
}

empty() {
    rm -rf "$1"
    mkdir -p "$1"
}

cp "$TARGET"/voice-calling{,-p3,-tools,-tools-read-only}.wasm "$WHEEL" "$TARBALL" LICENSE "$RELEASE"

# What is published for all platforms has no native half: it depends on those of the platforms.
folder=$TARGET/npm/voice-calling
empty "$folder"
cp -r bindings/javascript/{bin,src,types,platforms.json,README.md,package.json} LICENSE "$folder"
(cd "$folder" && node -e '
    const { devDependencies, scripts, ...published } = require("./package.json");
    const natives = Object.keys(require("./platforms.json")).map((name) => ["@voice-calling/" + name, published.version]);
    published.optionalDependencies = Object.fromEntries(natives);
    require("fs").writeFileSync("package.json", JSON.stringify(published, null, 2));
')
pack "$folder" "$RELEASE"

# What is built on it depends on the released version, and in the repository on its folder.
for package in mcp node-red; do
    folder=$TARGET/npm/$package
    empty "$folder"
    pack "bindings/$package" "$folder"
    tar -xzf "$folder"/*.tgz -C "$folder"
    cp LICENSE "$folder/package"
    npm pkg set "dependencies.voice-calling=$VERSION" --prefix "$folder/package"
    pack "$folder/package" "$RELEASE"
done

for program in mock:voice-calling-mock cli:voice-calling; do
    name=voice-calling-${program%%:*}
    empty "$TARGET/$name"
    cp "$PROGRAMS/${program#*:}" LICENSE "$TARGET/$name"
    archive "$name-$VERSION-$PLATFORM" "$TARGET/$name"
done
archive "voice-calling-obelisk-$VERSION" "$TARGET/obelisk-release"
archive "voice-calling-docs-$VERSION" "$TARGET/docs-site"

# Last: a folder that has the checksums is complete.
cd "$RELEASE"
for file in *.whl *.tgz; do
    case $file in *"$VERSION"*) ;; *) step "error: $file is not of the version $VERSION"; exit 1 ;; esac
done
sums=$(sha256sum -- *)
echo "$sums" >SHA256SUMS
step "$RELEASE: complete"
