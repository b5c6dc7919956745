#!/usr/bin/env bash
# Make the secrets that compose.yaml mounts, in deploy/secrets, and deploy/.env. What is there already stays.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

random() { head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }

# The folder is closed to others; the files are open, because containers read them as a user of their own.
mkdir -p -m 0700 secrets
for pair in server_key: admin_token:pwt_ cluster_token:pwc_; do
  file=secrets/${pair%%:*}
  [[ -s $file ]] || { echo "${pair#*:}$(random)" >"$file" && chmod 0444 "$file"; }
done
if [[ ! -e .env ]]; then
  (umask 077 && sed "s/^POSTGRES_PASSWORD=.*/POSTGRES_PASSWORD=$(random)/" env.example >.env)
  echo "deploy/.env is made; set in it what is empty" >&2
fi
