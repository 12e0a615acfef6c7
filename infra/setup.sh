#!/usr/bin/env bash
# Sets up both environments from their hashed locks, or one of them (--jobs-only, --airflow-only), and compiles the kernels
# for this machine. Safe to run again: each part is skipped when its lock is unchanged.
set -euo pipefail
cd "$(dirname "$0")/.."

die() { echo "setup: $*" >&2; exit 1; }

find_python() {
    for name in "${WINNOW_PYTHON:-}" python3.11 python3 python3.12 python3.13; do
        [ -n "$name" ] || continue
        if "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null; then
            "$name" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    die "Python 3.11 or newer is needed and none was found; install it with: apt-get install python3 python3-venv"
}

check_java() {
    local java version
    java=${JAVA_HOME:+$JAVA_HOME/bin/java}
    java=$(command -v "${java:-java}") || die "Java 17 or 21 is needed and none was found; install it with: apt-get install openjdk-17-jre-headless"
    version=$("$java" -version 2>&1 | sed -nE 's/.*version "([0-9]+).*/\1/p' | head -1)
    case "$version" in
        17 | 21) ;;
        *) die "Java 17 or 21 is needed but '$java' is version '${version:-unknown}'; install it with: apt-get install openjdk-17-jre-headless" ;;
    esac
}

# stamp FOLDER FILE... : true when FOLDER was finished for exactly these files
fingerprint() { cat "$@" | sha256sum | cut -d' ' -f1; }
fresh() { [ "$(cat "$1/.winnow-stamp" 2>/dev/null)" = "$2" ]; }

environment() {
    local folder=$1 lock=$2 print
    print="$(fingerprint "$lock") $python"
    if fresh "$folder" "$print"; then return; fi
    echo "setup: installing $folder from $lock"
    "$uv" venv --quiet --clear --python "$python" "$folder"
    # Byte code once: without it every process compiles what it imports, where writing it later is switched off.
    "$uv" pip install --quiet --compile-bytecode --require-hashes --python "$folder/bin/python" -r "$lock"
    echo "$print" >"$folder/.winnow-stamp"
}

# with_winnow FOLDER LOCK : the environment, and winnow itself from its sources
with_winnow() {
    environment "$1" "$2"
    if fresh "$1/bin" "$(fingerprint pyproject.toml "$1/.winnow-stamp")" && [ -e "$1/bin/winnow" ]; then return; fi
    "$uv" pip install --quiet --python "$1/bin/python" --no-deps --no-build-isolation --editable .
    fingerprint pyproject.toml "$1/.winnow-stamp" >"$1/bin/.winnow-stamp"
}

# with_kernels : the jobs' environment, with Delta's jars and machine code of the kernels
with_kernels() {
    with_winnow .venv infra/requirements/job.txt
    .venv/bin/winnow setup-jars --verbose >.winnow/jars.log 2>&1 || { tail -20 .winnow/jars.log; die "the jars could not be resolved; the whole log is .winnow/jars.log"; }
    mapfile -t sources < <(find lib/winnow -name '*.py' | sort)
    if ! fresh .winnow/kernels "$(fingerprint "${sources[@]}" .venv/.winnow-stamp)"; then
        .venv/bin/winnow setup-kernels
        mkdir -p .winnow/kernels
        fingerprint "${sources[@]}" .venv/.winnow-stamp >.winnow/kernels/.winnow-stamp
    fi
}

mkdir -p .winnow
exec 9>.winnow/setup.lock
flock 9 # two set-ups at once would tear each other's environment

part=${1:-}
python=$(find_python)
if [ "$part" != "--airflow-only" ]; then check_java; fi
export UV_SYSTEM_CERTS=true # trust what the machine trusts, as pip does

uv=.winnow/bootstrap/bin/uv
if ! fresh .winnow/bootstrap "$(fingerprint infra/requirements/bootstrap.txt)"; then
    rm -rf .winnow/bootstrap
    "$python" -m venv .winnow/bootstrap || die "Python's venv module is incomplete; install it with: apt-get install python3-venv"
    .winnow/bootstrap/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r infra/requirements/bootstrap.txt
    fingerprint infra/requirements/bootstrap.txt >.winnow/bootstrap/.winnow-stamp
fi

if [ "$part" != "--airflow-only" ]; then with_kernels; fi
if [ "$part" != "--jobs-only" ]; then with_winnow .venv-airflow infra/requirements/airflow.txt; fi
