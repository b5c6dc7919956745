#!/usr/bin/env bash
# Start-up script of a TPU VM: install Podwright and join a Ray head as the host of a slice that this VM is.
# Create the TPU with it and with the metadata that it reads (deploy/README.md says how):
#   podwright-head     HOST:PORT of the Ray head
#   podwright-release  folder of what `make release` made: gs://BUCKET/FOLDER, or a path
#   podwright-pool     name of the pool that the slice belongs to (optional)
# Runs at every boot; what is installed already is not installed again.
set -euo pipefail

metadata=${PODWRIGHT_METADATA:-http://metadata.google.internal}
home=${PODWRIGHT_HOME:-/opt/podwright}
work=${PODWRIGHT_WORK:-/var/lib/podwright}
user=${PODWRIGHT_USER:-podwright}

attribute() {
  curl --silent --fail --max-time 10 --noproxy '*' --header 'Metadata-Flavor: Google' \
    "$metadata/computeMetadata/v1/instance/attributes/$1"
}

head=$(attribute podwright-head) || { echo "set the metadata podwright-head to HOST:PORT of the Ray head" >&2; exit 1; }
release=$(attribute podwright-release) || { echo "set the metadata podwright-release to the release's folder" >&2; exit 1; }

# Ubuntu's TPU images have an older Python.
if [[ -z ${PYTHON:-} ]]; then
  PYTHON=python3.11
  if ! "$PYTHON" -m venv --help >/dev/null 2>&1; then
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends python3.11 python3.11-venv
  fi
fi
export PYTHON

id "$user" >/dev/null 2>&1 || useradd --system --create-home --shell /usr/sbin/nologin "$user"
mkdir -p "$home/release"
install -d -o "$user" -m 0700 "$work" "$work/work"
if [[ $release == gs://* ]]; then
  gcloud storage cp "${release%/}/*" "$home/release/"
else
  cp "${release%/}"/* "$home/release/"
fi
bash "$home/release/install.sh" "$home/venv" "$home"/release/requirements{,-tpu}.lock "$home"/release/podwright-*.whl

join=("$home/venv/bin/python" -m workers.cluster.providers.ray host --head "$head" --metadata "$metadata" "$@")
cd "$work"
if [[ -d /run/systemd/system ]]; then
  systemctl stop podwright-host 2>/dev/null || true
  exec systemd-run --unit=podwright-host --uid="$user" --working-directory="$work" \
    --property=Restart=always --property=RestartSec=5 --property=LimitNOFILE=65536 "${join[@]}"
elif [[ $(id -un) == "$user" ]]; then
  exec "${join[@]}"
fi
exec setpriv --reuid="$user" --regid="$user" --init-groups "${join[@]}"
