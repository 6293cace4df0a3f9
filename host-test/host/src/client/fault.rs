//! Faults of the driver, made on purpose: with the feature `faulty-driver` tests prove that each
//! is noticed. Without it there are none.

/// The variable in the environment of a client that names a fault.
const VARIABLE: &str = "DRIVER_FAULT";

macro_rules! faults {
    ($($(#[$docs:meta])+ $fault:ident $name:literal,)+) => {
        /// A fault of the driver.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $($(#[$docs])+ $fault,)+
        }

        impl Fault {
            /// All of them, with their names.
            pub const ALL: &[(&str, Fault)] = &[$(($name, Fault::$fault),)+];
        }
    };
}

faults! {
    /// Says of every request without an answer that it was not sent.
    SaysUnsent "says-unsent",
    /// Believes every timeout of a connection.
    BelievesTimeouts "believes-timeouts",
    /// Sends each create twice.
    SendsTwice "sends-twice",
    /// Does not hand over what came of a body when its time is up.
    LosesParts "loses-parts",
    /// Takes a body that ended early for a whole one.
    MendsBodies "mends-bodies",
    /// Hands over no headers.
    LosesHeaders "loses-headers",
    /// Does not end requests that nobody waits for.
    KeepsRequests "keeps-requests",
    /// Does not report to the guest that a caller has gone.
    KeepsOperations "keeps-operations",
    /// Steps half a second later than it is asked to.
    WakesLate "wakes-late",
}

impl Fault {
    /// The one that an environment names.
    pub(super) fn of(environment: &[(String, String)]) -> Option<Self> {
        if !cfg!(feature = "faulty-driver") {
            return None;
        }
        let (_, named) = environment.iter().find(|(name, _)| name == VARIABLE)?;
        let mut all = Self::ALL.iter();
        all.find(|(name, _)| name == named).map(|(_, fault)| *fault)
    }
}
