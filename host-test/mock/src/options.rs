//! How the mock is set up: what it serves, how time passes, and what it makes of
//! everything that the specification leaves open.

use std::time::Duration;

use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::agent::Agent;
use super::call::Scripts;
use super::fault::FaultOrder;

/// Everything about a mock service; the default is a service on a random port whose
/// calls are placed by hand.
#[derive(Clone)]
pub struct Options {
    /// Port on 127.0.0.1; 0 picks a free one.
    pub port: u16,
    /// The only API token that is accepted.
    pub token: String,
    /// The only organization there is.
    pub organization_id: String,
    /// The agents there are from the beginning.
    pub agents: Vec<Agent>,
    /// How time passes.
    pub pace: Pace,
    /// Whether each attempt rings until `MockService::end_call` ends it, or
    /// `MockService::leave_call` leaves it to the script. The pace is the time between attempts.
    pub manual: bool,
    /// How calls end.
    pub scripts: Scripts,
    /// Where completions are sent to; none: nowhere.
    pub webhook: Option<WebhookOptions>,
    /// Faults ordered from the beginning.
    pub faults: Vec<FaultOrder>,
    /// Time between request and answer, everywhere.
    pub answer_delay: Duration,
    /// What the mock makes of what is not specified.
    pub meanings: Meanings,
    /// How many requests, deliveries and started numbers are kept for assertions, the newest of
    /// each; none: all of them, so that the mock grows with every request.
    pub kept_records: Option<usize>,
    /// How many dockets and direct calls that are over are known, the newest of both together, and
    /// how many agents besides the first; none: all of them. What is forgotten is unknown from then
    /// on, and a docket's external id is free again. What goes on is never forgotten.
    pub kept_state: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 0,
            token: "mock-token-0001".to_owned(),
            organization_id: "org-1".to_owned(),
            agents: vec![
                Agent::new(7, "renewals", "+911140000007"),
                Agent::new(8, "collections", "+911140000008"),
            ],
            pace: Pace::Manual,
            manual: false,
            scripts: Scripts::default(),
            webhook: None,
            faults: Vec::new(),
            answer_delay: Duration::ZERO,
            meanings: Meanings::default(),
            kept_records: None,
            kept_state: None,
        }
    }
}

/// When calls are placed and completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Only when `MockService::place_next_call` or `MockService::complete_task` says so.
    Manual,
    /// By themselves: this long after its creation or its previous attempt a docket's
    /// next attempt is made, and a direct call is over this long after its start.
    Every(Duration),
}

/// Where and how completions are delivered (specification, "Events").
#[derive(Clone, Debug)]
pub struct WebhookOptions {
    /// An `http` URL on a loopback host.
    pub url: String,
    /// How often each notification is sent, one after the other: 1, or more for
    /// receivers that must bear duplicates.
    pub copies: u32,
    /// Time between the last call and the notification: a late webhook.
    pub delay: Duration,
    /// Whether the docket is seen completed before or after its notification.
    pub order: NotificationOrder,
    /// Whether each call is notified too, in an invented shape: the specification only
    /// mentions that call-level webhooks exist.
    pub call_events: bool,
}

impl WebhookOptions {
    /// One notification per docket, at once, to `url`.
    pub fn to(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            copies: 1,
            delay: Duration::ZERO,
            order: NotificationOrder::default(),
            call_events: false,
        }
    }
}

/// Which comes first: the notification or the COMPLETED in a fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotificationOrder {
    /// A receiver that fetches the docket finds it completed.
    #[default]
    AfterCompletion,
    /// The docket is seen completed only once the receiver has answered.
    BeforeCompletion,
}

