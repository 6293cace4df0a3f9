//! The bindings of the component's WIT world.

wit_bindgen::generate!({ path: "../../wit", world: "consumer", generate_all });
