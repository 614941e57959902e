//! The claims: what linerate tells of a guest is what the guest has, and what it needs works there.

mod audit;
mod interrupts;
mod secure;
mod shaped;
mod shares;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::{LOOK, Seen};
use crate::vm::guest::Origin;

type Check = fn(&Seen) -> anyhow::Result<()>;

/// The claims of a guest, each with its check.
pub(super) fn of(origin: &Origin) -> impl Iterator<Item = (&'static str, Check)> {
    let tuned: &[_] = match origin {
        Origin::Package => &TUNED,
        Origin::Source => &[],
    };
    AT_REST.iter().chain(tuned).copied()
}

const AT_REST: [(&str, Check); 3] = [
    ("facts have the kernel that was booted", kernel),
    (
        "facts have its processors, memory, clock and hypervisor",
        board,
    ),
    (
        "facts tell whether interrupts are kept off the clocks of processes, and softirqs are in the machine's account",
        interrupts::kept_apart,
    ),
];

/// With network cards and modules.
const TUNED: [(&str, Check); 19] = [
    (
        "a rig can be had, and loaded from within, where a tunnel's module adds a device to it",
        rig,
    ),
    (
        "facts have each weakness as the kernel tells it, and some cost something",
        weaknesses,
    ),
    (
        "the doctor names what is not mitigated, and the clock",
        doctor,
    ),
    (
        "facts have driver, rings, coalescing and offload of an e1000e as they were set",
        card,
    ),
    ("kTLS can be loaded, and is there once it is", tls),
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
        "fq can be loaded, and is seen on a card once it is there",
        fair_queue,
    ),
    (
        "fq by its lever holds each connection to its rate, by the time of each packet, and the undo ends it",
        shaped::by_fq,
    ),
    (
        "a congestion control that is loaded is seen",
        congestion_control,
    ),
    (
        "serve and load answer on loopback, and on a wire with interrupts",
        answers,
    ),
    (
        "netem can be loaded, and its delay is in the median of the answers",
        delay,
    ),
    (
        "a link via netem is read back as it was asked for, and delays there and back",
        link,
    ),
    (
        "each lever of the host and of a card that there is is set, held and put back",
        levers,
    ),
    (
        "with huge pages the kernel keeps more memory free, which is put back with them",
        reserve,
    ),
    (
        "a program with three times the weight has that much of the CPU beside its neighbour, and no other after it",
        shares::by_weight,
    ),
    (
        "processes born after audit was on enter its code though it is off, but for a rule, and that is told",
        audit::latch,
    ),
    (
        "a card whose noqueue would not come back is left as it is",
        former_default,
    ),
];

fn kernel(seen: &Seen) -> anyhow::Result<()> {
    let told = seen.told("at-rest.json", "/facts/kernel_release")?;
    same(&told, &json!(seen.truth("release")?))?;
    same(&told, &json!(seen.release))
}

fn board(seen: &Seen) -> anyhow::Result<()> {
    let number = |name: &str| anyhow::Ok(seen.truth(name)?.parse::<u64>()?);
    for (place, truth) in [
        ("cpus_online", json!(number("cpus")?)),
        ("memory_bytes", json!(number("memory_kib")? * 1024)),
        ("clocksource", json!(seen.truth("clocksource")?)),
        ("virtualisation", json!("QEMU")),
    ] {
        let told = seen.told("at-rest.json", &format!("/facts/{place}"))?;
        same(&told, &truth).context(place)?;
    }
    Ok(())
}

fn weaknesses(seen: &Seen) -> anyhow::Result<()> {
    let told = seen.told("at-rest.json", "/facts/mitigations")?;
    let told = told.as_object().context("no table")?;
    for (name, state) in told {
        let truth = seen.truth(&format!("weakness.{name}"))?;
        same(state, &json!(truth)).context(name.clone())?;
    }
    let files = seen.files["truth"].matches("weakness.").count();
    ensure!(told.len() == files, "{} of {files} are told", told.len());
    // The emulated processor is one of those that began it all.
    let first = seen.truth("weakness.meltdown")?;
    ensure!(first == "Mitigation: PTI", "meltdown: {first}");
    Ok(())
}

