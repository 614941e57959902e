//! Runs `linerate explain` on servers with one limiter planted in them or around them, and on
//! healthy servers: it must name each planted limiter and accuse no healthy server. The plants are
//! data: `proofs/limiters/plants.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;

use super::{Lab, Proof};
use crate::commands::output;
use crate::target;

const PLANTS: &str = include_str!("../../proofs/limiters/plants.toml");
const PREPARE: &str = include_str!("limiters.sh");
/// Limiters that may be named for a healthy server: its work, or the client.
const HEALTHY: [&str; 5] = ["work", "hot-function", "client", "wake-ups", "not-asked"];
const SERVERS: [&str; 5] = ["nginx", "linerate", "python", "node", "go"];
/// Number of looks at healthy servers, unless the environment variable gives another.
const HEALTHY_RUNS: usize = 40;
/// Number of plants that may be missed.
const MOST_MISSED: usize = 1;
/// Largest share of the time that may be missing in the accounts.
const MOST_MISSING: f64 = 0.05;

#[derive(Deserialize)]
struct Plants {
    plant: Vec<Plant>,
}

/// One limiter, and the servers that it is planted under.
#[derive(Deserialize)]
struct Plant {
    name: String,
    /// The right answers.
    names: Vec<String>,
    /// For each server the strength at which the limiter must be named, and optionally one so weak
    /// that it must not.
    under: BTreeMap<String, Vec<String>>,
    /// Further variables for run.sh; their names are in lower case here.
    #[serde(flatten)]
    words: BTreeMap<String, String>,
}

/// The result of one look at a server, and the folder that it is in.
struct PlantedLook {
    folder: PathBuf,
    limiter: String,
    share: f64,
    missing: f64,
    proof: String,
    /// Whether the look came to its end.
    is_explained: bool,
}

impl PlantedLook {
    fn words(&self) -> String {
        format!(
            "{} {:.0} %, {:.0} % missing, {}",
            self.limiter,
            self.share * 100.0,
            self.missing * 100.0,
            self.proof
        )
    }

    /// Keeps the folder under a name, so that somebody can find out what went wrong, or removes it.
    fn end(&self, name: Option<&str>) -> anyhow::Result<()> {
        let Some(name) = name else {
            return Ok(std::fs::remove_dir_all(&self.folder)?);
        };
        let kept = std::env::temp_dir().join("linerate-limiters-wrong");
        std::fs::create_dir_all(&kept)?;
        let kept = kept.join(format!("{} {name}", std::process::id()));
        println!("           kept in {}", kept.display());
        Ok(std::fs::rename(&self.folder, kept)?)
    }
}

pub(super) fn proof(lab: &Lab) -> anyhow::Result<Proof> {
    let plants: Plants = toml::from_str(PLANTS).context("plants.toml")?;
    let places = prepare(lab)?;
    let healthy_runs = super::runs(HEALTHY_RUNS)?;
    let mut tally = PlantTally::default();
    for plant in &plants.plant {
        let mut is_right = true;
        for (server, strengths) in &plant.under {
            for (at, strength) in strengths.iter().enumerate() {
                let look = explained(lab, &places, server, &plant.variables(strength))?;
                let is_named = plant.names.contains(&look.limiter);
                // The first is the strong one.
                let holds = look.is_explained && is_named == (at == 0);
                is_right &= holds;
                let name = format!("{}, {server} {strength}", plant.name);
                tally.note(holds, &name, &look)?;
            }
        }
        tally.missed.extend((!is_right).then(|| plant.name.clone()));
    }
    for run in 0..healthy_runs {
        let server = SERVERS[run % SERVERS.len()];
        let look = explained(lab, &places, server, &BTreeMap::new())?;
        let holds = HEALTHY.contains(&&*look.limiter);
        tally.accused += usize::from(!holds);
        tally.note(holds, &format!("healthy {server}, {run}"), &look)?;
    }
    let all = plants.plant.len();
    Ok(Proof {
        claim: format!(
            "of {all} limiters {} at least are named under each server and not where they are weak, none of \
             {healthy_runs} healthy runs is accused, and no account misses more than 5 %",
            all - MOST_MISSED
        ),
        seen: tally.words(all),
        held: tally.missed.len() <= MOST_MISSED && tally.accused == 0 && tally.unaccounted == 0,
    })
}

