#!/usr/bin/env bash
# install.sh PREFIX LOCK [WHEEL]: install what LOCK pins, by hash, and then WHEEL into a virtual environment at PREFIX.
# Nothing that is not pinned is fetched. A part that PREFIX has already is passed over, so it may run at every boot.
set -euo pipefail

prefix=$1 lock=$2 wheel=${3:-}
python=${PYTHON:-python3}

# part NAME FILE COMMAND…: run COMMAND, unless it ran for a file of the same content.
part() {
  local stamp="$prefix/.$1" digest
  digest=$(sha256sum <"$2")
  if [[ -f $stamp && $(<"$stamp") == "$digest" ]]; then return; fi
  "${@:3}"
  echo "$digest" >"$stamp"
}

if [[ ! -x $prefix/bin/python ]]; then
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "Podwright needs Python 3.11 or newer; $python is $("$python" -V 2>&1)" >&2
    exit 1
  }
  "$python" -m venv "$prefix"
fi
pip=("$prefix/bin/python" -m pip --disable-pip-version-check install --quiet --no-cache-dir)
part dependencies "$lock" "${pip[@]}" --require-hashes -r "$lock"
if [[ -n $wheel ]]; then
  part wheel "$wheel" "${pip[@]}" --no-deps --force-reinstall "$wheel"
fi
