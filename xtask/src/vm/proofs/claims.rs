//! The claims: what linerate tells of a guest is what the guest has, and what it needs works there.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::Seen;

type Check = fn(&Seen) -> anyhow::Result<()>;

/// Every claim with its check.
pub(super) const ALL: [(&str, Check); 13] = [
    (
        "a rig can be had, and loaded from within, where a tunnel's module adds a device to it",
        rig,
    ),
    ("facts have the kernel that was booted", kernel),
    (
        "facts have its processors, memory, clock and hypervisor",
        board,
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
        "fq can be loaded, and is seen on a card once it is there",
        fair_queue,
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
        "levers of the host and of a card are set, held and put back",
        levers,
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

/// What this kernel has not is told so; nothing else may be in the way.
fn levers(seen: &Seen) -> anyhow::Result<()> {
    let lines = seen.files["truth"].lines();
    let states = lines.filter_map(|line| line.strip_prefix("lever.")?.split_once(' '));
    let (restored, others): (Vec<_>, Vec<_>) = states.partition(|(_, state)| *state == "restored");
    // A watchdog without a counter to run it is refused by Linux 6.1 and only shown by later ones.
    let absent = [
        "this kernel or machine has no",
        "kernel.nmi_watchdog is `0` now, and could not be put back to that: not supported",
        "kernel.nmi_watchdog: Permission denied",
    ];
    let is_absent = |state: &str| absent.iter().any(|words| state.contains(words));
    let wrong = others.iter().filter(|(_, state)| !is_absent(state));
    let wrong: Vec<String> = wrong
        .map(|(name, state)| format!("{name}: {state}"))
        .collect();
    ensure!(wrong.is_empty(), "{}", wrong.join("; "));
    ensure!(
        restored.len() >= 30,
        "only {} were restored",
        restored.len()
    );
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
