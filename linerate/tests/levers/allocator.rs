//! The memory allocator of a program: a library that its loader is asked about before it starts.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::as_nobody::{copy_program, linerate_as_nobody};
use crate::common::{Folder, answer, errors};

/// A program that has become `nobody` may look at it and at what lies in its folder.
fn ours(folder: &Folder) -> String {
    drop(linerate_as_nobody(folder, &[]));
    folder.path().join("linerate").display().to_string()
}

fn run(folder: &Folder, allocator: &str, words: &[&str]) -> Command {
    let mut command = Command::new(ours(folder));
    let lever = format!("allocator={allocator}");
    command.args(["levers", "run", &lever, "--"]).args(words);
    command.current_dir(folder.path()).stdin(Stdio::null());
    command
}

/// The library of an allocator that is mapped into this program, if one is.
const TELL: &str = "
names = ['jemalloc', 'mimalloc', 'tcmalloc']
files = {line.split()[-1] for line in open('/proc/self/maps') if '.so' in line}
print(*(file for file in files if any('/lib' + name in file for name in names)))";

fn library_of(name: &str) -> String {
    let mut by_hand = Command::new("python3");
    by_hand.args(["-c", TELL]).env("LD_PRELOAD", name);
    answer(&mut by_hand).trim().to_owned()
}

#[test]
fn a_program_has_the_allocator_that_it_was_given_and_by_hand_it_comes_out_the_same() {
    let folder = Folder::new("allocator-given");
    assert_eq!(library_of(""), "");
    for (allocator, library) in [
        ("jemalloc", "libjemalloc.so.2"),
        ("mimalloc", "libmimalloc.so.2"),
        ("tcmalloc", "libtcmalloc_minimal.so.4"),
    ] {
        let by_hand = library_of(library);
        assert!(by_hand.contains(allocator), "{library}: {by_hand}");
        for given in [allocator, &by_hand] {
            let mut program = run(&folder, given, &["python3", "-c", TELL]);
            assert_eq!(answer(&mut program).trim(), by_hand, "{given}");
        }
        let ours = ours(&folder);
        let tell = [&ours, "levers", "status", "allocator", "--json"];
        let status: Value =
            serde_json::from_str(&answer(&mut run(&folder, allocator, &tell))).unwrap();
        crate::schema::holds("levers-status", &status);
        let now = format!("{allocator} ({by_hand})");
        assert_eq!(status["levers"][0]["now"], now);
    }
}

#[test]
fn the_memory_of_a_program_and_of_what_it_starts_comes_from_its_allocator() {
    let folder = Folder::new("allocator-serves");
    // More than a thread keeps for itself, so that it is counted in an arena.
    let script = "python3 -c 'kept = [bytearray(5000) for _ in range(20000)]' && echo ended";
    let mut program = run(&folder, "jemalloc", &["sh", "-c", script]);
    program.env("MALLOC_CONF", "stats_print:true");
    let output = program.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ended\n");
    let said = errors(&output);
    let most_bytes = said.lines().filter_map(|line| {
        let (_, count) = line.strip_prefix("Allocated: ")?.split_once("mapped: ")?;
        count.split(',').next()?.parse::<u64>().ok()
    });
    assert!(most_bytes.max() > Some(1 << 20), "{said}");
}

#[test]
fn what_was_to_be_loaded_first_already_comes_after_the_allocator() {
    let folder = Folder::new("allocator-before");
    let mut program = run(&folder, "jemalloc", &["sh", "-c", "echo $LD_PRELOAD"]);
    program.env("LD_PRELOAD", "libmimalloc.so.2");
    assert_eq!(answer(&mut program), "libjemalloc.so.2:libmimalloc.so.2\n");
    let ours = ours(&folder);
    let mut program = run(
        &folder,
        "jemalloc",
        &[&ours, "levers", "status", "allocator"],
    );
    program.env("LD_PRELOAD", "libmimalloc.so.2");
    let told = answer(&mut program);
    assert!(
        told.contains("jemalloc (") && !told.contains("mimalloc ("),
        "{told}"
    );
}

/// Runs it, which must be refused with those words, before the program has begun.
fn assert_refused(command: &mut Command, folder: &Folder, why: &str) {
    let output: Output = command.output().unwrap();
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("allocator: ") && said.contains(why), "{said}");
    assert!(!folder.path().join("started").exists(), "{said}");
}

