//! The arguments that JavaScript gives: objects, whose fields have the names of the API.

use crate::errors::invalid_input;
use napi::ValueType;
use napi::bindgen_prelude::{BigInt, FromNapiValue, Object, Unknown};
use voice_calling::{
    AgentConfig, AgentText, BatchRequest, CallRequest, DocketRequest, DocketRequestV2, Error,
};

/// The fields of an object. `null` and `undefined` are as if there was no field.
pub struct Fields<'a> {
    object: Object<'a>,
    subject: String,
}

/// Describes a value for an error, without showing it: it may be secret.
pub fn type_of(value: &Unknown<'_>) -> &'static str {
    match value.get_type() {
        Ok(ValueType::Undefined | ValueType::Null) => "nothing",
        Ok(ValueType::Boolean) => "a boolean",
        Ok(ValueType::Number) => "a number",
        Ok(ValueType::String) => "text",
        Ok(ValueType::BigInt) => "a bigint",
        Ok(ValueType::Function) => "a function",
        _ => "an object",
    }
}

pub fn read<T: FromNapiValue>(value: Unknown<'_>) -> Result<T, Error> {
    T::from_unknown(value).map_err(|error| invalid_input("argument", error.reason.as_str(), "JSON"))
}

impl<'a> Fields<'a> {
    /// Reads an object that has only these fields.
    pub fn of(value: Unknown<'a>, subject: &str, known: &[&str]) -> Result<Self, Error> {
        if !matches!(value.get_type(), Ok(ValueType::Object)) {
            return Err(invalid_input(subject, type_of(&value), "an object"));
        }
        let object: Object<'a> = read(value)?;
        let names = Object::keys(&object).unwrap_or_default();
        let fields = Self {
            object,
            subject: subject.to_owned(),
        };
        match names.iter().find(|name| !known.contains(&name.as_str())) {
            Some(unknown) => {
                let allowed = known.join(", ");
                Err(invalid_input(
                    &fields.path(unknown),
                    "an unknown field",
                    &allowed,
                ))
            }
            None => Ok(fields),
        }
    }

    fn path(&self, name: &str) -> String {
        match self.subject.as_str() {
            "request" | "options" => name.to_owned(),
            subject => format!("{subject}.{name}"),
        }
    }

    pub fn get(&self, name: &str) -> Option<Unknown<'a>> {
        let value: Option<Unknown<'a>> = self.object.get(name).ok()?;
        value.filter(|it| !matches!(it.get_type(), Ok(ValueType::Undefined | ValueType::Null)))
    }

    fn of_type<T: FromNapiValue>(
        &self,
        name: &str,
        wanted: ValueType,
        allowed: &str,
    ) -> Result<Option<T>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(value) if value.get_type().is_ok_and(|it| it == wanted) => read(value).map(Some),
            Some(value) => Err(invalid_input(&self.path(name), type_of(&value), allowed)),
        }
    }

    pub fn text(&self, name: &str) -> Result<Option<String>, Error> {
        self.of_type(name, ValueType::String, "text")
    }

    fn required_text(&self, name: &str) -> Result<String, Error> {
        let text = self.text(name)?;
        text.ok_or_else(|| invalid_input(&self.path(name), "nothing", "text"))
    }

    pub fn boolean(&self, name: &str) -> Result<Option<bool>, Error> {
        self.of_type(name, ValueType::Boolean, "true or false")
    }

    /// Reads a number of 0 to `max`.
    pub fn number(&self, name: &str, max: u32) -> Result<Option<u32>, Error> {
        let allowed = format!("an integer, 0 to {max}");
        let number: Option<f64> = self.of_type(name, ValueType::Number, &allowed)?;
        match number {
            Some(number) if number.fract() != 0.0 || !(0.0..=f64::from(max)).contains(&number) => {
                Err(invalid_input(
                    &self.path(name),
                    number.to_string(),
                    &allowed,
                ))
            }
            _ => Ok(number.map(|number| number as u32)),
        }
    }

    /// Reads an integer: a number that is exact, a `bigint`, or its digits.
    fn integer(&self, name: &str) -> Result<Option<i64>, Error> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let (integer, found) = match value.get_type() {
            Ok(ValueType::Number) => {
                let number: f64 = read(value)?;
                let is_exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
                (is_exact.then_some(number as i64), number.to_string())
            }
            Ok(ValueType::BigInt) => {
                let (integer, is_exact) = read::<BigInt>(value)?.get_i64();
                (is_exact.then_some(integer), "a bigint".to_owned())
            }
            Ok(ValueType::String) => {
                let digits: String = read(value)?;
                (digits.parse().ok(), "text".to_owned())
            }
            _ => (None, type_of(&value).to_owned()),
        };
        let allowed = "an integer of 64 bits: a number up to 2^53, a bigint, or its digits";
        let integer = integer.ok_or_else(|| invalid_input(&self.path(name), found, allowed));
        integer.map(Some)
    }

    fn required_integer(&self, name: &str) -> Result<i64, Error> {
        let integer = self.integer(name)?;
        integer.ok_or_else(|| invalid_input(&self.path(name), "nothing", "an integer"))
    }

    fn agent_text(&self, name: &str) -> Result<Option<AgentText>, Error> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let fields = Fields::of(value, name, &["defaultText", "extra"])?;
        Ok(Some(AgentText {
            default_text: fields.required_text("defaultText")?,
            extra: fields.text("extra")?,
        }))
    }
}

