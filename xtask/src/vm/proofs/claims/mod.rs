//! The claims that are held to account outside of the guest, by what its scripts tell.

mod audit;
mod secure;
mod shaped;
mod shares;

use anyhow::ensure;

use super::{GuestFindings, LOOK};

type Check = fn(&GuestFindings) -> anyhow::Result<()>;

/// Each with its check, in a guest with network cards and modules.
pub(super) const TUNED: [(&str, Check); 7] = [
    (
        "serve has the kernel encrypt a file that it sends by sendfile, as records and nothing else",
        secure::by_kernel,
    ),
    (
        "the kernel uses no nonce again that the session had before it was handed over",
        secure::nonces,
    ),
    (
        "a client that asks for new keys gets them, or is told by an alert that the kernel has none",
        secure::new_keys,
    ),
    (
        "fq by its lever holds each connection to its rate, by the time of each packet, and the undo ends it",
        shaped::by_fq,
    ),
    (
        "each lever of the host and of a card that there is is set, held and put back",
        levers,
    ),
    (
        "a program with three times the weight has that much of the CPU beside its neighbour, and no other after it",
        shares::by_weight,
    ),
    (
        "processes born after audit was on enter its code though it is off, but for a rule, and that is told",
        audit::latch,
    ),
];

/// Levers that a guest may have nothing of, and how that is told.
const LACKING: [(&str, &str); 4] = [
    ("energy-preference", "this kernel or machine has no"),
    ("frequency-governor", "this kernel or machine has no"),
    ("guest-halt-poll", "this kernel or machine has no"),
    // A watchdog without a counter to run it is refused by Linux 6.1 and only shown by later ones.
    ("nmi-watchdog", "kernel.nmi_watchdog"),
];

/// Each lever that the script asks for is restored; what a guest has nothing of is told so by the words
/// for it, and nothing else may be in the way.
fn levers(seen: &GuestFindings) -> anyhow::Result<()> {
    let lines = seen.truth.lines();
    let states = lines.filter_map(|line| line.strip_prefix("lever.")?.split_once(' '));
    let states: Vec<(&str, &str)> = states.collect();
    let is_well = |(name, state): &&(&str, &str)| {
        let is_lacking = |(lacking, words): &(&str, &str)| lacking == name && state.contains(words);
        *state == "restored" || LACKING.iter().any(is_lacking)
    };
    let wrong = states.iter().filter(|state| !is_well(state));
    let wrong: Vec<String> = wrong
        .map(|(name, state)| format!("{name}: {state}"))
        .collect();
    ensure!(wrong.is_empty(), "{}", wrong.join("; "));
    for name in asked() {
        let is_told = states.iter().any(|(told, _)| *told == name);
        ensure!(is_told, "nothing is told of {name}");
    }
    Ok(())
}

/// The levers of the script's two lists.
fn asked() -> impl Iterator<Item = &'static str> {
    let lists = ["\nasked=\"", "\nof_card=\""]
        .into_iter()
        .filter_map(|begin| {
            let (_, list) = LOOK.split_once(begin)?;
            list.split('"').next()
        });
    let settings = lists.flat_map(str::split_whitespace);
    settings.filter_map(|setting| Some(setting.split_once('=')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_restored() -> String {
        let told = asked().map(|name| format!("lever.{name} restored\n"));
        told.collect()
    }

    #[test]
    fn each_lever_of_the_script_is_asked_for_by_name() {
        let all = all_restored();
        assert!(asked().count() > 40, "{all}");
        levers(&GuestFindings::of(&all)).unwrap();
        let without = all.replace("lever.mtu restored\n", "");
        let error = levers(&GuestFindings::of(&without))
            .unwrap_err()
            .to_string();
        assert_eq!(error, "nothing is told of mtu");
    }

    #[test]
    fn only_what_a_guest_may_lack_may_be_missing_and_only_by_the_words_for_it() {
        let with = |name: &str, state: &str| {
            let restored = format!("lever.{name} restored");
            let told = all_restored().replace(&restored, &format!("lever.{name} {state}"));
            levers(&GuestFindings::of(&told))
        };
        let none = "linerate: this kernel or machine has no such thing";
        with("frequency-governor", none).unwrap();
        let error = with("swappiness", none).unwrap_err().to_string();
        assert!(
            error.starts_with("swappiness: linerate: this kernel"),
            "{error}"
        );
        assert!(with("frequency-governor", "not put back: 1").is_err());
    }
}