fn touch(folder: &Folder, program: &str, mode: u32) -> String {
    let path = folder.path().join(program);
    assert!(
        Command::new("cp")
            .arg("/usr/bin/touch")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    path.display().to_string()
}

fn script(folder: &Folder, name: &str, interpreter: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, format!("#! {interpreter}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Compiles a program, or by the arguments a library; where it is.
fn compile(folder: &Folder, name: &str, source: &str, arguments: &[&str]) -> String {
    let path = folder.path().join(name);
    fs::write(folder.path().join("source.cc"), source).unwrap();
    let mut compile = Command::new("g++");
    compile.args(["-fno-builtin", "-o", name, "source.cc"]);
    compile.args(arguments).current_dir(folder.path());
    assert!(compile.status().unwrap().success());
    path.display().to_string()
}

/// A program with a malloc of its own, which ends with 0.
fn program_with_malloc(folder: &Folder) -> String {
    let source = "extern \"C\" void *malloc(unsigned long) { return 0; }\n\
        int main() { return malloc(1) != 0; }\n";
    compile(folder, "with-malloc", source, &[])
}

#[test]
fn a_program_that_would_not_take_the_library_is_refused_by_name_before_it_starts() {
    let folder = Folder::new("allocator-refused-program");
    ours(&folder);
    let to_static = script(&folder, "to-static", "/sbin/ldconfig --version");
    let endless = folder.path().join("endless").display().to_string();
    script(&folder, "endless", &endless);
    for (program, why) in [
        (
            touch(&folder, "of-root", 0o4755),
            "of-root runs with privileges of its own",
        ),
        (
            touch(&folder, "of-group", 0o2755),
            "of-group runs with privileges of its own",
        ),
        ("/sbin/ldconfig".to_owned(), "ldconfig is linked statically"),
        (to_static, "ldconfig is linked statically"),
        (endless, "endless is a script of a script"),
        (
            program_with_malloc(&folder),
            "with-malloc has an allocator built in",
        ),
        (
            "no-such-program".to_owned(),
            "there is no program `no-such-program`",
        ),
        (
            script(&folder, "lost", "/no/such/shell"),
            "/no/such/shell cannot be looked into: No such file",
        ),
        (
            "./source.cc".to_owned(),
            "source.cc is no program for a 64-bit",
        ),
    ] {
        assert_refused(
            &mut run(&folder, "jemalloc", &[&program, "started"]),
            &folder,
            why,
        );
    }
    let ordinary = touch(&folder, "of-nobody", 0o755);
    let mut started = run(&folder, "jemalloc", &[&ordinary, "started"]);
    assert!(started.status().unwrap().success());
    assert!(folder.path().join("started").exists());
}

#[test]
fn a_program_is_looked_for_as_the_user_that_it_will_be() {
    let folder = Folder::new("allocator-path");
    ours(&folder);
    let roots_own = folder.path().join("roots-own");
    fs::create_dir(&roots_own).unwrap();
    std::os::unix::fs::symlink("/usr/bin/true", roots_own.join("meant")).unwrap();
    fs::set_permissions(&roots_own, Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink("/sbin/ldconfig", folder.path().join("meant")).unwrap();
    let mut program = run(&folder, "jemalloc", &["meant", "--version"]);
    let path = [roots_own.as_path(), folder.path()];
    program.env("PATH", std::env::join_paths(path).unwrap());
    if sys::process::user() != 0 {
        assert!(program.status().unwrap().success(), "it is this user's own");
        return;
    }
    assert_refused(&mut program, &folder, "ldconfig is linked statically");
}

#[test]
fn a_program_with_capabilities_is_refused_by_name_before_it_starts() {
    let folder = Folder::new("allocator-capabilities");
    ours(&folder);
    let program = touch(&folder, "capable", 0o755);
    // VFS_CAP_REVISION_2 with the effective bit, and CAP_NET_RAW of linux/capability.h.
    let set = "import os, sys, struct\n\
        os.setxattr(sys.argv[1], 'security.capability', struct.pack('<5I', 0x02000001, 1 << 13, 0, 0, 0))";
    let mut as_root = Command::new("python3");
    as_root.args(["-c", set, &program]);
    if !as_root.status().unwrap().success() {
        assert_ne!(sys::process::user(), 0, "root may give capabilities");
        return;
    }
    let why = "capable runs with privileges of its own";
    assert_refused(
        &mut run(&folder, "jemalloc", &[&program, "started"]),
        &folder,
        why,
    );
}

/// A copy of a library that says of itself that it is for 32 bits.
fn narrow_copy(library: &str, folder: &Folder) -> String {
    let mut bytes = fs::read(library).unwrap();
    bytes[4] = 1;
    let path = folder.path().join("narrow.so");
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// An allocator for a later C library than any.
fn allocator_of_the_future(folder: &Folder) -> String {
    let library = |name: &str, source: &str, arguments: &[&str]| {
        let arguments = [&["-shared", "-fPIC"], arguments].concat();
        compile(folder, name, source, &arguments)
    };
    let versions = |version: &str| {
        fs::write(
            folder.path().join("versions"),
            format!("{version} {{ later; }};\n"),
        )
        .unwrap();
    };
    let versioned = ["-Wl,--version-script=versions"];
    let later = "extern \"C\" void later() {}\n";
    versions("LATER_2");
    library("liblater.so", later, &versioned);
    let source = "extern \"C\" void later();\n\
        extern \"C\" void *malloc(unsigned long) { later(); return 0; }\n";
    let arguments = ["-L.", "-llater", "-Wl,-rpath,$ORIGIN"];
    let future = library("libfuture.so", source, &arguments);
    versions("LATER_1");
    library("liblater.so", later, &versioned);
    future
}

#[test]
fn a_library_that_is_absent_of_another_kind_or_no_allocator_is_refused_before_the_program_starts() {
    let folder = Folder::new("allocator-refused-library");
    ours(&folder);
    let narrow = narrow_copy(&library_of("libjemalloc.so.2"), &folder);
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let other = maps.lines().find(|line| line.contains("/libgcc_s.so"));
    let other = Path::new(other.unwrap().split_whitespace().last().unwrap());
    let future = allocator_of_the_future(&folder);
    for (library, why) in [
        (&*future, "version `LATER_2' not found"),
        (
            "/no/such/library.so",
            "does not take /no/such/library.so (cannot open shared object file)",
        ),
        (&*narrow, "narrow.so (wrong ELF class: ELFCLASS32)"),
        ("/etc/passwd", "/etc/passwd (invalid ELF header)"),
        (
            other.to_str().unwrap(),
            "defines no malloc: it is no allocator",
        ),
    ] {
        assert_refused(
            &mut run(&folder, library, &["touch", "started"]),
            &folder,
            why,
        );
    }
    for value in ["malloc", "liba.so", "/a:b.so"] {
        let output = run(&folder, value, &["touch", "started"]).output().unwrap();
        let said = errors(&output);
        let expected = "expected jemalloc, mimalloc, tcmalloc, or the absolute path";
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn an_allocator_that_is_not_installed_is_refused_with_the_package_that_has_it() {
    let folder = Folder::new("allocator-absent");
    let ours = ours(&folder);
    let library = library_of("libjemalloc.so.2");
    let mut command = Command::new("unshare");
    if sys::process::user() != 0 {
        command.arg("--map-root-user");
    }
    // Nothing is in its place, for whoever looks from there.
    let script = "mount --bind /dev/null \"$1\" && exec \"$2\" levers run allocator=jemalloc -- touch started";
    command.args(["--mount", "sh", "-c", script, "sh", &library, &ours]);
    command.current_dir(folder.path());
    let why = "does not find libjemalloc.so.2 (file too short); Debian 12 has it in the package libjemalloc2";
    assert_refused(&mut command, &folder, why);
}

#[test]
fn a_program_has_its_allocator_that_finds_its_libraries_beside_itself() {
    let folder = Folder::new("allocator-origin");
    ours(&folder);
    let (library, shared) = ("int beside() { return 0; }\n", ["-shared", "-fPIC"]);
    compile(&folder, "libbeside.so", library, &shared);
    let beside = ["-L.", "-lbeside", "-Wl,--enable-new-dtags,-rpath,$ORIGIN"];
    let source = "int beside();\nint main() { return beside(); }\n";
    let program = compile(&folder, "finds-beside", source, &beside);
    assert_eq!(answer(&mut run(&folder, "jemalloc", &[&program])), "");
    fs::remove_file(folder.path().join("libbeside.so")).unwrap();
    let why = "finds-beside: error while loading shared libraries: libbeside.so: cannot open";
    let why = format!("its loader says: {}/{why}", folder.path().display());
    assert_refused(&mut run(&folder, "jemalloc", &[&program]), &folder, &why);
}

#[test]
fn a_program_that_its_loader_may_not_read_is_refused_in_the_loaders_words() {
    let folder = Folder::new("allocator-unread");
    ours(&folder);
    let program = touch(&folder, "unread", 0o711);
    let mut started = run(&folder, "jemalloc", &[&program, "started"]);
    if sys::process::user() != 0 {
        assert!(started.status().unwrap().success(), "it is this user's own");
        return;
    }
    let why = "unread: cannot open shared object file: Permission denied";
    assert_refused(&mut started, &folder, why);
}

#[test]
fn we_ourselves_have_an_allocator_from_a_folder_that_is_closed_to_nobody() {
    let folder = Folder::new("allocator-closed");
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    copy_program(&closed.join("linerate"));
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let mut command = Command::new(closed.join("linerate"));
    command.args(["levers", "run", "allocator=jemalloc", "--"]);
    command.args(["/proc/self/exe", "levers", "status", "allocator"]);
    command.current_dir(folder.path());
    let told = answer(&mut command);
    assert!(told.contains("jemalloc ("), "{told}");
}

#[test]
fn what_a_loader_was_to_say_besides_is_no_complaint() {
    let folder = Folder::new("allocator-debug");
    let mut program = run(&folder, "jemalloc", &["sh", "-c", "echo $LD_DEBUG"]);
    program.env("LD_DEBUG", "files").env("LD_VERBOSE", "1");
    assert_eq!(answer(&mut program), "files\n");
}

#[test]
fn a_script_whose_interpreter_is_no_file_is_refused_without_opening_it() {
    let folder = Folder::new("allocator-fifo");
    let ours = ours(&folder);
    let fifo = folder.path().join("fifo").display().to_string();
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let script = script(&folder, "waits", &fifo);
    let mut command = Command::new("timeout");
    command.args(["20", &ours, "levers", "run", "allocator=jemalloc", "--"]);
    command.arg(&script).current_dir(folder.path());
    let why = "fifo cannot be looked into: it is no regular file";
    assert_refused(&mut command, &folder, why);
}
