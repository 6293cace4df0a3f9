//! The bench in its short form.

use std::process::{Command, Output};

fn bench(component: &str) -> Output {
    let bench = Command::new(env!("CARGO_BIN_EXE_voice-calling-bench"))
        .args(["--short", "--component", component])
        .output();
    bench.expect("the bench runs")
}

#[test]
fn the_short_bench_measures_everything() {
    let output = bench(voice_calling_test_guests::CLIENT);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("short form: these figures"), "{text}");
    let is_figure = |cell: &str| cell.trim().parse::<f64>().is_ok_and(|figure| figure > 0.0);
    let figures = text.split('|').filter(|cell| is_figure(cell)).count();
    let (situations, subjects, goals) = (3, 9, 12);
    // The baseline has no ratio to itself.
    let expected = situations * (2 * subjects - 1) + goals;
    assert_eq!(figures, expected, "{text}");
}

#[test]
fn a_component_that_is_not_there_is_named() {
    let output = bench("no-such-file.wasm");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && stderr.contains("no-such-file.wasm"),
        "{stderr}"
    );
}
