//! The interfaces that the guests import, as the engine has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use obelisk_harness::{Engine, shipped_folder};

/// Returns every WIT package below a folder, without comments, by file name.
fn packages(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut packages = BTreeMap::new();
    for package in fs::read_dir(folder)? {
        for file in fs::read_dir(package?.path())? {
            let file = file?;
            let name = file.file_name().to_string_lossy().into_owned();
            let wit = fs::read_to_string(file.path())?;
            let is_comment = |line: &&str| line.trim_start().starts_with("//");
            let lines: Vec<_> = wit.lines().filter(|line| !is_comment(line)).collect();
            packages.insert(name, lines.join("\n"));
        }
    }
    Ok(packages)
}

#[test]
fn the_guests_import_what_this_version_of_the_engine_offers() -> Result<()> {
    let engine = Engine::from_environment()?;
    let folder = tempfile::tempdir()?;
    let from_deployment = folder.path().join("deployment");
    let support = folder.path().join("support");
    let deployment = shipped_folder()?.join("deployment.toml");
    let file = deployment.to_string_lossy();
    engine.generate(&["wit-deps", "-f", "-d", &file], &from_deployment)?;
    for kind in ["workflow", "webhook_endpoint"] {
        engine.generate(&["wit-support", kind], &support)?;
    }
    // Where both write a package, the latter has the original text.
    let mut offered = packages(&from_deployment)?;
    offered.extend(packages(&support)?);

    let used = Path::new(env!("CARGO_MANIFEST_DIR")).join("../worlds/deps");
    let used = packages(&used)?;
    assert!(used.len() > 5, "{:?}", used.keys());
    for (name, wit) in used {
        let offered = offered.get(&name);
        assert_eq!(Some(&wit), offered, "{name} is not the engine's");
    }
    Ok(())
}
