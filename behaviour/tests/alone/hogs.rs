//! A machine that is busy with other work, on all its CPUs or on the client's only.

use std::process::Command;
use std::thread;

use crate::common::hogs::Hogs;
use crate::common::load_program::{doubts, parse};
use crate::common::load_server::{OK, answer_with};
use crate::common::{Folder, assert_says, linerate, refusal_of};

#[test]
fn a_machine_that_does_other_work_is_not_loaded_unless_that_is_confirmed() {
    let folder = Folder::new("at-work");
    let _hogs = Hogs::start();
    let words = refusal_of(&mut linerate(&folder, &["--smoke"]));
    assert_says(&words, "other work uses");
    assert_says(&words, "--yes");
    assert_eq!(folder.names(""), [""; 0], "nothing is left behind");
}

#[test]
fn a_hog_on_the_clients_cpu_makes_the_client_the_limit() {
    let mut elsewhere = sys::cpu::allowed().unwrap();
    let cpu = elsewhere.remove(0);
    // On the CPU of the hogs, the server would be the limit instead of the client.
    let server = thread::spawn(move || {
        sys::cpu::pin(&elsewhere).unwrap();
        answer_with(OK)
    });
    let address = server.join().unwrap();
    // Against four hogs a client at nice 10 waits for its CPU for most of the time, and yet runs often.
    let _hogs = Hogs::on(vec![vec![cpu]; 4]);
    let output = Command::new("nice")
        .args(["-n", "10", crate::common::program(), "load"])
        .args([
            &format!("http://{address}/"),
            "-d",
            "1s",
            "--settle",
            "100ms",
            "--json",
        ])
        .args(["--cpus", &cpu.to_string()])
        .output()
        .unwrap();
    let load = parse(&output);
    assert!(doubts(&load).contains(&"client_is_limit"), "{load:#}");
}