/// The outcomes of all looks.
#[derive(Default)]
struct PlantTally {
    missed: Vec<String>,
    accused: usize,
    /// Runs whose accounts miss too much.
    unaccounted: usize,
}

impl PlantTally {
    fn note(&mut self, holds: bool, name: &str, look: &PlantedLook) -> anyhow::Result<()> {
        let word = if holds { "right" } else { "WRONG" };
        let is_accounted = look.missing <= MOST_MISSING;
        self.unaccounted += usize::from(!is_accounted);
        println!("     {word} {name}: {}", look.words());
        look.end((!holds || !is_accounted).then_some(name))
    }

    fn words(&self, all: usize) -> String {
        format!(
            "{} of {all} are right; {} healthy runs are accused, {} miss a part of the time; wrong: {}",
            all - self.missed.len(),
            self.accused,
            self.unaccounted,
            match self.missed.is_empty() {
                true => "none".to_owned(),
                false => self.missed.join(", "),
            }
        )
    }
}

impl Plant {
    /// The environment variables for run.sh, at one strength.
    fn variables(&self, strength: &str) -> BTreeMap<String, String> {
        let words = self.words.iter();
        let mut all: BTreeMap<_, _> = words
            .map(|(name, value)| (name.to_uppercase(), value.clone()))
            .collect();
        all.insert("STRENGTH".to_owned(), strength.to_owned());
        all
    }
}

/// Builds the servers with their certificate; returns the folder that they are in.
fn prepare(lab: &Lab) -> anyhow::Result<PathBuf> {
    let places = lab.folder().join("places");
    let mut shell = Command::new("sh");
    shell.args(["-c", PREPARE, "sh"]).arg(&places);
    output(shell.arg(target::workspace().join("xtask/proofs/limiters")))?;
    Ok(places)
}

fn explained(
    lab: &Lab,
    places: &Path,
    server: &str,
    variables: &BTreeMap<String, String>,
) -> anyhow::Result<PlantedLook> {
    let folder = lab.folder().join("planted");
    std::fs::create_dir_all(&folder)?;
    let mut command = Command::new("unshare");
    command.args(["--net", "sh"]).arg(places.join("run.sh"));
    command.current_dir(&folder).envs(variables);
    command.env("LINERATE", &lab.linerate).env("PLACES", places);
    // A look that fails counts as one that names nothing; its error is saved in its folder.
    let words = match output(command.env("SERVER", server)) {
        Ok(_) => std::fs::read_to_string(folder.join("explained.json"))?,
        Err(error) => {
            std::fs::write(folder.join("error"), format!("{error:#}"))?;
            String::new()
        }
    };
    Ok(PlantedLook::of(
        folder,
        &serde_json::from_str(&words).unwrap_or_default(),
    ))
}

impl PlantedLook {
    fn of(folder: PathBuf, answer: &Value) -> Self {
        let explanation = &answer["explanation"];
        let limiter = &explanation["limiter"];
        let proof = match explanation["proof"]["borne_out"].as_bool() {
            Some(true) => "proved",
            Some(false) => "contradicted",
            None => "not proved",
        };
        Self {
            folder,
            limiter: limiter["name"].as_str().unwrap_or("nothing").to_owned(),
            share: limiter["share"].as_f64().unwrap_or(0.0),
            missing: explanation["ledger"]["missing_share"]
                .as_f64()
                .unwrap_or(1.0),
            proof: proof.to_owned(),
            is_explained: explanation.is_object(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plant_is_read_and_stands_under_a_server_that_there_is() {
        let plants: Plants = toml::from_str(PLANTS).unwrap();
        for plant in &plants.plant {
            let servers = plant.under.keys();
            assert!(servers.clone().count() > 0, "{}", plant.name);
            for server in servers {
                assert!(SERVERS.contains(&&**server), "{}: {server}", plant.name);
            }
        }
    }

    #[test]
    fn an_answer_without_a_limiter_names_nothing() {
        let told = serde_json::json!({"explanation": {"limiter": null, "ledger": {"missing_share": 1.0}, "proof": null}});
        assert_eq!(
            PlantedLook::of(PathBuf::new(), &told).words(),
            "nothing 0 %, 100 % missing, not proved"
        );
    }
}
