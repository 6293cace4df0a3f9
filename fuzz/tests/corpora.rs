//! Every input that was ever worth keeping, run through its target on any compiler.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use voice_calling_fuzz::TARGETS;

fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn every_target_holds_for_its_whole_corpus() {
    for (target, run) in TARGETS {
        let folder = corpora().join(target);
        let inputs = names(&folder);
        assert!(!inputs.is_empty(), "{folder:?} is empty");
        for input in inputs {
            let data = fs::read(folder.join(&input)).unwrap();
            let outcome = catch_unwind(AssertUnwindSafe(|| run(&data)));
            assert!(outcome.is_ok(), "{target} fails on corpus/{target}/{input}");
        }
    }
}

#[test]
fn every_corpus_has_a_target_and_every_target_a_binary() {
    let targets: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&corpora()), targets);

    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    let binaries = manifest.unwrap();
    let binaries = binaries
        .lines()
        .filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let binaries: BTreeSet<_> = binaries.skip(1).map(str::to_owned).collect();
    assert_eq!(binaries, targets);
    for target in targets {
        let function = target.replace('-', "_");
        let path = format!("fuzz_targets/{function}.rs");
        let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let called = format!("voice_calling_fuzz::{function}(");
        assert!(source.contains(&called), "{target}: {source}");
    }
}
