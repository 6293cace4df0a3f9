//! The documentation site in headless Chromium, as a folder of files.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::json;
use voice_calling_browser::Browser;

/// Returns every page.
fn pages(site: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![site.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let below = path.strip_prefix(site).unwrap();
            let is_page = path.extension().is_some_and(|it| it == "html");
            // Skips the list of pages, which the others load in a frame.
            if path.is_dir() {
                folders.push(path);
            } else if is_page && below != Path::new("toc.html") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

#[tokio::test]
async fn every_page_opens_and_fits_a_telephone() {
    let site = env::var_os("VOICE_CALLING_SITE");
    let site = PathBuf::from(site.expect("VOICE_CALLING_SITE: `cargo xtask docs test` sets it"));
    let pages = pages(&site);
    assert!(pages.len() > 25, "only {} pages", pages.len());
    let browser = Browser::start().await.unwrap();
    for page in &pages {
        let shown = page.display();
        browser.open(&format!("file://{shown}")).await;
        let heading = "document.readyState === 'complete' && document.querySelector('main h1')";
        browser.until(heading).await;
        let title = browser.read("document.title").await;
        assert_ne!(title, json!(""), "{shown}");
        assert_eq!(browser.errors().await, Vec::<String>::new(), "{shown}");
    }

    browser.resize(400, 800).await;
    for page in &pages {
        let shown = page.display();
        browser.open(&format!("file://{shown}")).await;
        browser.until("document.querySelector('main h1')").await;
        let overflow = "document.documentElement.scrollWidth - window.innerWidth";
        let overflow = browser.read(overflow).await;
        assert!(
            overflow.as_i64() <= Some(0),
            "{shown} is {overflow} pixels too wide"
        );
    }
}