fn doctor(seen: &Seen) -> anyhow::Result<()> {
    let mitigations = finding(seen, "mitigations")?;
    let evidence = mitigations["evidence"].as_str().unwrap_or_default();
    let open = seen.files["truth"].lines().filter_map(|line| {
        let (name, state) = line.strip_prefix("weakness.")?.split_once(' ')?;
        state.starts_with("Vulnerable").then_some(name)
    });
    for name in open {
        ensure!(evidence.contains(name), "{name} is not in `{evidence}`");
    }
    ensure!(mitigations["severity"] != "fine", "{mitigations}");
    let clock = finding(seen, "clocksource")?.to_string();
    let truth = seen.truth("clocksource")?;
    ensure!(clock.contains(truth), "{truth} is not in {clock}");
    Ok(())
}

fn card(seen: &Seen) -> anyhow::Result<()> {
    let card = card_in(seen, "tuned.json")?;
    same(&card["driver"], &json!("e1000e"))?;
    same(&card["driver"], &json!(seen.truth("driver")?))?;
    let rings = &card["rings"];
    let told = ["receive_most", "transmit_most", "receive", "transmit"];
    let told: Vec<String> = told.iter().map(|name| rings[name].to_string()).collect();
    same(&json!(told.join(" ")), &json!(seen.truth("rings")?)).context("rings")?;
    same(&rings["receive"], &json!(512))?;
    let coalescing = &card["coalescing"]["receive_us"];
    same(
        coalescing,
        &json!(seen.truth("receive_us")?.parse::<u32>()?),
    )?;
    // The driver rounds: it counts in units of 256 ns.
    ensure!(
        (80..=100).contains(&coalescing.as_u64().unwrap_or(0)),
        "{coalescing} µs"
    );
    let features = card["features"].as_array().context("no features")?;
    let gro = features.iter().find(|feature| feature["name"] == "rx-gro");
    same(&gro.context("no rx-gro")?["is_on"], &json!(false))?;
    same(&json!(seen.truth("gro")?), &json!("off"))
}

fn tls(seen: &Seen) -> anyhow::Result<()> {
    same(&part(seen, "at-rest.json", "kTLS")?, &json!("loadable"))?;
    same(&part(seen, "tuned.json", "kTLS")?, &json!("present"))?;
    let has = |time: &str| anyhow::Ok(has_word(seen.truth(&format!("ulp.{time}"))?, "tls"));
    ensure!(!has("at_rest")?, "it was there before it was loaded");
    ensure!(has("tuned")?, "the kernel does not offer it to sockets");
    Ok(())
}

fn fair_queue(seen: &Seen) -> anyhow::Result<()> {
    same(&part(seen, "at-rest.json", "fq")?, &json!("loadable"))?;
    same(&part(seen, "tuned.json", "fq")?, &json!("present"))?;
    let told = &card_in(seen, "tuned.json")?["qdisc"];
    same(told, &json!("fq"))?;
    same(told, &json!(seen.truth("qdisc.tuned")?))
}

fn congestion_control(seen: &Seen) -> anyhow::Result<()> {
    for (file, time) in [("at-rest.json", "at_rest"), ("tuned.json", "tuned")] {
        let told = seen.told(file, "/network/available_congestion_controls")?;
        let truth = seen.truth(&format!("controls.{time}"))?;
        same(&told, &truth.split(' ').collect()).context(time)?;
        let has_bbr = has_word(truth, "bbr");
        ensure!(has_bbr == (time == "tuned"), "{time}: {truth}");
    }
    Ok(())
}

fn answers(seen: &Seen) -> anyhow::Result<()> {
    for file in ["loopback.json", "wire.json"] {
        let answered = seen.told(file, "/answered_in_window")?;
        ensure!(answered.as_u64() > Some(0), "{file}: {answered} answers");
        let errors = seen.told(file, "/errors")?;
        // What was under way at the end is no wrong answer, nor what a busy machine let wait.
        for wrong in ["status", "body", "malformed", "closed"] {
            ensure!(errors[wrong] == 0, "{file}: {errors}");
        }
    }
    let interrupts =
        |when: &str| anyhow::Ok(seen.truth(&format!("interrupts.{when}"))?.parse::<u64>()?);
    let (before, after) = (interrupts("before")?, interrupts("after")?);
    ensure!(after > before, "{before} interrupts before, {after} after");
    Ok(())
}

