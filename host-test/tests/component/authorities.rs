//! Services with their own certificate authority, given as a PEM file.

use crate::compiled::in_repository;
use crate::peer::{Act, Authority, Peer};
use crate::stage::{DOCKET_ID, SATISFYING, TOKEN};
use std::fs;
use std::process::{Command, Output};
use tempfile::TempDir;

const KEY: &str = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";

/// Writes a file with this content. Returns it with the folder that keeps it.
fn file(contents: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("authorities.pem");
    fs::write(&path, contents).unwrap();
    (folder, path.display().to_string())
}

/// Creates a docket with the command.
async fn invoke(base_url: String, arguments: Vec<String>) -> Output {
    let invoked = tokio::task::spawn_blocking(move || {
        let docket = r#"{"agent_id": 7, "to_phone_number": "919876543210", "call_context": {}}"#;
        Command::new(env!("CARGO_BIN_EXE_host-test"))
            .args(["invoke", "dockets.create-docket-v2", "--json", docket])
            .arg("--component")
            .arg(in_repository("target/voice-calling.wasm"))
            .args(arguments)
            .env("VOICE_CALLING_BASE_URL", base_url)
            .env("VOICE_CALLING_API_TOKEN", TOKEN)
            .env("VOICE_CALLING_MAX_ATTEMPTS", "1")
            .output()
            .expect("the command runs")
    });
    invoked.await.unwrap()
}

/// Those of the system, which are trusted by default, no longer are.
#[tokio::test]
async fn the_authorities_in_a_file_and_no_others_are_trusted() {
    let (other, authority) = (Authority::new(), Authority::new());
    let (_folder, path) = file(&format!("{}{KEY}# ours\n{}", other.pem(), authority.pem()));
    for (arguments, code, requests, shown) in [
        (vec!["--ca".to_owned(), path], 0, 1, DOCKET_ID),
        (vec![], 1, 0, "TLS-certificate-error"),
    ] {
        let peer = Peer::over_tls(authority.vouch(&["http/1.1"]), [Act::Answer(SATISFYING)]).await;
        let output = invoke(peer.base_url(), arguments).await;
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains(shown), "{printed}");
        assert_eq!((peer.connections(), peer.requests().len()), (1, requests));
    }
}

#[tokio::test]
async fn a_file_without_sound_certificates_is_refused_before_anything_is_sent() {
    let good = Authority::new().pem();
    let broken = KEY.replace("PRIVATE KEY", "CERTIFICATE");
    let peer = Peer::plain([Act::Answer(SATISFYING)]).await;
    for (contents, found) in [
        (KEY, "no certificate in PEM"),
        (&format!("{good}{broken}"), "invalid peer certificate"),
        (&good.replace("END", "and"), "missing section end marker"),
    ] {
        let (_folder, path) = file(contents);
        let output = invoke(peer.base_url(), vec!["--ca".to_owned(), path]).await;
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains("the certificate authorities") && error.contains(found),
            "{error}"
        );
        assert!(!error.contains("c2VjcmV0"), "{error}");
    }
    assert_eq!(peer.connections(), 0);
}
