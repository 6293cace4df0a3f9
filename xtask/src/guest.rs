//! The guests: packages that are built for WebAssembly.

/// A package that is built for WebAssembly, and what is made of it.
pub struct Guest {
    pub package: &'static str,
    /// What `wasm-tools metadata show` calls it.
    pub component: &'static str,
    /// Where it lies in the target directory.
    pub file: &'static str,
    pub form: Form,
}

/// What is made of a package.
#[derive(Clone, Copy)]
pub enum Form {
    /// A component of the world that its bindings were generated from.
    Component,
    /// A component of another world than that of the bindings.
    ComponentOf {
        /// The package with the world is in the last; it uses those before.
        folders: &'static [&'static str],
        world: &'static str,
    },
    /// The core module itself, with these exports.
    CoreModule(&'static [&'static str]),
}

/// The guest that all this is for.
pub const CLIENT: Guest = Guest {
    package: "voice-calling-p2",
    component: "voice-calling",
    file: "voice-calling.wasm",
    form: Form::Component,
};

/// The same for hosts of WASI 0.3.
pub const CLIENT_P3: Guest = Guest {
    package: "voice-calling-p3",
    component: "voice-calling-p3",
    file: "voice-calling-p3.wasm",
    form: Form::Component,
};

/// The client without I/O, for hosts that do it themselves.
pub const SANS_IO: Guest = Guest {
    package: "voice-calling-sans-io",
    component: "voice-calling-sans-io",
    file: "voice-calling-sans-io.wasm",
    form: Form::CoreModule(&[
        "memory",
        "input",
        "configure",
        "step",
        "parse_docket_completed",
    ]),
};

/// The tools for AI agents, into which the client is plugged.
pub const TOOLS: Guest = Guest {
    package: "voice-calling-tools",
    component: "voice-calling-tools",
    file: "tools-guest.wasm",
    form: Form::Component,
};

/// The same without the tools that make a telephone ring.
pub const TOOLS_READ_ONLY: Guest = Guest {
    package: "voice-calling-tools",
    component: "voice-calling-tools-read-only",
    file: "tools-read-only-guest.wasm",
    form: Form::ComponentOf {
        folders: &["wit", "wit/tools"],
        world: "read-only",
    },
};

/// All that users get.
pub const PRODUCTS: [&Guest; 3] = [&CLIENT, &CLIENT_P3, &SANS_IO];

/// The guest on a core that misbehaves, with which the check of components proves that it can fail.
pub const MUTANTS: Guest = Guest {
    package: "voice-calling-mutants-p2",
    component: "voice-calling-mutants",
    file: "mutants.wasm",
    form: Form::Component,
};

/// A guest that uses the one for WASI 0.3 and cancels its calls, with which tests prove what
/// becomes of these.
pub const IMPATIENT: Guest = Guest {
    package: "voice-calling-impatient",
    component: "voice-calling-impatient",
    file: "impatient-guest.wasm",
    form: Form::Component,
};

/// One operation of the service written with wstd, which the bench compares the client with.
pub const PEER: Guest = Guest {
    package: "voice-calling-bench-peer",
    component: "voice-calling-bench-peer",
    file: "voice-calling-peer.wasm",
    form: Form::Component,
};

/// An HTTP server for hosts of `wasi:http`; the client is plugged into it.
pub const EXAMPLE_HTTP: Guest = Guest {
    package: "voice-calling-example-http",
    component: "voice-calling-example-http",
    file: "http-guest.wasm",
    form: Form::Component,
};

/// What runs beside the guest on the workflow engine Obelisk.
pub const OBELISK_WORKFLOW: Guest = Guest {
    package: "voice-calling-obelisk-workflow",
    component: "voice-calling-workflow",
    file: "obelisk/workflow.wasm",
    form: Form::Component,
};

/// What begins a creation once there; the client is plugged into it.
pub const OBELISK_ONCE: Guest = Guest {
    package: "voice-calling-obelisk-once",
    component: "voice-calling-once",
    file: "once-guest.wasm",
    form: Form::Component,
};

/// What the operator of campaigns supplies there.
pub const OBELISK_OPERATOR: Guest = Guest {
    package: "voice-calling-obelisk-operator",
    component: "voice-calling-operator",
    file: "obelisk/operator.wasm",
    form: Form::Component,
};

/// What receives the service's webhook there.
pub const OBELISK_WEBHOOK: Guest = Guest {
    package: "voice-calling-obelisk-webhook",
    component: "voice-calling-webhook",
    file: "obelisk/webhook.wasm",
    form: Form::Component,
};

/// At which an operator watches and steers campaigns there.
pub const OBELISK_CAMPAIGNS: Guest = Guest {
    package: "voice-calling-obelisk-campaigns",
    component: "voice-calling-campaigns",
    file: "obelisk/campaigns.wasm",
    form: Form::Component,
};
