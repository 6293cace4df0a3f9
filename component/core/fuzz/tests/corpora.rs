//! Every seed, and every input that the fuzzer found and that was worth keeping, run
//! through its target on any compiler.

use flate2::read::GzDecoder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use tar::Archive;
use voice_calling_fuzz::{TARGETS, Target};

/// The inputs of one target by their names.
type Inputs = BTreeMap<String, Vec<u8>>;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn targets() -> BTreeSet<String> {
    TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

fn seeds(target: &str) -> Inputs {
    let folder = here("corpus").join(target);
    let read = |name: String| {
        let data = fs::read(folder.join(&name)).unwrap();
        (name, data)
    };
    names(&folder).into_iter().map(read).collect()
}

/// The inputs in the archive, by target. The gzip stream is read to its end first, so that
/// its checksum is verified.
fn found() -> BTreeMap<String, Inputs> {
    let path = here("found.tar.gz");
    let file = fs::File::open(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut unzipped = Vec::new();
    GzDecoder::new(file)
        .read_to_end(&mut unzipped)
        .unwrap_or_else(|error| panic!("{path:?}: {error}"));

    let mut found: BTreeMap<String, Inputs> = BTreeMap::new();
    for entry in Archive::new(&*unzipped).entries().unwrap() {
        let mut entry = entry.unwrap_or_else(|error| panic!("{path:?}: {error}"));
        if entry.header().entry_type().is_dir() {
            continue;
        }
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let (target, input) = name
            .strip_prefix("./")
            .and_then(|name| name.split_once('/'))
            .unwrap_or_else(|| panic!("{path:?}: {name} is not ./<target>/<input>"));
        let mut data = Vec::new();
        entry.read_to_end(&mut data).unwrap();
        let inputs = found.entry(target.to_owned()).or_default();
        inputs.insert(input.to_owned(), data);
    }
    found
}

fn replay(target: &str, run: Target, source: &str, inputs: &Inputs) {
    assert!(!inputs.is_empty(), "{source} has no input for {target}");
    for (input, data) in inputs {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(data)));
        assert!(
            outcome.is_ok(),
            "{target} fails on {source}: {target}/{input}"
        );
    }
}

#[test]
fn every_target_holds_for_its_seeds() {
    for (target, run) in TARGETS {
        replay(target, run, "corpus", &seeds(target));
    }
}

#[test]
fn every_target_holds_for_what_the_fuzzer_found() {
    let found = found();
    let with_inputs: BTreeSet<_> = found.keys().cloned().collect();
    assert_eq!(with_inputs, targets(), "the targets in found.tar.gz");
    for (target, run) in TARGETS {
        replay(target, run, "found.tar.gz", &found[target]);
    }
}

#[test]
fn no_seed_is_named_by_a_hash() {
    for (target, _) in TARGETS {
        for seed in names(&here("corpus").join(target)) {
            let is_hash = seed.len() == 40 && seed.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(!is_hash, "corpus/{target}/{seed} belongs in found.tar.gz");
        }
    }
}

#[test]
fn every_corpus_has_a_target_and_every_target_a_binary() {
    let targets = targets();
    assert_eq!(names(&here("corpus")), targets);

    let manifest = fs::read_to_string(here("Cargo.toml"));
    let binaries = manifest.unwrap();
    let binaries = binaries
        .lines()
        .filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let binaries: BTreeSet<_> = binaries.skip(1).map(str::to_owned).collect();
    assert_eq!(binaries, targets);
    for target in targets {
        let function = target.replace('-', "_");
        let path = format!("fuzz_targets/{function}.rs");
        let source = fs::read_to_string(here(&path)).unwrap();
        let called = format!("voice_calling_fuzz::{function}(");
        assert!(source.contains(&called), "{target}: {source}");
    }
}
