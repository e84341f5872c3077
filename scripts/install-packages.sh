#!/usr/bin/env bash
# Installs the Debian packages that are missing of scripts/apt-packages.txt, or of the list that is named, where that is allowed.
# Says what it does, and what is skipped without a package; never fails.
set -u
cd "$(dirname "$0")/.." || exit 0
list=${1:-scripts/apt-packages.txt}

is_installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

missing=()
find_missing() {
    local name
    missing=()
    while read -r name _; do
        case "$name" in '' | '#'*) continue ;; esac
        is_installed "$name" || missing+=("$name")
    done < "$list"
}

# Why these packages are not there, and what needs each.
say_skipped() {
    echo "packages: $1; what needs these is skipped:"
    local name
    for name in "${missing[@]}"; do
        grep -E "^$name +" "$list" | sed 's/^/          /'
    done
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "packages: this is not Debian, so none is installed; $list says what needs which, and tests that miss one say so"
    exit 0
fi
find_missing
if [ ${#missing[@]} -eq 0 ]; then
    echo "packages: all of $list are installed"
    exit 0
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo=(sudo -n)
    else
        say_skipped "not installed without root"
        echo "          to install them: sudo apt-get install ${missing[*]}"
        exit 0
    fi
fi
echo "packages: installing ${missing[*]}"
# Without a network, this ends within seconds.
apt() { "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=60 "$@"; }
apt install -y "${missing[@]}" >/dev/null 2>&1 || { apt update && apt install -y "${missing[@]}"; } >/dev/null 2>&1
find_missing
if [ ${#missing[@]} -ne 0 ]; then
    say_skipped "apt-get could not install all"
    echo "          to see why: apt-get update && apt-get install ${missing[*]}"
fi
exit 0
