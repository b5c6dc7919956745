#!/bin/sh
# Reports progress and a loss without any library: one JSON line per report, appended to $PODWRIGHT_SPOOL.
#   podwright run --name spool --slices v5e:2x4 -- sh "$PWD/docs/examples/spool.sh"
set -eu

now_ms() { date +%s%3N; }

total=10
for step in $(seq 1 "$total"); do
    sleep 1
    printf '{"type":"progress","at_ms":%s,"step":%s,"total_steps":%s}\n' "$(now_ms)" "$step" "$total" >> "$PODWRIGHT_SPOOL"
    if [ "$PODWRIGHT_RANK" = 0 ]; then
        printf '{"type":"metrics","at_ms":%s,"step":%s,"values":{"loss":%s}}\n' \
            "$(now_ms)" "$step" "$(awk "BEGIN { print 5 / $step }")" >> "$PODWRIGHT_SPOOL"
    fi
    echo "step $step"
done
