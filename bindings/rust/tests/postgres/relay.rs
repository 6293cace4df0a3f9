//! A relay on loopback between a client and the server, which cuts a connection at a statement.

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinSet;

/// When a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cut {
    /// The server does not get the statement.
    Before(&'static str),
    /// The server has carried it out, and its answer is lost.
    After(&'static str),
}

pub(crate) struct Relay {
    pub port: u16,
    state: Arc<Mutex<State>>,
    _accepting: JoinSet<()>,
}

#[derive(Default)]
struct State {
    cut: Option<Cut>,
    is_cut: bool,
    is_closed: bool,
}

impl Relay {
    pub(crate) async fn to(socket: PathBuf) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::default();
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, socket, Arc::clone(&state)));
        Self {
            port,
            state,
            _accepting: accepting,
        }
    }

    /// Cuts the connection of the next statement that begins so. If `is_last`, no other connection
    /// passes anything on until [`reopen`](Self::reopen).
    pub(crate) fn cut(&self, cut: Cut, is_last: bool) {
        let mut state = self.state.lock().unwrap();
        assert_eq!(state.cut, None, "it was not cut");
        *state = State {
            cut: Some(cut),
            is_cut: false,
            is_closed: is_last,
        };
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.state.lock().unwrap().is_cut
    }

    pub(crate) fn reopen(&self) {
        self.state.lock().unwrap().is_closed = false;
    }
}

async fn accept(listener: TcpListener, socket: PathBuf, state: Arc<Mutex<State>>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let (socket, state) = (socket.clone(), state.clone());
        connections.spawn(async move { relay(client, &socket, &state).await });
    }
}

async fn relay(mut client: TcpStream, socket: &Path, state: &Mutex<State>) -> io::Result<()> {
    let is_closed = || {
        let state = state.lock().unwrap();
        state.is_closed && state.cut.is_none()
    };
    let mut server = UnixStream::connect(socket).await?;
    let (mut question, mut answer) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            length = client.read(&mut question) => {
                let question = &question[..length?];
                if is_closed() {
                    return Ok(());
                }
                let cut = state.lock().unwrap().cut.take_if(|cut| {
                    let (Cut::Before(statement) | Cut::After(statement)) = cut;
                    question.windows(statement.len()).any(|it| it == statement.as_bytes())
                });
                if question.is_empty() {
                    return Ok(());
                }
                if !matches!(cut, Some(Cut::Before(_))) {
                    server.write_all(question).await?;
                }
                if let Some(Cut::After(_)) = cut {
                    // Once it answers, it has committed.
                    let _answer = server.read(&mut answer).await?;
                }
                if cut.is_some() {
                    state.lock().unwrap().is_cut = true;
                    return Ok(());
                }
            }
            length = server.read(&mut answer) => match length? {
                0 => return Ok(()),
                length => client.write_all(&answer[..length]).await?,
            },
        }
    }
}
