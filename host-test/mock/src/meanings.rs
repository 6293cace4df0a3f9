//! The mock's interpretations of what the specification leaves open.

#[cfg(feature = "clap")]
use clap::{Args, ValueEnum};

/// What the mock makes of what the specification leaves open. Every value of every
/// field is invented; the defaults are the first ones. Each field is an option of the command.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(Args))]
pub struct Meanings {
    /// Details of a call that is not over.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub details_not_ready: DetailsNotReady,
    /// Details of an unknown task.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub unknown_task: UnknownTask,
    /// What holds the details of a call.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub details_shape: DetailsShape,
    /// Insights of an unanswered call.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub unanswered_insights: UnansweredInsights,
    /// Status of a version 2 docket that is not completed.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub v2_status: V2Status,
    /// Creation of a version 2 docket whose external id was seen before.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub repeated_external_id: RepeatedExternalId,
    /// Body of a 422.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub validation_body: ValidationBody,
    /// Fields that an open docket has no value for.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub open_docket_fields: OpenDocketFields,
    /// Fields that a new agent must have; the others need only be of the right type.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub agent_fields: AgentFields,
    /// Answer to the creation of an agent.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub created_agent: CreatedAgent,
    /// Whether a docket's call ids have details as task ids do.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub docket_calls: DocketCalls,
    /// Answer to a missing or wrong token.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub unauthorized: Unauthorized,
    /// Whether an unanswered docket is notified.
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub never_answered: NeverAnswered,
    /// Field of make_call that selects the agent by phone number; without it there is none.
    #[cfg_attr(feature = "clap", arg(long, value_name = "FIELD"))]
    pub agent_phone_field: Option<String>,
}

/// Details of a call that is not over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
pub enum UnknownTask {
    /// 404.
    #[default]
    NotFound,
    /// An empty array.
    EmptyArray,
}

/// What holds the details of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
pub enum DetailsShape {
    /// An array of one record, as specified.
    #[default]
    Array,
    /// The record itself.
    Object,
}

/// Insights of an unanswered call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
pub enum UnansweredInsights {
    /// Null.
    #[default]
    Null,
    /// Insights whose next action is `REDIAL`.
    Redial,
}

/// Status of a version 2 docket that is not completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
pub enum RepeatedExternalId {
    /// Another docket: nothing is recognised.
    #[default]
    NewDocket,
    /// The earlier docket, with `created: false`.
    SameDocket,
}

/// Body of a 422.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
pub enum OpenDocketFields {
    /// Null.
    #[default]
    Null,
    /// Left out.
    LeftOut,
}

/// Fields that a new agent must have; the others need only be of the right type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
pub enum AgentFields {
    /// Its name.
    #[default]
    Name,
    /// All of them but `tools`.
    All,
}

/// Answer to the creation of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
pub enum DocketCalls {
    /// They are not task ids.
    #[default]
    NotTasks,
    /// They are task ids.
    Tasks,
}

/// Answer to a missing or wrong token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
pub enum Unauthorized {
    /// 401.
    #[default]
    #[cfg_attr(feature = "clap", value(name = "401"))]
    Status401,
    /// 403.
    #[cfg_attr(feature = "clap", value(name = "403"))]
    Status403,
}

/// Whether an unanswered docket is notified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
pub enum NeverAnswered {
    /// It is, with `call_insights: null`.
    #[default]
    Notified,
    /// It is not; its `notification_status` is `SKIPPED`.
    Silent,
}
