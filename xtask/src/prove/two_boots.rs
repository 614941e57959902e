//! Tries a step that needs a reboot, over real reboots: a run waits on a disk through a power cut,
//! is refused in a boot without the step's option, and ends in a boot with it.

use anyhow::{Context as _, ensure};
use model::{Judgement, RunRecord};

use super::guests::{Ended, boot};
use super::{Lab, Proof};
use crate::vm::{self, Cut, Errand, Session};

const OPTION: &str = "mitigations=off";
/// Text that a waiting run prints once all that it measured is on the disk.
const WAITS: &str = "and then: linerate study resume /state/run";
const STUDY: &str = include_str!("../../proofs/two-boots.toml");
const RESUME: &str =
    "cd /state && linerate study resume run --yes --quiet --json > /root/judgement.json";

pub(crate) fn a_run_goes_on_after_a_reboot(lab: &Lab) -> anyhow::Result<Proof> {
    let mut session = Session::open(vm::usual_guest(), &lab.linerate, None)?;
    wait_and_lose_power(&mut session)?;
    let refused = resume(&mut session, "")?;
    let taken = resume(&mut session, OPTION)?;
    ensure!(taken.exit == Some(0), "with {OPTION}: {}", taken.said);
    let (meltdown, estimate) = outcome(&session)?;
    Ok(Proof {
        claim: format!(
            "a run that waits for a reboot outlives a power cut, is refused in a boot without \
             {OPTION}, and ends in one with it, of which the kernel says otherwise"
        ),
        held: refused.exit == Some(2)
            && refused
                .said
                .contains("/proc/cmdline has no `mitigations=off`")
            && refused.said.contains("meltdown says \"Mitigation: PTI\"")
            && meltdown == ["Mitigation: PTI", "Vulnerable"],
        seen: format!(
            "refused: {}\n     meltdown: {}; {estimate}",
            refused.said.trim(),
            meltdown.join(" → ")
        ),
    })
}

/// The first boot: measures all that needs no reboot, then loses its power.
fn wait_and_lose_power(session: &mut Session) -> anyhow::Result<()> {
    let script = format!(
        "cd /state && cat > two-boots.toml << 'END'\n{STUDY}END\nlinerate study run two-boots.toml \
         --whole --reboot --yes --quiet --out run && sleep 1000"
    );
    let errand = Errand {
        script,
        ..Errand::default()
    };
    let ended = boot(session, &errand, &Cut::AtLine(WAITS.to_owned()))?;
    ensure!(ended.exit.is_none(), "the run did not wait: {}", ended.said);
    Ok(())
}

/// Resumes the run in a boot with further kernel options.
fn resume(session: &mut Session, kernel_options: &str) -> anyhow::Result<Ended> {
    let files_out = ["/state/run/run.json", "judgement.json"];
    let errand = Errand {
        script: RESUME.to_owned(),
        files_out: files_out.map(str::to_owned).to_vec(),
        kernel_options: kernel_options.to_owned(),
        ..Errand::default()
    };
    boot(session, &errand, &Cut::Never)
}

/// The kernel's words about Meltdown in each measured boot, and the estimate.
fn outcome(session: &Session) -> anyhow::Result<(Vec<String>, String)> {
    let text = |number| std::fs::read_to_string(session.file_out(number));
    let run: RunRecord = RunRecord::parse(&text(0)?)?;
    let judgement: Judgement = serde_json::from_str(&text(1)?)?;
    let boots = run.reboot.context("no step of the boot")?.boots;
    let said = |boot: &model::reboot::MeasuredBoot| boot.facts.mitigations.get("meltdown").cloned();
    let ladder = judgement.ladder.context("no ladder")?;
    let between = ladder.between_boots.context("nothing between boots")?;
    let estimate = between.estimate.context("no estimate")?;
    let words = format!(
        "{:+.1} % server CPU per request, from {} boot without and {} with",
        (estimate.ratio - 1.0) * 100.0,
        estimate.without,
        estimate.with
    );
    Ok((boots.iter().filter_map(said).collect(), words))
}
