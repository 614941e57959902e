//! Commands that talk to a server, each of the two on its own host.

use model::command_run::CommandRun;
use model::run::{Rig, RunRecord};

use super::lab::Lab;
use crate::common::{answer, refusal_of};

/// The lines of the study and of its script that the tests replace.
const RUN: &str = "run = [\"sh\", \"work.sh\", \"{way}\", \"{size}\", \"{arm}\"]";
const SAYS: &str = "echo \"$1 $2 $3 $(id -u) $HOME\" >> LOG";

/// A study whose client asks a server that is there only for its run. Both write a line to the log:
/// their role, network namespace and folder, and the address or folder that they were told.
fn lab(name: &str) -> Lab {
    let server = "run = [\"sh\", \"work.sh\", \"{server_at}\", \"{way}\", \"{size}\"]\nserver = [\"sh\", \"-c\", \
         \"echo server $(readlink /proc/self/ns/net) $PWD {dir} >> LOG; \
         exec {linerate} serve --workers 1 --listen {server_address}:0\"]";
    let says = "curl -sf http://$1/json > got || exit 9\n\
                echo \"client $(readlink /proc/self/ns/net) $PWD $1\" >> LOG";
    Lab::new(name, &[(RUN, server), (SAYS, says)])
}

/// The words of each line that a role, `client` or `server`, wrote to the log.
fn roles(lab: &Lab, role: &str) -> Vec<Vec<String>> {
    let log = lab.folder.text("log");
    let lines = log.lines().filter(|line| line.starts_with(role));
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    lines.map(words).collect()
}

fn record(lab: &Lab) -> CommandRun {
    serde_json::from_str::<RunRecord<_, _>>(&lab.folder.text("run/run.json")).unwrap()
}

#[test]
fn a_server_is_up_beside_each_run_on_this_host_or_on_one_of_its_own() {
    for (name, rig) in [("served", &[][..]), ("netns", &["--rig", "netns"])] {
        let lab = lab(name);
        let mut run = lab.start();
        answer(run.arg("--smoke").args(rig));
        let (clients, servers) = (roles(&lab, "client"), roles(&lab, "server"));
        assert!(
            !clients.is_empty() && clients.len() == servers.len(),
            "{}",
            lab.folder.text("log")
        );
        for (client, server) in clients.iter().zip(&servers) {
            assert_eq!(server[2], server[3], "its folder is its own");
            assert_eq!(
                client[1] == server[1],
                rig.is_empty(),
                "{client:?} {server:?}"
            );
            assert_eq!(
                client[2] == server[2],
                rig.is_empty(),
                "{client:?} {server:?}"
            );
            assert_eq!(
                client[3].starts_with("127.0.0.1:"),
                rig.is_empty(),
                "{client:?}"
            );
        }
        let run = record(&lab);
        assert_eq!(run.rig == Rig::Netns, !rig.is_empty(), "{:?}", run.rig);
        assert_eq!(run.command.contains(" --rig netns"), !rig.is_empty());
        assert_eq!(lab.folder.names("tmp"), [""; 0]);
    }
}

#[test]
fn a_server_that_does_not_come_up_or_goes_ends_the_study_with_its_last_words() {
    for (server, said) in [
        (
            "echo no licence >&2; exit 3",
            "ended before it listened: exit status: 3; its last words:\nno licence",
        ),
        ("sleep 60", "does not listen on TCP within 1s"),
    ] {
        let changed = format!("{RUN}\nserver = [\"sh\", \"-c\", \"{server}\"]");
        let lab = Lab::new(
            "server-gone",
            &[(RUN, &changed), ("timeout_s = 20", "timeout_s = 1")],
        );
        let words = refusal_of(lab.start().arg("--smoke"));
        assert!(words.contains(said), "no `{said}` in: {words}");
        assert_eq!(lab.folder.names("tmp"), [""; 0]);
    }
}

#[test]
fn an_arm_whose_client_fails_since_its_server_went_fails_alone_with_the_servers_last_words() {
    let run = r#"run = ["sh", "work.sh", "{server_at}", "{way}{size}"]
server = ["sh", "server.sh", "{linerate}", "{server_address}:0", "{way}{size}"]"#;
    // A client that is to outlive its server tells it by the file `go` that it may end.
    let asks = "curl -sf http://$1/json > got\n[ $2 != other9 ] || { touch go; while curl -sf http://$1/json > got; do :; done; exit 9; }";
    let serves = r#"[files]
"server.sh" = """
[ $3 != other9 ] && exec $1 serve --workers 1 --listen $2
$1 serve --workers 1 --listen $2 &
until [ -e go ]; do :; done
rm go
kill $!
echo no licence >&2
exit 3
"""
"#;
    let changes = [(RUN, run), (SAYS, asks), ("[files]\n", serves)];
    let lab = Lab::new("server-of-one-arm", &changes);
    let said = answer(lab.start().arg("--smoke"));
    assert!(said.contains("no licence"), "{said}");
    for block in lab.blocks() {
        let failed = block.reading.failed.unwrap_or_default();
        let is_its_own = block.arm == "other.large";
        assert_eq!(failed.ends_with("no licence"), is_its_own, "{failed}");
    }
}
