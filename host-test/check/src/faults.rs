//! Every error code of wasi:http, at every moment.

use super::scenario::{Scenario, Turn};
use crate::error_codes::{all, name};
use crate::operation::Operation;
use crate::script::{Piece, Step};
use strum::{Display, VariantArray};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, VariantArray)]
enum Moment {
    #[strum(to_string = "Before the request is taken")]
    BeforeTaken,
    #[strum(to_string = "After the request, instead of an answer")]
    NoHead,
    #[strum(to_string = "After the head of a 200, instead of its body")]
    NoBody,
    #[strum(to_string = "In the middle of the body of a 200")]
    MidBody,
}

impl Moment {
    fn turn(self, code: ErrorCode, operation: Operation) -> Turn {
        let broken = |begun: &str| {
            let begun = Piece::Bytes(begun.as_bytes().to_vec().into());
            Step::status(200).pieces([begun, Piece::Break(code.clone())])
        };
        let step = match self {
            Moment::BeforeTaken => Step::fail(code).before_reading(),
            Moment::NoHead => Step::fail(code),
            Moment::NoBody => broken(""),
            Moment::MidBody => broken(&operation.satisfying()[..1]),
        };
        step.into()
    }
}

/// Returns the scenarios of an operation: each code at each moment.
pub(crate) fn scenarios(operation: Operation) -> Vec<Scenario> {
    let of_moment = |moment: &Moment| {
        let moment = *moment;
        let codes = all().into_iter();
        codes.map(move |code| scenario(moment, code, operation))
    };
    Moment::VARIANTS.iter().flat_map(of_moment).collect()
}

fn scenario(moment: Moment, code: ErrorCode, operation: Operation) -> Scenario {
    let name = format!("{moment}: {}", name(&code));
    let mut scenario = Scenario::new(name, operation, [moment.turn(code, operation)]);
    // Time for one attempt of one poll of a wait.
    scenario.arguments.timeout_ms = 2_000;
    scenario
}
