//! The list of services.

use serde_json::Value;

use crate::common::{answer, assert_says};
use crate::service::bench::Bench;

fn list(bench: &Bench, flags: &[&str]) -> Value {
    let arguments = [&["service", "list", "--json"], flags].concat();
    serde_json::from_str(&answer(&mut bench.linerate(&arguments))).unwrap()
}

fn named<'a>(name: &str, list: &'a Value) -> &'a Value {
    let mut services = list["services"].as_array().unwrap().iter();
    services.find(|service| service["name"] == name).unwrap()
}

#[test]
fn the_list_says_of_each_service_whether_it_is_here_and_how_to_get_it() {
    let bench = Bench::with_fake("list", "[\"sh\"]", "[\"no-such-program\"]");
    let list = list(&bench, &[]);
    let (fake, nginx) = (named("fake", &list), named("nginx", &list));
    assert_eq!(nginx["name"], "nginx");
    assert_eq!(nginx["program"], "/usr/sbin/nginx");
    assert!(
        nginx["version"].is_string() && nginx["missing"].is_null(),
        "{nginx}"
    );
    assert_eq!(fake["file"], "services/fake.toml");
    assert!(fake["program"].is_null(), "{fake}");
    let missing = fake["missing"].as_str().unwrap();
    assert_says(missing, "sudo apt-get install fake");
    let page = answer(&mut bench.linerate(&["service", "list"]));
    assert_says(&page, "sudo apt-get install fake");
}

#[test]
fn a_program_of_somebody_elses_service_is_asked_for_its_version_only_with_trust() {
    let bench = Bench::with_fake("list-trust", "fake/1.0", "fake/1.0");
    assert!(named("fake", &list(&bench, &[]))["version"].is_null());
    let trusted = list(&bench, &["--trust"]);
    assert_eq!(named("fake", &trusted)["version"], "1.0");
}

#[test]
fn a_wrong_file_is_listed_with_its_error_and_hides_no_other_service() {
    let bench = Bench::with_fake("list-wrong", "name = \"fake\"", "name = \"other\"");
    let list = list(&bench, &[]);
    let (fake, nginx) = (named("fake", &list), named("nginx", &list));
    assert_eq!(fake["file"], "services/fake.toml");
    let missing = fake["missing"].as_str().unwrap();
    for expected in [
        "services/fake.toml:3:",
        "expected `fake`, as the file is called",
        "other.toml",
    ] {
        assert_says(missing, expected);
    }
    assert!(nginx["missing"].is_null(), "{nginx}");
    let page = answer(&mut bench.linerate(&["service", "list"]));
    assert_says(&page, "services/fake.toml:3:");
    assert!(bench.refusal().contains("as the file is called"));
}

/// The help of `linerate service` describes these steps.
#[test]
fn a_service_of_ones_own_begins_as_a_copy_with_another_name() {
    let bench = Bench::new("own");
    std::fs::create_dir(bench.0.path().join("services")).unwrap();
    let text = answer(&mut bench.linerate(&["service", "show", "nginx"]));
    let own = bench.0.path().join("services/mine.toml");
    std::fs::write(own, text.replace("name = \"nginx\"", "name = \"mine\"")).unwrap();
    assert!(named("mine", &list(&bench, &["--trust"]))["version"].is_string());
}

#[test]
fn the_hash_of_a_service_is_that_of_the_file_it_shows() {
    let bench = Bench::new("hash");
    let file = bench.0.path().join("copy.toml");
    std::fs::write(
        &file,
        answer(&mut bench.linerate(&["service", "show", "nginx"])),
    )
    .unwrap();
    let mut sum = std::process::Command::new("sha256sum");
    let sum = answer(sum.arg(&file));
    let listed = named("nginx", &list(&bench, &[]))["sha256"].clone();
    assert_eq!(sum.split_whitespace().next(), listed.as_str());
    let json = answer(&mut bench.linerate(&["service", "show", "nginx", "--json"]));
    let shown: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(shown["sha256"], listed);
}
