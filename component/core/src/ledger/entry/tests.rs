use super::*;
use crate::simulation::{DOCKET_ID, rows};

const NOW_MS: u64 = 784_111_777_000;
const TODAY: u64 = NOW_MS / 86_400_000;
const LASTS_MS: u64 = 90_000;

fn digests(number: &str) -> Digests {
    [("agent_id", "seven"), ("to_phone_number", number)]
        .map(|(name, digest)| (name.to_owned(), digest.to_owned()))
        .into()
}

/// Returns the entry that a word describes: its state, and for one that is done by whom.
fn entry(word: &str) -> Option<Entry> {
    let entry = Entry {
        function: "dockets.create-docket-v2".to_owned(),
        digests: digests("ann"),
        state: State::Begun,
        claim: "first".to_owned(),
        begun_ms: NOW_MS - 1_000,
        claim_ends_ms: NOW_MS + 1,
        ended_ms: None,
        answer: None,
        message: None,
        resolved_by: None,
    };
    let done = |by: Option<&str>| Entry {
        state: State::Done,
        answer: Some(r#"{"docket_id":"of-the-entry"}"#.to_owned()),
        resolved_by: by.map(str::to_owned),
        ..entry.clone()
    };
    Some(match word {
        "none" => return None,
        "begun" => entry,
        "ended" => Entry {
            claim_ends_ms: NOW_MS,
            ..entry
        },
        "unknown" | "free" => Entry {
            state: State::of_name(word),
            ..entry
        },
        "done" => done(None),
        "done-by-docket" => done(Some("docket")),
        "done-by-person" => done(Some("Ann")),
        "call" => Entry {
            function: "calls.make-call".to_owned(),
            state: State::Unknown,
            ..entry
        },
        other => panic!("{other}"),
    })
}

fn outcome(state: State) -> Outcome {
    Outcome {
        state,
        answer: (state == State::Done).then(|| r#"{"docket_id":"of-the-answer"}"#.to_owned()),
        message: (state != State::Done).then(|| "a reason".to_owned()),
    }
}

fn docket(created_day: Option<u64>) -> ObservedDocket {
    ObservedDocket {
        keys: vec!["k".to_owned()],
        docket_id: DOCKET_ID.to_owned(),
        to_phone_number: "ann".to_owned(),
        created_day,
    }
}

/// Lets what a word describes happen to an entry.
fn happens(entry: Option<Entry>, event: &str) -> (Option<Entry>, Reply) {
    let observe = |docket: &ObservedDocket, to_phone_number, is_of_another_key| {
        let event = Event::Observe {
            docket,
            to_phone_number,
            is_of_another_key,
        };
        transition(entry.clone(), event, NOW_MS)
    };
    let record = |claim, state| {
        let outcome = &outcome(state);
        transition(entry.clone(), Event::Record { claim, outcome }, NOW_MS)
    };
    match event {
        "claim" => {
            let event = Event::Claim {
                function: "dockets.create-docket-v2",
                digests: &digests("bob"),
                claim: "second",
                lasts_ms: LASTS_MS,
            };
            transition(entry, event, NOW_MS)
        }
        "record-done" => record("first", State::Done),
        "record-unknown" => record("first", State::Unknown),
        "record-free" => record("first", State::Free),
        "record-of-another-claim" => record("other", State::Done),
        "observe" => observe(&docket(Some(TODAY)), "ann", false),
        "observe-of-yesterday" => observe(&docket(Some(TODAY - 1)), "ann", false),
        "observe-older" => observe(&docket(Some(TODAY - 2)), "ann", false),
        "observe-without-a-day" => observe(&docket(None), "ann", false),
        "observe-another-number" => observe(&docket(Some(TODAY)), "bob", false),
        "observe-of-another-key" => observe(&docket(Some(TODAY)), "ann", true),
        "resolve" | "resolve-no-id" | "resolve-by-no-one" => {
            let event = Event::Resolve {
                created_id: if event == "resolve-no-id" {
                    "7"
                } else {
                    DOCKET_ID
                },
                by: if event == "resolve-by-no-one" {
                    ""
                } else {
                    "Ann"
                },
            };
            transition(entry, event, NOW_MS)
        }
        "release" => transition(entry, Event::Release { by: "Ann" }, NOW_MS),
        "release-by-no-one" => transition(entry, Event::Release { by: "" }, NOW_MS),
        other => panic!("{other}"),
    }
}

/// Returns the name of a reply, with the subject of its problem or the state that was found.
fn name_of(reply: &Reply) -> String {
    match reply {
        Reply::Taken => "taken".to_owned(),
        Reply::Found(found) => format!("found-{}", found.state.name()),
        Reply::Recorded => "recorded".to_owned(),
        Reply::Ignored => "ignored".to_owned(),
        Reply::Refused(problem) => format!("refused-{}", problem.subject),
    }
}

/// An entry and what happens to it; the reply; and the state afterwards, with whose answer it has.
const TRANSITIONS: &str = "
    none           | claim                   | taken         | begun
    free           | claim                   | taken         | begun
    begun          | claim                   | found-begun   | =
    ended          | claim                   | found-unknown | =
    unknown        | claim                   | found-unknown | =
    done           | claim                   | found-done    | =

    begun          | record-done             | recorded      | done of-the-answer
    begun          | record-unknown          | recorded      | unknown
    begun          | record-free             | recorded      | free
    begun          | record-of-another-claim | ignored       | =
    none           | record-done             | ignored       | =
    ended          | record-done             | recorded      | done of-the-answer
    unknown        | record-done             | recorded      | done of-the-answer
    unknown        | record-free             | recorded      | free
    unknown        | record-of-another-claim | ignored       | =
    free           | record-done             | recorded      | done of-the-answer
    free           | record-unknown          | ignored       | =
    done           | record-done             | ignored       | =
    done           | record-unknown          | ignored       | =
    done           | record-free             | ignored       | =
    done-by-docket | record-done             | recorded      | done of-the-answer
    done-by-docket | record-unknown          | ignored       | =
    done-by-person | record-done             | ignored       | =

    unknown        | observe                 | recorded      | done the-docket
    ended          | observe                 | recorded      | done the-docket
    unknown        | observe-of-yesterday    | recorded      | done the-docket
    unknown        | observe-older           | ignored       | =
    unknown        | observe-without-a-day   | ignored       | =
    unknown        | observe-another-number  | ignored       | =
    unknown        | observe-of-another-key  | ignored       | =
    call           | observe                 | ignored       | =
    begun          | observe                 | ignored       | =
    free           | observe                 | ignored       | =
    done           | observe                 | ignored       | =
    none           | observe                 | ignored       | =

    unknown        | resolve                 | recorded      | done the-docket
    ended          | resolve                 | recorded      | done the-docket
    unknown        | resolve-no-id           | refused-created-id | =
    unknown        | resolve-by-no-one       | refused-by    | =
    begun          | resolve                 | refused-key   | =
    done           | resolve                 | refused-key   | =
    free           | resolve                 | refused-key   | =
    none           | resolve                 | refused-key   | =
    unknown        | release                 | recorded      | free
    ended          | release                 | recorded      | free
    unknown        | release-by-no-one       | refused-by    | =
    begun          | release                 | refused-key   | =
    done           | release                 | refused-key   | =
    none           | release                 | refused-key   | =";

#[test]
fn each_event_changes_an_entry_as_the_table_says() {
    for [before, event, reply, after] in rows(TRANSITIONS) {
        let (found, replied) = happens(entry(before), event);
        assert_eq!(name_of(&replied), reply, "{before} {event}");
        assert_eq!(replied.is_change(), after != "=", "{before} {event}");
        if after == "=" {
            assert_eq!(found, entry(before), "{before} {event}");
            continue;
        }
        let found = found.expect("an entry");
        let id = found.created_id();
        let answer = match id.as_deref() {
            Some(DOCKET_ID) => " the-docket".to_owned(),
            Some(id) => format!(" {id}"),
            None => String::new(),
        };
        assert_eq!(
            format!("{}{answer}", found.state.name()),
            after,
            "{before} {event}"
        );
    }
}

#[test]
fn a_claim_that_is_taken_is_in_progress_until_its_end_and_unknown_afterwards() {
    let begun = happens(entry("free"), "claim").0.unwrap();
    assert_eq!((begun.claim.as_str(), begun.begun_ms), ("second", NOW_MS));
    for (now_ms, state) in [
        (0, State::Begun),
        (NOW_MS + LASTS_MS - 1, State::Begun),
        (NOW_MS + LASTS_MS, State::Unknown),
        (u64::MAX, State::Unknown),
    ] {
        assert_eq!(begun.state_at(now_ms), state, "{now_ms}");
    }
}

#[test]
fn a_clock_that_jumps_lets_no_claim_take_a_key_that_is_not_free() {
    for word in ["begun", "ended", "unknown", "done", "done-by-person", "call"] {
        for now_ms in [0, NOW_MS - 86_400_000, NOW_MS, NOW_MS + 1, u64::MAX] {
            let event = Event::Claim {
                function: "dockets.create-docket-v2",
                digests: &digests("ann"),
                claim: "second",
                lasts_ms: LASTS_MS,
            };
            let (found, reply) = transition(entry(word), event, now_ms);
            assert!(matches!(reply, Reply::Found(_)), "{word} {now_ms}");
            assert_eq!(found, entry(word), "{word} {now_ms}");
        }
    }
}

#[test]
fn a_claim_that_finds_an_entry_learns_the_first_argument_that_differs() {
    let find = |digests: &Digests| {
        let event = Event::Claim {
            function: "dockets.create-docket-v2",
            digests,
            claim: "second",
            lasts_ms: LASTS_MS,
        };
        match transition(entry("done"), event, NOW_MS).1 {
            Reply::Found(found) => found.differs_in,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(find(&digests("ann")), None);
    assert_eq!(find(&digests("bob")).as_deref(), Some("to_phone_number"));
    let mut fewer = digests("ann");
    fewer.remove("agent_id");
    assert_eq!(find(&fewer).as_deref(), Some("agent_id"));
    let mut more = digests("ann");
    more.insert("external_id".to_owned(), "crm-1".to_owned());
    assert_eq!(find(&more).as_deref(), Some("external_id"));
}
