//! Services with their own certificate authority, given as a PEM file.

use crate::{invoking, stderr};
use std::fs;
use std::process::Output;
use tempfile::TempDir;
use voice_calling_peer::{Authority, Behaviour, Peer};
use voice_calling_test_guests::{DOCKET_ID, SATISFYING, TOKEN};

const KEY: &str = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";

/// Writes a file with this content. Returns it with the folder that keeps it.
fn file(contents: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("authorities.pem");
    fs::write(&path, contents).unwrap();
    (folder, path.display().to_string())
}

fn create(base_url: &str, arguments: &[&str]) -> Output {
    let docket = r#"{"agent_id": 7, "to_phone_number": "919876543210", "call_context": {}}"#;
    let environment = [
        ("VOICE_CALLING_BASE_URL", base_url),
        ("VOICE_CALLING_API_TOKEN", TOKEN),
        ("VOICE_CALLING_MAX_ATTEMPTS", "1"),
        // For the peer's handshake on a busy machine.
        ("VOICE_CALLING_CONNECT_TIMEOUT_MS", "60000"),
        ("VOICE_CALLING_ATTEMPT_TIMEOUT_MS", "60000"),
        ("VOICE_CALLING_DEADLINE_MS", "60000"),
    ];
    let mut create = invoking("dockets.create-docket-v2", docket, &environment);
    create.args(arguments).output().expect("the command runs")
}

/// Those of the system, which are trusted by default, no longer are.
#[tokio::test(flavor = "multi_thread")]
async fn the_authorities_in_a_file_and_no_others_are_trusted() {
    let (other, authority) = (Authority::new(), Authority::new());
    let (_folder, path) = file(&format!("{}{KEY}# ours\n{}", other.pem(), authority.pem()));
    for (arguments, code, requests, shown) in [
        (&["--ca", &path][..], 0, 1, DOCKET_ID),
        (&[], 1, 0, "TLS-certificate-error"),
    ] {
        let script = [Behaviour::Keep(SATISFYING)];
        let peer = Peer::over_tls(&authority, &["http/1.1"], script).await;
        let peer = peer.unwrap();
        let output = create(&peer.base_url(), arguments);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains(shown), "{printed}");
        assert_eq!((peer.connections(), peer.requests().len()), (1, requests));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_without_sound_certificates_is_refused_before_anything_is_sent() {
    let good = Authority::new().pem();
    let broken = KEY.replace("PRIVATE KEY", "CERTIFICATE");
    let peer = Peer::start([Behaviour::Keep(SATISFYING)]).await.unwrap();
    for (contents, found) in [
        (KEY, "no certificate in PEM"),
        (&format!("{good}{broken}"), "invalid peer certificate"),
        (&good.replace("END", "and"), "missing section end marker"),
    ] {
        let (_folder, path) = file(contents);
        let error = stderr(&create(&peer.base_url(), &["--ca", &path]));
        assert!(
            error.contains("the certificate authorities") && error.contains(found),
            "{error}"
        );
        assert!(!error.contains("c2VjcmV0"), "{error}");
    }
    assert_eq!(peer.connections(), 0);
}
