//! `plug PLUG SOCKET OUTPUT`: `wac plug`, whose command line takes minutes to install, most of it for
//! what is not used here. A program of its own, so that `cargo xtask` need not wait for it where
//! nothing is composed.

use std::env;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [plug, socket, output] = arguments.as_slice() else {
        bail!("usage: plug PLUG SOCKET OUTPUT");
    };
    plug::plug(plug.as_ref(), socket.as_ref(), output.as_ref())
}
