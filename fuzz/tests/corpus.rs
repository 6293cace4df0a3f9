//! Runs every seed, and every input that the fuzzer found and that was worth keeping, through the
//! targets on any compiler.

use flate2::read::GzDecoder;
use std::fs::File;
use std::io::Read;
use std::panic::catch_unwind;
use tar::Archive;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus.tar.gz");

#[test]
fn the_targets_hold_for_the_corpus() {
    // The gzip stream is read to its end first, so that its checksum is verified.
    let mut unzipped = Vec::new();
    let mut file = GzDecoder::new(File::open(CORPUS).unwrap());
    file.read_to_end(&mut unzipped).unwrap();
    let mut inputs = 0;
    for entry in Archive::new(&*unzipped).entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type().is_file() {
            let mut data = Vec::new();
            entry.read_to_end(&mut data).unwrap();
            let path = entry.path().unwrap();
            let target = match path.starts_with("contact") {
                true => voice_calling_fuzz::contact,
                false => voice_calling_fuzz::body,
            };
            let outcome = catch_unwind(|| target(&data));
            assert!(outcome.is_ok(), "fails on {}", path.display());
            inputs += 1;
        }
    }
    assert!(inputs > 900, "{inputs} inputs");
}
