//! Every seed, and every input that the fuzzer found and that was worth keeping, run
//! through its target on any compiler.

use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tar::Archive;
use voice_calling_fuzz::TARGETS;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus.tar.gz");

/// The inputs of each target by their names. The gzip stream is read to its end first, so that its
/// checksum is verified.
fn corpus() -> BTreeMap<String, Vec<(String, Vec<u8>)>> {
    let mut unzipped = Vec::new();
    let mut file = GzDecoder::new(File::open(CORPUS).unwrap());
    file.read_to_end(&mut unzipped).unwrap();
    let mut corpus: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for entry in Archive::new(&*unzipped).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        if let Some((target, input)) = path.split_once('/').filter(|(_, input)| !input.is_empty()) {
            let mut data = Vec::new();
            entry.read_to_end(&mut data).unwrap();
            let inputs = corpus.entry(target.to_owned()).or_default();
            inputs.push((input.to_owned(), data));
        }
    }
    corpus
}

#[test]
fn every_target_holds_for_its_seeds_and_for_what_the_fuzzer_found() {
    let corpus = corpus();
    assert!(corpus.keys().eq(TARGETS.iter().map(|(target, _)| *target)));
    for (target, run) in TARGETS {
        let inputs = &corpus[target];
        assert!(inputs.len() > 90, "{target} has {} inputs", inputs.len());
        for (input, data) in inputs {
            let outcome = catch_unwind(AssertUnwindSafe(|| run(data)));
            assert!(outcome.is_ok(), "{target} fails on {target}/{input}");
        }
    }
}