/// What the mock makes of what the specification leaves open. Every value of every
/// field is invented; the defaults are the first ones.
#[derive(Clone, Debug, Default)]
pub struct Meanings {
    /// Details of a call that is not over.
    pub details_not_ready: DetailsNotReady,
    /// Details of an unknown task.
    pub unknown_task: UnknownTask,
    /// What holds the details of a call.
    pub details_shape: DetailsShape,
    /// Insights of an unanswered call.
    pub unanswered_insights: UnansweredInsights,
    /// Status of a version 2 docket that is not completed.
    pub v2_status: V2Status,
    /// Creation of a version 2 docket whose external id was seen before.
    pub repeated_external_id: RepeatedExternalId,
    /// Body of a 422.
    pub validation_body: ValidationBody,
    /// Fields that an open docket has no value for.
    pub open_docket_fields: OpenDocketFields,
    /// Fields that a new agent must have.
    pub agent_fields: AgentFields,
    /// Answer to the creation of an agent.
    pub created_agent: CreatedAgent,
    /// Whether a docket's call ids have details as task ids do.
    pub docket_calls: DocketCalls,
    /// Answer to a missing or wrong token.
    pub unauthorized: Unauthorized,
    /// Whether an unanswered docket is notified.
    pub never_answered: NeverAnswered,
    /// Field of make_call that selects the agent by phone number; without it there is none.
    pub agent_phone_field: Option<String>,
}

/// What a field of [`Meanings`] may be. Each value has a name, which is its own in kebab-case, and
/// documentation, for those who let others choose.
macro_rules! choices {
    ($($(#[doc = $docs:literal])+ pub enum $name:ident { $($values:tt)+ })+) => {$(
        $(#[doc = $docs])+
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq,
            Display, EnumMessage, EnumString, IntoStaticStr, VariantArray,
        )]
        #[strum(serialize_all = "kebab-case")]
        pub enum $name { $($values)+ }
    )+};
}

choices! {
    /// Details of a call that is not over.
    pub enum DetailsNotReady {
        /// 404.
        #[default]
        NotFound,
        /// An empty array.
        EmptyArray,
        /// A record whose status is `IN_PROGRESS` and whose insights are null.
        NoInsights,
    }

    /// Details of an unknown task.
    pub enum UnknownTask {
        /// 404.
        #[default]
        NotFound,
        /// An empty array.
        EmptyArray,
    }

    /// What holds the details of a call.
    pub enum DetailsShape {
        /// An array of one record, as specified.
        #[default]
        Array,
        /// The record itself.
        Object,
    }

    /// Insights of an unanswered call.
    pub enum UnansweredInsights {
        /// Null.
        #[default]
        Null,
        /// Insights whose next action is `REDIAL`.
        Redial,
    }

    /// Status of a version 2 docket that is not completed.
    pub enum V2Status {
        /// `OPEN` until the first call, `IN_PROGRESS` after it.
        #[default]
        OpenUntilCalled,
        /// `IN_PROGRESS` in every fetch.
        InProgress,
        /// `OPEN` until it is completed.
        OpenUntilClosed,
    }

    /// Creation of a version 2 docket whose external id was seen before.
    pub enum RepeatedExternalId {
        /// Another docket: nothing is recognised.
        #[default]
        NewDocket,
        /// The earlier docket, with `created: false`.
        SameDocket,
    }

    /// Body of a 422.
    pub enum ValidationBody {
        /// FastAPI's list of problems under `detail`.
        #[default]
        List,
        /// One text under `detail`.
        Text,
        /// Nothing.
        Empty,
    }

    /// Fields that an open docket has no value for.
    pub enum OpenDocketFields {
        /// Null.
        #[default]
        Null,
        /// Left out.
        LeftOut,
    }

    /// Fields that a new agent must have; the others need only be of the right type.
    pub enum AgentFields {
        /// Its name.
        #[default]
        Name,
        /// All of them but `tools`.
        All,
    }

    /// Answer to the creation of an agent.
    pub enum CreatedAgent {
        /// 200 with `{"agent_id": n}`.
        #[default]
        Id,
        /// 200 with the configuration that was sent, `agent_id` put in front.
        Configuration,
        /// 200 without a body.
        Empty,
        /// 204.
        NoContent,
    }

    /// Whether a docket's call ids have details as task ids do.
    pub enum DocketCalls {
        /// They are not task ids.
        #[default]
        NotTasks,
        /// They are task ids.
        Tasks,
    }

    /// Answer to a missing or wrong token.
    pub enum Unauthorized {
        /// 401.
        #[default]
        #[strum(serialize = "401")]
        Status401,
        /// 403.
        #[strum(serialize = "403")]
        Status403,
    }

    /// Whether an unanswered docket is notified.
    pub enum NeverAnswered {
        /// It is, with `call_insights: null`.
        #[default]
        Notified,
        /// It is not; its `notification_status` is `SKIPPED`.
        Silent,
    }
}
