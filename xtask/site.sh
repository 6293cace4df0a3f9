#!/usr/bin/env bash
# Makes the documentation as a site, in $TARGET/docs-site: mdBook renders the project's Markdown
# (docs/SUMMARY.md lists the pages, which keep their paths, so that links between them are valid) and
# the WIT, which is documented item by item. Reading it needs no network. `cargo xtask docs` runs this
# in the root of the repository, and sets TARGET and MDBOOK, a program.
set -euo pipefail

book=$TARGET/book
source=$book/src
rm -rf "$book" "$TARGET/docs-site"
mkdir -p "$source/wit"
cp docs/SUMMARY.md "$source"

# The pages link to folders of the WIT, which are pages of the site.
links='s#](wit/)#](wit/client.md)#g; s#](../wit)#](../wit/client.md)#g; s#](../wit/types)#](../wit/types.md)#g; s#](../wit/async)#](../wit/client-async.md)#g'
sed -n 's#.*](\(.*\.md\))#\1#p' docs/SUMMARY.md | grep -v '^wit/' | while read -r page; do
    folder=$(dirname "$page")
    mkdir -p "$source/$folder"
    sed "$links" "$page" >"$source/$page"
    # What it links to, other than pages.
    { grep -o '](\([^)#]*\)' "$page" || [ $? = 1 ]; } | cut -c 3- | while read -r link; do
        file=$(realpath --canonicalize-missing --relative-to . "$folder/$link")
        case $file in *.md) ;; *) [ ! -f "$file" ] || cp --parents "$file" "$source" ;; esac
    done
done
fence='```'
for package in types:wit/types client:wit client-async:wit/async tools:wit/tools; do
    {
        echo "# voice-calling:${package%:*}"
        for file in "${package#*:}"/*.*; do
            printf '\n## %s\n\n%stext\n%s\n%s\n' "$(basename "$file")" "$fence" "$(cat "$file")" "$fence"
        done
    } >"$source/wit/${package%:*}.md"
done
cat >"$book/book.toml" <<'TOML'
[book]
title = "voice-calling"
language = "en"
[build]
use-default-preprocessors = false
[output.html]
no-section-label = true
input-404 = ""
[output.html.print]
enable = false
TOML
output=$("$MDBOOK" build --dest-dir "$TARGET/docs-site" "$book" 2>&1) || { echo "error: mdBook: $output" >&2; exit 1; }
