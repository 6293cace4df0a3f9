//! The crate's own network.

use crate::transport::{RequestBody, ResponseBody, Sending, Transport};
use std::time::Duration;
use voice_calling_core::{Delivery, Limits, SendError};
use voice_calling_net::Network;

impl Transport for Network<RequestBody> {
    fn send(&self, request: http::Request<RequestBody>, limits: Limits) -> Sending {
        let sending = Network::send(self, request, Duration::from_millis(limits.connect_ms));
        Box::pin(async {
            match sending.await {
                Ok(response) => Ok(response.map(ResponseBody::new)),
                Err(error) => {
                    let delivery = match error.is_unsent() {
                        true => Delivery::NotSent,
                        false => Delivery::Unknown,
                    };
                    Err(SendError::new(delivery, error.to_string()))
                }
            }
        })
    }
}
