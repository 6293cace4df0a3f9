//! Services with an authority of their own, given as a PEM file.

use crate::peer::{Act, Authority, Peer};
use crate::stage::{CREATED, TOKEN, WASI_0_2};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;
use voice_calling_check::operation::DOCKET_ID;
use voice_calling_host::Trust;

const KEY: &str = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";

/// A file with these contents, and the folder that keeps it.
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
            .args(["--component", WASI_0_2])
            .args(arguments)
            .env("VOICE_CALLING_BASE_URL", base_url)
            .env("VOICE_CALLING_API_TOKEN", TOKEN)
            .env("VOICE_CALLING_MAX_ATTEMPTS", "1")
            .output()
            .expect("the command runs")
    });
    invoked.await.unwrap()
}

/// A service that an authority of its own vouches for.
async fn service(authority: &Authority) -> Peer {
    Peer::over_tls(authority.vouch(&["h2"]), [Act::Answer(CREATED)]).await
}

#[tokio::test]
async fn invoke_reaches_a_service_whose_authority_is_in_the_file() {
    let authority = Authority::new();
    let peer = service(&authority).await;
    let other = Authority::new().pem();
    // What else is in the file does not matter.
    for contents in [
        authority.pem(),
        format!("{other}{KEY}# ours\n{}", authority.pem()),
    ] {
        let (_folder, path) = file(&contents);
        let output = invoke(peer.base_url(), vec!["--ca".to_owned(), path]).await;
        assert!(output.status.success(), "{output:?}");
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains(DOCKET_ID), "{shown}");
    }
    assert_eq!(peer.requests().len(), 2);
}

#[tokio::test]
async fn invoke_sends_nothing_to_a_service_whose_authority_is_not_in_the_file_or_there_is_no_file()
{
    let authority = Authority::new();
    let (_folder, stranger) = file(&Authority::new().pem());
    for arguments in [vec![], vec!["--ca".to_owned(), stranger]] {
        let peer = service(&authority).await;
        let output = invoke(peer.base_url(), arguments).await;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains("TLS-certificate-error"), "{shown}");
        assert_eq!((peer.connections(), peer.requests().len()), (1, 0));
    }
}

#[tokio::test]
async fn a_bad_file_is_reported_by_its_name_and_what_is_bad_before_anything_is_sent() {
    let peer = service(&Authority::new()).await;
    let (_folder, path) = file(KEY);
    let missing = format!("{path}.missing");
    for (path, message) in [
        (
            &path,
            format!(
                "error: --ca: {path} must have the certificates of authorities in PEM \
                 (-----BEGIN CERTIFICATE-----), found no certificate, but PrivateKey\n"
            ),
        ),
        (
            &missing,
            format!("error: --ca: cannot read the authorities in {missing}: "),
        ),
    ] {
        let output = invoke(peer.base_url(), vec!["--ca".to_owned(), path.clone()]).await;
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.starts_with(&message), "{told}");
    }
    assert_eq!(peer.connections(), 0);
}

#[test]
fn a_file_without_sound_certificates_is_refused_by_what_was_found() {
    let good = Authority::new().pem();
    let section =
        |text: &str| format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
    let cut = good
        .trim_end()
        .trim_end_matches("-----END CERTIFICATE-----");
    for (contents, found) in [
        ("", "no PEM in it"),
        ("api.example\n", "no PEM in it"),
        (KEY, "no certificate, but PrivateKey"),
        (&section("c2VjcmV0"), "certificate 1, which is broken: "),
        (
            &format!("{good}{}", section("c2VjcmV0")),
            "certificate 2, which is broken: ",
        ),
        (&section("s3cr3t!"), "a section that is not Base64"),
        (cut, "a section \"CERTIFICATE\" without its end"),
        (
            "-----BEGIN CERTIFICATE\n",
            "the line \"-----BEGIN CERTIFICATE\"",
        ),
    ] {
        let (_folder, path) = file(contents);
        let error = Trust::from_pem_file(&path).unwrap_err().to_string();
        let expected = format!(
            "{path} must have the certificates of authorities in PEM \
             (-----BEGIN CERTIFICATE-----), found {found}"
        );
        assert!(error.starts_with(&expected), "{error}");
        assert!(
            !error.contains("s3cr3t") && !error.contains("c2VjcmV0"),
            "{error}"
        );
    }
}

#[test]
fn the_authorities_of_a_file_replace_the_public_ones() {
    let (one, other) = (Authority::new(), Authority::new());
    let (_folder, path) = file(&format!("{}{}", one.pem(), other.pem()));
    let trust = Trust::from_pem_file(Path::new(&path)).unwrap();
    let both = vec![one.certificate(), other.certificate()];
    assert_eq!(trust, Trust::Only(both));
}
