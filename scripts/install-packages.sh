#!/usr/bin/env bash
# Installs the Debian packages of scripts/apt-packages.txt that are missing, where that is allowed.
# Says what it does; never fails: tests skip aloud what a missing package keeps them from doing.
set -u
cd "$(dirname "$0")/.."
missing=()
while read -r name _; do
    case "$name" in '' | '#'*) continue ;; esac
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
done < scripts/apt-packages.txt
if [ ${#missing[@]} -eq 0 ]; then
    echo "packages: all of scripts/apt-packages.txt are installed"
    exit 0
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo=(sudo -n)
    else
        echo "packages: missing ${missing[*]}; without root they are not installed, and what needs them is skipped"
        echo "          to install them: sudo apt-get install ${missing[*]}"
        exit 0
    fi
fi
echo "packages: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get install -y -qq "${missing[@]}" >/dev/null 2>&1 ||
    { "${sudo[@]}" apt-get update -qq && "${sudo[@]}" apt-get install -y -qq "${missing[@]}" >/dev/null; } ||
    echo "packages: apt-get could not install ${missing[*]}; what needs them is skipped"
exit 0
