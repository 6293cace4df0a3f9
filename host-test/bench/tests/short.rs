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
    let figures = |column| {
        let cells = text
            .lines()
            .filter_map(move |line| line.split('|').nth(column));
        let figures = cells.filter_map(|figure| figure.trim().parse::<f64>().ok());
        figures.filter(|figure| *figure > 0.0).count()
    };
    let goals = 12;
    assert_eq!(
        figures(4),
        27,
        "the CPU of nine subjects in three situations: {text}"
    );
    assert_eq!(
        figures(5),
        24 + goals,
        "ratios of all but the baseline, and goals: {text}"
    );
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