fn delay(seen: &Seen) -> anyhow::Result<()> {
    same(&part(seen, "at-rest.json", "netem")?, &json!("loadable"))?;
    let median = |file: &str| seen.told(file, "/latency_us/service/p50");
    let (wire, delayed) = (median("wire.json")?, median("delayed.json")?);
    // The delay is of one direction, and every request crosses it.
    ensure!(
        delayed.as_f64() >= Some(30_000.0),
        "{wire} µs, with 30 ms of delay {delayed} µs"
    );
    Ok(())
}

fn link(seen: &Seen) -> anyhow::Result<()> {
    for direction in ["up", "down"] {
        let qdisc = seen.told("link.json", &format!("/{direction}/qdisc"))?;
        let words = qdisc.as_str().unwrap_or_default();
        ensure!(words.starts_with("netem limit"), "{direction}: {qdisc}");
        ensure!(words.contains("delay 20000us"), "{direction}: {qdisc}");
    }
    let half = |file: &str| seen.told(file, "/latency_us/service/p50");
    let (prompt, delayed) = (half("link-prompt.json")?, half("link-delayed.json")?);
    ensure!(
        delayed.as_f64() >= Some(40_000.0) && prompt.as_f64() < delayed.as_f64(),
        "{prompt} µs, with 20 ms of delay each way {delayed} µs"
    );
    Ok(())
}

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
fn levers(seen: &Seen) -> anyhow::Result<()> {
    let lines = seen.files["truth"].lines();
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

/// What huge pages had the kernel keep free was more than before, and is part of what was restored.
fn reserve(seen: &Seen) -> anyhow::Result<()> {
    let moved: u64 = seen.truth("reserve.moved")?.parse()?;
    ensure!(moved > 5000, "{moved} KiB were kept free");
    Ok(())
}

fn former_default(seen: &Seen) -> anyhow::Result<()> {
    let root = seen.truth("noqueue.root")?;
    ensure!(root == "noqueue", "the card has {root}");
    let refused = seen.truth("noqueue.refused")?;
    let why = "its noqueue is of a time when net.core.default_qdisc was that";
    ensure!(refused.contains(why), "{refused}");
    Ok(())
}

fn rig(seen: &Seen) -> anyhow::Result<()> {
    let devices = seen.truth("rig.devices")?;
    ensure!(devices.contains("tunl0"), "no device of ipip: {devices}");
    let answered = seen.told("rig.json", "/answered_in_window")?;
    ensure!(answered.as_u64() > Some(0), "{answered} answers");
    Ok(())
}

fn same(told: &Value, truth: &Value) -> anyhow::Result<()> {
    ensure!(told == truth, "told {told}, in truth {truth}");
    Ok(())
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(' ').any(|found| found == word)
}

/// Whether a part of the kernel can be used.
fn part(seen: &Seen, file: &str, name: &str) -> anyhow::Result<Value> {
    named(&seen.told(file, "/kernel/parts")?, name).map(|part| part["state"].clone())
}

fn card_in(seen: &Seen, file: &str) -> anyhow::Result<Value> {
    named(&seen.told(file, "/links")?, "eth0")
}

fn finding(seen: &Seen, name: &str) -> anyhow::Result<Value> {
    named(&seen.told("doctor.json", "/findings")?, name)
}

/// The entry of a list that has that name.
fn named(list: &Value, name: &str) -> anyhow::Result<Value> {
    let mut entries = list.as_array().into_iter().flatten();
    let found = entries.find(|entry| entry["name"] == name);
    found
        .cloned()
        .with_context(|| format!("no {name} in {list}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(truth: &str) -> Seen {
        Seen {
            origin: &Origin::Package,
            release: String::new(),
            files: [("truth", truth.to_owned())].into(),
        }
    }

    fn all_restored() -> String {
        let told = asked().map(|name| format!("lever.{name} restored\n"));
        told.collect()
    }

    #[test]
    fn each_lever_of_the_script_is_asked_for_by_name() {
        let all = all_restored();
        assert!(asked().count() > 40, "{all}");
        levers(&seen(&all)).unwrap();
        let without = all.replace("lever.mtu restored\n", "");
        let error = levers(&seen(&without)).unwrap_err().to_string();
        assert_eq!(error, "nothing is told of mtu");
    }

    #[test]
    fn only_what_a_guest_may_lack_may_be_missing_and_only_by_the_words_for_it() {
        let with = |name: &str, state: &str| {
            let restored = format!("lever.{name} restored");
            let told = all_restored().replace(&restored, &format!("lever.{name} {state}"));
            levers(&seen(&told))
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
