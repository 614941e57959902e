# Of each proof the newest log under results/: what became of it, and how old it is, in days and in commits. In a git
# checkout. Arguments: the proofs' names.
set -eu
head_of() { sed -n "s/^$1 //p" "$2" | head -n 1; }
for name in "$@"; do
    logs=$(grep -lE "^ *(held|FAILED) +$name:" results/*/*.txt | xargs -r grep -l '^begun ' || true)
    newest=$(for log in $logs; do echo "$(head_of begun "$log") $log"; done | sort | tail -n 1)
    if [ -z "$newest" ]; then
        printf '%-18s in no log that names its commit\n' "$name"
        continue
    fi
    log=${newest#* }
    commit=$(head_of commit "$log")
    outcome=$(grep -oE "^ *(held|FAILED) +$name:" "$log" | awk '{ print $1 }')
    days=$((($(date +%s) - $(date -d "${newest%% *}" +%s)) / 86400))
    behind=$(git rev-list --count "$commit..HEAD" 2> /dev/null) || behind="unknown"
    asked="; what is asked may be another by now"
    if git diff --quiet "$commit" HEAD -- xtask/src/prove xtask/studies xtask/proofs 2> /dev/null; then asked=; fi
    printf '%-18s %-7s%s days and %s commits ago, %.8s, %s%s\n' "$name" "$outcome" "$days" "$behind" "$commit" "$log" "$asked"
done
