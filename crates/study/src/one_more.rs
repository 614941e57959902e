//! Adds one more program to a comparison: the one that the command line names.

use model::study::{SERVE, StepSpec};
use model::{Service, Study};

use crate::arms::{BASELINE, CONTROL, FLOOR};
use crate::pinned::name_of;
use crate::refusal::Refusal;

/// Adds a program to a comparison, on each of the comparison's paths that the service serves.
///
/// # Errors
/// If it is in the comparison already, an arm has its name, or it does not serve the path that the
/// study asks for first.
pub fn add(study: &mut Study, service: &Service) -> Result<(), Refusal> {
    let name = &service.name;
    let mut programs = study.own_targets();
    programs.extend(study.baseline.target.as_deref());
    let is_there = |program: &str| name_of(program) == *name;
    if programs.into_iter().any(is_there) || name == SERVE {
        return Err(Refusal(format!(
            "the study `{}` compares `{name}` already",
            study.name
        )));
    }
    let path = &study.workload.path;
    if !service.serves.contains_key(path) {
        return Err(Refusal(format!(
            "`{name}` serves no `{path}`, which the study `{}` asks for",
            study.name
        )));
    }
    let steps = steps(study, service);
    if let Some(step) = steps.iter().find(|step| is_taken(study, &step.name)) {
        return Err(Refusal(format!(
            "an arm of the study `{}` is called `{}`; give the service and its file another name",
            study.name, step.name
        )));
    }
    study.steps.extend(steps);
    Ok(())
}

fn is_taken(study: &Study, name: &str) -> bool {
    [BASELINE, CONTROL, FLOOR].contains(&name) || study.steps.iter().any(|step| step.name == name)
}

/// Returns a step for each path, compared with the first arm of the study on that path.
fn steps(study: &Study, service: &Service) -> Vec<StepSpec> {
    let mut paths: Vec<(Option<String>, Option<String>)> = vec![(None, None)];
    for step in &study.steps {
        let Some(path) = &step.path else { continue };
        let is_new = paths.iter().all(|(known, _)| *known != step.path);
        if is_new && service.serves.contains_key(path) {
            paths.push((step.path.clone(), Some(step.name.clone())));
        }
    }
    let step = |(path, against)| step(service, path, against);
    paths.into_iter().map(step).collect()
}

fn step(service: &Service, path: Option<String>, against: Option<String>) -> StepSpec {
    let [name, title] = match &path {
        None => [service.name.clone(), service.title.clone()],
        Some(path) => [
            format!("{}{}", service.name, path.replace('/', "-")),
            format!("{}, {path}", service.title),
        ],
    };
    StepSpec {
        target: Some(service.name.clone()),
        path,
        against,
        ..StepSpec::named(name, title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frameworks() -> Study {
        let found = crate::catalogue::find("http-frameworks").unwrap();
        found.study.load().unwrap()
    }

    /// Python's own server under another name.
    fn service(name: &str, paths: &[&str]) -> Service {
        let known = crate::services::find("python-http").unwrap();
        let mut service = known.service;
        name.clone_into(&mut service.name);
        service
            .serves
            .retain(|path, _| paths.contains(&path.as_str()));
        service
    }

    #[test]
    fn it_is_measured_on_each_path_that_it_serves() {
        let mut study = frameworks();
        let before = study.steps.len();
        add(&mut study, &service("mine", &["/json"])).unwrap();
        assert_eq!(study.steps[before].name, "mine");
        assert_eq!(study.steps.len(), before + 1);
        add(&mut study, &service("yours", &["/json", "/plaintext"])).unwrap();
        assert_eq!(study.steps[before + 2].name, "yours-plaintext");
        assert_eq!(
            study.steps[before + 2].against.as_deref(),
            Some("plaintext")
        );
    }

    #[test]
    fn a_name_that_an_arm_has_is_not_taken_again() {
        let both = ["/json", "/plaintext"];
        for (name, is_there) in [
            ("nginx", true),
            ("serve", true),
            ("python", false),
            ("baseline", false),
            ("floor", false),
        ] {
            let refused = add(&mut frameworks(), &service(name, &both)).unwrap_err();
            let found_there = refused.to_string().ends_with(" already");
            assert_eq!(found_there, is_there, "{refused}");
        }
    }

    #[test]
    fn a_service_without_the_path_of_the_study_is_refused() {
        let refused = add(&mut frameworks(), &service("mine", &["/plaintext"])).unwrap_err();
        let begin = "`mine` serves no `/json`";
        assert!(refused.to_string().starts_with(begin), "{refused}");
    }
}
