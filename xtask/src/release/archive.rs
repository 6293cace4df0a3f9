//! Folders as `.tar.gz`. The same files give the same bytes.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use flate2::{Compression, write::GzEncoder};
use tar::{Builder, HeaderMode};

/// Writes the files of `folder`, named relative to it, under the folder `name` of an archive.
pub fn write(name: &str, folder: &Path, files: &[PathBuf], to: &Path) -> Result<()> {
    let mut sorted = files.to_vec();
    sorted.sort();
    let gzip = GzEncoder::new(File::create(to)?, Compression::best());
    let mut archive = Builder::new(gzip);
    // Neither times nor owners.
    archive.mode(HeaderMode::Deterministic);
    for file in sorted {
        let path = folder.join(&file);
        archive
            .append_path_with_name(&path, Path::new(name).join(&file))
            .with_context(|| format!("cannot archive {}", path.display()))?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}

/// All files below `folder`, named relative to it.
pub fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(at) = folders.pop() {
        let path = folder.join(&at);
        let entries = fs::read_dir(&path);
        for entry in entries.with_context(|| format!("cannot read {}", path.display()))? {
            let entry = entry?;
            let name = at.join(entry.file_name());
            match entry.file_type()?.is_dir() {
                true => folders.push(name),
                false => files.push(name),
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        env, process,
        time::{Duration, SystemTime},
    };

    #[test]
    fn neither_the_order_of_the_files_nor_their_times_are_in_the_archive() {
        let folder = env::temp_dir().join(format!("voice-calling-archive-{}", process::id()));
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/b/one"), "1").unwrap();
        fs::write(folder.join("two"), "2").unwrap();
        let mut files = files_of(&folder.join("a")).unwrap();
        assert_eq!(files, [Path::new("b/one")]);

        files = vec!["a/b/one".into(), "two".into()];
        let (first, second) = (folder.join("1.tar.gz"), folder.join("2.tar.gz"));
        write("x-1", &folder, &files, &first).unwrap();
        let earlier = SystemTime::now() - Duration::from_secs(3600);
        let file = File::options()
            .write(true)
            .open(folder.join("two"))
            .unwrap();
        file.set_modified(earlier).unwrap();
        files.reverse();
        write("x-1", &folder, &files, &second).unwrap();
        assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());
        fs::remove_dir_all(&folder).unwrap();
    }
}
