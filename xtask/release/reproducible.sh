#!/usr/bin/env bash
# Proves that the bytes of a release depend only on the source and the compiler: makes it once more,
# from clean, in a copy of the workspace in another folder, and compares every file. `cargo xtask
# reproducible` makes the release, runs this in the root of the repository, and sets:
#
#   RELEASE  the folder of the release    TARGET  the target directory    XTASK  a program
set -euo pipefail

fail() { printf 'error: %s\n' "$1" >&2; exit 1; }

copy=$TARGET/reproducible
unpacked=$TARGET/unpacked
rm -rf "$copy" "$unpacked"
mkdir -p "$copy"
# The files that are or would be in git: no results of earlier builds. Git also lists deleted files until
# their deletion is committed.
git ls-files -z --cached --others --exclude-standard |
    tar --create --null --files-from - --ignore-failed-read | tar --extract --directory "$copy"
(cd "$copy" && env --unset CARGO_TARGET_DIR "$XTASK" release)
diff --recursive --brief "$RELEASE" "$copy/target/$(basename "$RELEASE")" ||
    fail "the two releases differ, and are kept"

for archive in "$RELEASE"/*; do
    folder=$unpacked/$(basename "$archive")
    mkdir -p "$folder"
    case $archive in
        *.gz | *.tgz) tar -xzf "$archive" -C "$folder" ;;
        *.whl) python3 -m zipfile -e "$archive" "$folder" ;;
    esac
done
# No file may have a folder of the user, which would reveal the machine of the build. (The folders of the
# two workspaces differ, so that their bytes would, too.) A separator follows, so that `/home/me` is not
# found in `/home/merlin`.
status=0
found=$(LC_ALL=C grep --recursive --text --files-with-matches --fixed-strings \
    -e "$HOME/" -e "${CARGO_HOME:-$HOME/.cargo}/" "$RELEASE" "$unpacked") || status=$?
[ "$status" = 1 ] || fail "a path of this machine is in: $found"
cat "$RELEASE/SHA256SUMS"
rm -rf "$copy" "$unpacked"
echo "reproducible: the same bytes in another folder, and no path of this machine in them"
