//! What something was made from, kept beside it: where nothing has changed since, it is not made
//! again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{inspect::sha256, process::announce};

pub struct Stamp<'a> {
    /// For people.
    name: &'a str,
    /// The file or folder that is made.
    made: &'a Path,
    /// The names and hashes of all that it is made from.
    inputs: String,
}

impl<'a> Stamp<'a> {
    pub fn of<P: AsRef<Path>>(
        name: &'a str,
        made: &'a Path,
        inputs: impl IntoIterator<Item = P>,
    ) -> Result<Self> {
        let mut listed = String::new();
        for input in inputs {
            let input = input.as_ref();
            let contents =
                fs::read(input).with_context(|| format!("cannot read {}", input.display()))?;
            listed += &format!("{}  {}\n", sha256(&contents), input.display());
        }
        Ok(Self {
            name,
            made,
            inputs: listed,
        })
    }

    /// Makes it, unless it is there and was made from the same.
    pub fn unless_fresh(&self, make: impl FnOnce() -> Result<()>) -> Result<()> {
        let Self { name, made, inputs } = self;
        let stamp = self.file();
        if made.exists() && fs::read_to_string(&stamp).is_ok_and(|before| before == *inputs) {
            announce(&format!("{name}: up to date"));
            return Ok(());
        }
        announce(name);
        // What is half made has no stamp.
        let _ = fs::remove_file(&stamp);
        make().with_context(|| format!("cannot make {name}"))?;
        let stamp = self.file();
        fs::write(&stamp, inputs).with_context(|| format!("cannot write {}", stamp.display()))
    }

    /// In a folder, with which it goes, or beside a file. Which of them it is may be known only
    /// when it is made.
    fn file(&self) -> PathBuf {
        match self.made.is_dir() {
            true => self.made.join(".made-from"),
            false => self.made.with_extension("made-from"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use std::{cell::Cell, env, process};

    #[test]
    fn what_is_there_is_made_again_when_its_inputs_change_or_it_was_not_finished() {
        let folder = env::temp_dir().join(format!("voice-calling-stamp-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (input, made) = (folder.join("input"), folder.join("made"));
        let times = Cell::new(0);
        let make = || {
            times.set(times.get() + 1);
            Ok(fs::write(&made, "made")?)
        };
        let stamp = || Stamp::of("a test", &made, [&input]).unwrap();

        fs::write(&input, "one").unwrap();
        stamp().unless_fresh(make).unwrap();
        stamp().unless_fresh(make).unwrap();
        assert_eq!(times.get(), 1);

        fs::write(&input, "two").unwrap();
        assert!(stamp().unless_fresh(|| bail!("no room")).is_err());
        assert_eq!(times.get(), 1);
        stamp().unless_fresh(make).unwrap();
        assert_eq!(times.get(), 2);

        fs::remove_file(&made).unwrap();
        stamp().unless_fresh(make).unwrap();
        assert_eq!(times.get(), 3);

        let made = folder.join("folder");
        let stamp = || Stamp::of("a test", &made, [&input]).unwrap();
        let make = || {
            times.set(times.get() + 1);
            Ok(fs::create_dir_all(&made)?)
        };
        stamp().unless_fresh(make).unwrap();
        stamp().unless_fresh(make).unwrap();
        assert_eq!(times.get(), 4);
        fs::remove_dir_all(&folder).unwrap();
    }
}