pub fn agent(value: Unknown<'_>) -> Result<AgentConfig, Error> {
    let known = [
        "prompt",
        "agentName",
        "agentPhoneNumber",
        "voiceId",
        "version",
        "welcomeText",
        "tools",
        "enabled",
        "saveStats",
        "serverType",
        "callType",
        "createdAt",
        "updatedAt",
        "extra",
    ];
    let fields = Fields::of(value, "request", &known)?;
    Ok(AgentConfig {
        prompt: fields.agent_text("prompt")?,
        agent_name: fields.required_text("agentName")?,
        agent_phone_number: fields.text("agentPhoneNumber")?,
        voice_id: fields.text("voiceId")?,
        version: fields.integer("version")?,
        welcome_text: fields.agent_text("welcomeText")?,
        tools: fields.text("tools")?,
        enabled: fields.boolean("enabled")?,
        save_stats: fields.boolean("saveStats")?,
        server_type: fields.text("serverType")?,
        call_type: fields.text("callType")?,
        created_at: fields.text("createdAt")?,
        updated_at: fields.text("updatedAt")?,
        extra: fields.text("extra")?,
    })
}

pub fn call(value: Unknown<'_>) -> Result<CallRequest, Error> {
    let known = ["fromAgentName", "toPhoneNumber", "callContext", "extra"];
    let fields = Fields::of(value, "request", &known)?;
    let mut call_context = Vec::new();
    if let Some(value) = fields.get("callContext") {
        if !matches!(value.get_type(), Ok(ValueType::Object)) {
            let allowed = "an object of names and texts";
            return Err(invalid_input("callContext", type_of(&value), allowed));
        }
        let object: Object<'_> = read(value)?;
        for name in Object::keys(&object).unwrap_or_default() {
            let context = Fields {
                object,
                subject: "callContext".to_owned(),
            };
            call_context.push((name.clone(), context.required_text(&name)?));
        }
    }
    Ok(CallRequest {
        from_agent_name: fields.text("fromAgentName")?,
        to_phone_number: fields.required_text("toPhoneNumber")?,
        call_context,
        extra: fields.text("extra")?,
    })
}

pub fn docket(value: Unknown<'_>) -> Result<DocketRequest, Error> {
    let known = ["agentId", "toPhoneNumber", "callContext", "extra"];
    let fields = Fields::of(value, "request", &known)?;
    Ok(DocketRequest {
        agent_id: fields.required_integer("agentId")?,
        to_phone_number: fields.required_text("toPhoneNumber")?,
        call_context: fields.required_text("callContext")?,
        extra: fields.text("extra")?,
    })
}

/// The fields of a docket of a batch, and of one that is created alone without the key.
const DOCKET_V2: [&str; 6] = [
    "key",
    "agentId",
    "toPhoneNumber",
    "callContext",
    "externalId",
    "extra",
];

pub fn docket_v2(value: Unknown<'_>) -> Result<DocketRequestV2, Error> {
    docket_v2_of(&Fields::of(value, "request", &DOCKET_V2[1..])?)
}

/// Reads a request of a batch, whose key may be its external id.
pub fn batch_request(value: Unknown<'_>, key_is_external_id: bool) -> Result<BatchRequest, Error> {
    let fields = Fields::of(value, "request", &DOCKET_V2)?;
    let request = docket_v2_of(&fields)?;
    let external_id = request.external_id.clone().filter(|_| key_is_external_id);
    Ok(BatchRequest {
        key: fields.text("key")?.or(external_id),
        request,
    })
}

fn docket_v2_of(fields: &Fields<'_>) -> Result<DocketRequestV2, Error> {
    Ok(DocketRequestV2 {
        agent_id: fields.required_integer("agentId")?,
        to_phone_number: fields.required_text("toPhoneNumber")?,
        call_context: fields.required_text("callContext")?,
        external_id: fields.text("externalId")?,
        extra: fields.text("extra")?,
    })
}
