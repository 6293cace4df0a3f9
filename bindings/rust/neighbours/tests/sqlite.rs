//! The ledger beside the libraries that use SQLite, in one program, which has one SQLite.

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use sea_orm::ConnectionTrait;
use voice_calling::ledger::State;
use voice_calling::{Client, DocketRequestV2, Ledger};

const TABLE: &str = "CREATE TABLE t (x)";

#[tokio::test]
async fn the_ledger_works_beside_sqlx_diesel_and_sea_orm() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (diesel, sqlx, sea_orm) = (file("diesel.db"), file("sqlx.db"), file("sea-orm.db"));
    let mut diesel = SqliteConnection::establish(&diesel).unwrap();
    diesel.batch_execute(TABLE).unwrap();
    let sqlx = format!("sqlite:{sqlx}?mode=rwc");
    let sqlx = sqlx::SqlitePool::connect(&sqlx).await.unwrap();
    sqlx::query(TABLE).execute(&sqlx).await.unwrap();
    let sea_orm = sea_orm::Database::connect(format!("sqlite:{sea_orm}?mode=rwc"));
    sea_orm
        .await
        .unwrap()
        .execute_unprepared(TABLE)
        .await
        .unwrap();

    let ledger = Ledger::open(file("calls.db")).unwrap();
    let client = Client::builder()
        .base_url("http://127.0.0.1:9")
        .api_token("t");
    let client = client.max_attempts(1).ledger(ledger.clone());
    let request = DocketRequestV2::new(7, "919876543210");
    let client = client.build().unwrap().with_key("k");
    let error = client.create_docket_v2(&request).await.unwrap_err();
    assert!(!error.may_have_created(), "{error}");
    assert_eq!(ledger.get("k").await.unwrap().unwrap().state, State::Free);
}
