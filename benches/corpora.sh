#!/usr/bin/env bash
# Builds the trees that the measurements work on, from public packages, once:
#   html-5k    5,000 real HTML files (192 MB) from Debian's documentation packages
#   html-50k   50,000 of them (1.7 GB); only with LARGE=1 (about 170 MB of downloads)
#   package-json   2,000 files package.json of these packages
#   typescript   the first 8,000 files *.ts of the checkouts in SOURCES, separated by blanks, such as those of typeorm/typeorm and
#              angular/components; without SOURCES it is left out
#   markdown   the Markdown files that some large npm packages and their dependencies ship (needs npm)
# usage: benches/corpora.sh [FOLDER]      default: ~/.cache/nrv-bench
set -euo pipefail
root=${1:-${NRV_BENCH:-$HOME/.cache/nrv-bench}}
mkdir -p "$root/debs" "$root/unpacked" "$root/corpora"
cd "$root"

small=(python3.11-doc python-django-doc sqlite3-doc postgresql-doc-15 apache2-doc git-doc debian-policy
    developers-reference nodejs-doc linux-doc-6.1)
large=(debian-handbook libboost1.74-doc openjdk-17-doc qtbase5-doc-html erlang-doc cppreference-doc-en-html ghc-doc
    python-pandas-doc rust-doc)
npm=(@angular/cli@22.2.7 @nestjs/cli@12.0.8 aws-cdk-lib@2.276.0 ember-cli@7.3.0 eslint@10.15.0 gatsby@5.16.1 jest@30.5.2
    nx@24.0.6 renovate@44.121.2 storybook@10.6.7 verdaccio@6.10.4 webdriverio@9.33.1 webpack@5.112.2)

unpack() {
    for package in "$@"; do
        if ! ls "debs/${package}_"*.deb >/dev/null 2>&1; then
            (cd debs && apt-get download -q "$package" 2>/dev/null)
        fi
        if [ ! -d "unpacked/$package" ]; then
            mkdir "unpacked/$package"
            dpkg-deb -x "debs/${package}_"*.deb "unpacked/$package"
        fi
    done
}

# Copies the first COUNT files with one of the names, folder by folder, sorted, no links: gather TREE COUNT NAMES FOLDER…
gather() {
    local tree=$1 count=$2 names=$3
    shift 3
    if [ -d "corpora/$tree" ]; then
        echo "$tree: kept"
        return
    fi
    mkdir "corpora/$tree.part"
    for folder in "$@"; do
        (cd "$folder/.." && find "$(basename "$folder")" -type f -regextype posix-extended -regex ".*/$names" -print0) |
            sort -z
    done >"$root/all"
    head -z -n "$count" "$root/all" >"$root/list"
    for folder in "$@"; do
        local name
        name=$(basename "$folder")
        { grep -z "^$name/" "$root/list" || true; } | tar -C "$folder/.." --null -T - -cf - | tar -C "corpora/$tree.part" -xf -
    done
    rm "$root/all" "$root/list"
    chmod -R u+rw "corpora/$tree.part"
    mv "corpora/$tree.part" "corpora/$tree"
    echo "$tree: $(find "corpora/$tree" -type f | wc -l) files, $(du -sm --apparent-size "corpora/$tree" | cut -f1) MB"
}

unpack "${small[@]}"
gather html-5k 5000 '[^/]*\.html?' "${small[@]/#/unpacked/}"
if [ -n "${LARGE:-}" ]; then
    unpack "${large[@]}"
    gather html-50k 50000 '[^/]*\.html?' "${small[@]/#/unpacked/}" "${large[@]/#/unpacked/}"
fi
if [ -n "${SOURCES:-}" ]; then
    read -ra sources <<<"$SOURCES"
    gather typescript 8000 '[^/]*\.ts' "${sources[@]}"
fi
if command -v npm >/dev/null; then
    for package in "${npm[@]}"; do
        folder=npm/$(tr -c 'a-z0-9.\n-' _ <<<"$package")
        if [ ! -d "$folder" ]; then
            mkdir -p "$folder.part"
            if (cd "$folder.part" && npm init -y >/dev/null 2>&1 && npm install --ignore-scripts --no-audit --no-fund \
                --legacy-peer-deps --loglevel error "$package" >/dev/null 2>&1); then
                mv "$folder.part" "$folder"
            else
                rm -rf "$folder.part"
                echo "markdown: $package can't be installed and is left out"
            fi
        fi
    done
    gather markdown 10000 '[^/]*\.md' npm
    gather package-json 2000 'package\.json' npm
else
    echo "markdown: skipped, there is no npm"
fi
