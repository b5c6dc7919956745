#!/usr/bin/env bash
# install.sh PREFIX FILE…: install each FILE in turn into a virtual environment at PREFIX: what a .lock pins, by hash, or
# a .whl without what it depends on. So nothing that is not pinned is fetched.
# A file that PREFIX has in that version already is passed over: it may run at every boot.
set -euo pipefail

prefix=$1
python=${PYTHON:-python3}

if [[ ! -x $prefix/bin/python ]]; then
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "Podwright needs Python 3.11 or newer; $python is $("$python" -V 2>&1)" >&2
    exit 1
  }
  "$python" -m venv "$prefix"
fi

for file in "${@:2}"; do
  stamp=$prefix/.installed-$(basename "$file")
  digest=$(sha256sum <"$file")
  if [[ -f $stamp && $(<"$stamp") == "$digest" ]]; then continue; fi
  case $file in
    *.lock) options=(--require-hashes -r "$file") ;;
    *.whl) options=(--no-deps --force-reinstall "$file") ;;
    *)
      echo "$file is neither a .lock nor a .whl" >&2
      exit 1
      ;;
  esac
  "$prefix/bin/python" -m pip --disable-pip-version-check install --quiet --no-cache-dir "${options[@]}"
  echo "$digest" >"$stamp"
done
