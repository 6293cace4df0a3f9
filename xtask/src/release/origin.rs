//! Where the source of a release is.

use clap::Args;

/// Where the source is, which only the releaser knows. It goes into the components.
#[derive(Args, Default)]
pub struct Origin {
    /// The address of the repository
    #[arg(long)]
    source: Option<String>,
    /// The commit
    #[arg(long)]
    revision: Option<String>,
}

impl Origin {
    /// As custom sections of WebAssembly.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let named = [("source", &self.source), ("revision", &self.revision)];
        let given = named.map(|(name, text)| Some((name, text.as_deref()?)));
        given.into_iter().flatten()
    }
}
