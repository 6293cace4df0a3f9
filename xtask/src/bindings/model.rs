//! The WIT package as plain data, for those who write it down in another language.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use wit_parser::{
    Docs, Function as WitFunction, Handle, Resolve, Type as WitType, TypeDef, TypeDefKind,
    WorldItem,
};

/// What the world `plugin` exports.
pub struct Package {
    /// In the order of the world.
    pub interfaces: Vec<Interface>,
    /// The types of all interfaces in the order of the WIT, each after those that it is made of,
    /// save `json`, which is `Type::Json`.
    pub types: Vec<Definition>,
}

/// An interface, such as `dockets`.
pub struct Interface {
    pub name: String,
    pub docs: String,
    pub functions: Vec<Function>,
}

/// A function; all of them return `result<ok, request-error>`.
pub struct Function {
    /// As in the WIT: `create-docket-v2`.
    pub name: String,
    pub docs: String,
    pub parameters: Vec<Field>,
    pub ok: Type,
}

/// A field of a record, or a parameter.
pub struct Field {
    pub name: String,
    pub docs: String,
    pub ty: Type,
}

/// A named type.
pub struct Definition {
    pub name: String,
    pub docs: String,
    pub shape: Shape,
}

/// What a named type is made of.
pub enum Shape {
    Record(Vec<Field>),
    Variant(Vec<Case>),
}

/// A case of a variant.
pub struct Case {
    pub name: String,
    pub docs: String,
    pub payload: Option<Type>,
}

/// A type where it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Bool,
    U8,
    U16,
    U32,
    U64,
    S64,
    F64,
    String,
    /// Text that holds one JSON value.
    Json,
    Named(String),
    Option(Box<Type>),
    List(Box<Type>),
    Tuple(Vec<Type>),
    Result(Box<Type>, Box<Type>),
}

impl Package {
    /// Reads the package in `folder`. What it has that no binding supports is an error.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut resolve = Resolve::default();
        let (id, _) = resolve.push_dir(folder)?;
        let package = &resolve.packages[id];
        let world = package.worlds.get("plugin");
        let world = &resolve.worlds[*world.context("the package has no world `plugin`")?];
        let interfaces = world.exports.values().map(|item| match item {
            WorldItem::Interface { id, .. } => interface(&resolve, &resolve.interfaces[*id]),
            _ => bail!("the world exports something that is not an interface"),
        });
        let mut types = Vec::new();
        for id in package.interfaces.values() {
            for definition in resolve.interfaces[*id].types.values() {
                types.extend(definition_of(&resolve, &resolve.types[*definition])?);
            }
        }
        Ok(Self {
            interfaces: interfaces.collect::<Result<_>>()?,
            types: in_order_of_use(types)?,
        })
    }

    /// The definition of a named type.
    pub fn definition(&self, name: &str) -> Result<&Definition> {
        let found = self.types.iter().find(|ty| ty.name == name);
        found.with_context(|| format!("no type `{name}`"))
    }

    /// The fields of the record of this name.
    pub fn record(&self, name: &str) -> Result<&[Field]> {
        match &self.definition(name)?.shape {
            Shape::Record(fields) => Ok(fields),
            Shape::Variant(_) => bail!("`{name}` is not a record"),
        }
    }

    /// The cases of the variant of this name.
    pub fn variant(&self, name: &str) -> Result<&[Case]> {
        match &self.definition(name)?.shape {
            Shape::Variant(cases) => Ok(cases),
            Shape::Record(_) => bail!("`{name}` is not a variant"),
        }
    }
}

impl Function {
    /// Whether it makes a phone ring, or creates something else of which nobody knows when its
    /// answer is lost: it ends in `permanent-outcome-unknown` then.
    pub fn is_creating(&self) -> bool {
        ["create-", "make-"]
            .iter()
            .any(|verb| self.name.starts_with(verb))
    }
}

impl Type {
    /// The type, without the option around it.
    pub fn required(&self) -> &Self {
        match self {
            Self::Option(inner) => inner,
            ty => ty,
        }
    }

    pub fn is_option(&self) -> bool {
        matches!(self, Self::Option(_))
    }

    /// The named type in it, if there is one.
    fn named(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Option(inner) | Self::List(inner) => inner.named(),
            Self::Result(ok, _) => ok.named(),
            _ => None,
        }
    }
}

fn interface(resolve: &Resolve, interface: &wit_parser::Interface) -> Result<Interface> {
    let name = interface.name.clone().context("an interface has no name")?;
    let functions = interface.functions.values();
    let functions = functions.map(|declared| {
        function(resolve, declared).with_context(|| format!("{name}.{}", declared.name))
    });
    Ok(Interface {
        docs: docs(&interface.docs),
        functions: functions.collect::<Result<_>>()?,
        name,
    })
}

fn function(resolve: &Resolve, function: &WitFunction) -> Result<Function> {
    let parameter = |parameter: &wit_parser::Param| {
        Ok(Field {
            name: parameter.name.clone(),
            docs: String::new(),
            ty: ty(resolve, &parameter.ty)?,
        })
    };
    let result = function.result.as_ref().context("it returns nothing")?;
    let Type::Result(ok, error) = ty(resolve, result)? else {
        bail!("it does not return a result");
    };
    ensure!(
        *error == Type::Named("request-error".into()),
        "its error is not request-error"
    );
    Ok(Function {
        name: function.name.clone(),
        docs: docs(&function.docs),
        parameters: function
            .params
            .iter()
            .map(parameter)
            .collect::<Result<_>>()?,
        ok: *ok,
    })
}

/// None for `json`, and for what an interface only uses.
fn definition_of(resolve: &Resolve, definition: &TypeDef) -> Result<Option<Definition>> {
    let name = definition.name.clone().context("a type has no name")?;
    let shape = match &definition.kind {
        TypeDefKind::Record(record) => {
            let field = |field: &wit_parser::Field| {
                Ok(Field {
                    name: field.name.clone(),
                    docs: docs(&field.docs),
                    ty: ty(resolve, &field.ty).with_context(|| format!("{name}.{}", field.name))?,
                })
            };
            Shape::Record(record.fields.iter().map(field).collect::<Result<_>>()?)
        }
        TypeDefKind::Variant(variant) => {
            let case = |case: &wit_parser::Case| {
                let payload = case.ty.as_ref().map(|payload| ty(resolve, payload));
                Ok(Case {
                    name: case.name.clone(),
                    docs: docs(&case.docs),
                    payload: payload.transpose()?,
                })
            };
            Shape::Variant(variant.cases.iter().map(case).collect::<Result<_>>()?)
        }
        TypeDefKind::Type(_) => return Ok(None),
        kind => bail!("{name}: no binding supports a {} yet", kind.as_str()),
    };
    Ok(Some(Definition {
        docs: docs(&definition.docs),
        name,
        shape,
    }))
}

fn ty(resolve: &Resolve, used: &WitType) -> Result<Type> {
    let boxed = |used| Ok::<_, anyhow::Error>(Box::new(ty(resolve, used)?));
    Ok(match used {
        WitType::Bool => Type::Bool,
        WitType::U8 => Type::U8,
        WitType::U16 => Type::U16,
        WitType::U32 => Type::U32,
        WitType::U64 => Type::U64,
        WitType::S64 => Type::S64,
        WitType::F64 => Type::F64,
        WitType::String => Type::String,
        WitType::Id(id) => {
            let definition = &resolve.types[*id];
            match (&definition.kind, definition.name.as_deref()) {
                (TypeDefKind::Type(WitType::String), Some("json")) => Type::Json,
                (TypeDefKind::Type(aliased), _) => ty(resolve, aliased)?,
                (TypeDefKind::Record(_) | TypeDefKind::Variant(_), Some(name)) => {
                    Type::Named(name.into())
                }
                (TypeDefKind::Option(inner), _) => Type::Option(boxed(inner)?),
                (TypeDefKind::List(element), _) => Type::List(boxed(element)?),
                (TypeDefKind::Tuple(tuple), _) => {
                    let parts = tuple.types.iter().map(|part| ty(resolve, part));
                    Type::Tuple(parts.collect::<Result<_>>()?)
                }
                (TypeDefKind::Result(result), _) => match (&result.ok, &result.err) {
                    (Some(ok), Some(error)) => Type::Result(boxed(ok)?, boxed(error)?),
                    _ => bail!("no binding supports a result without a value or error"),
                },
                (TypeDefKind::Handle(Handle::Own(_) | Handle::Borrow(_)), _) => {
                    bail!("the package has no resources, since engines refuse them")
                }
                (kind, _) => bail!("no binding supports a {} yet", kind.as_str()),
            }
        }
        other => bail!("no binding supports {other:?} yet"),
    })
}

/// What a `///` says. A `// ---- heading` above it is a part of it to the parser, not to readers.
fn docs(docs: &Docs) -> String {
    let lines = docs.contents.as_deref().unwrap_or_default().lines();
    lines
        .filter(|line| !line.trim_start().starts_with("----"))
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned()
}

/// Each type after those that it is made of; otherwise the order stays.
fn in_order_of_use(types: Vec<Definition>) -> Result<Vec<Definition>> {
    let mut waiting = types;
    let mut ordered: Vec<Definition> = Vec::new();
    while !waiting.is_empty() {
        let known = |name: &str| ordered.iter().any(|ty| ty.name == name);
        let next = waiting.iter().position(|ty| parts(ty).all(known));
        let next = next.context("the types refer to each other in a circle")?;
        let next = waiting.remove(next);
        ordered.push(next);
    }
    Ok(ordered)
}

fn parts(definition: &Definition) -> impl Iterator<Item = &str> {
    let (fields, cases): (&[Field], &[Case]) = match &definition.shape {
        Shape::Record(fields) => (fields, &[]),
        Shape::Variant(cases) => (&[], cases),
    };
    let payloads = cases.iter().filter_map(|case| case.payload.as_ref());
    let used = fields.iter().map(|field| &field.ty).chain(payloads);
    used.filter_map(Type::named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package() -> Package {
        Package::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")).unwrap()
    }

    #[test]
    fn functions_come_with_their_types_and_docs() {
        let package = package();
        let names: Vec<_> = package.interfaces.iter().map(|i| i.name.as_str()).collect();
        assert_eq!(names, ["agents", "calls", "dockets", "bulk", "webhooks"]);
        let dockets = &package.interfaces[2];
        assert!(dockets.docs.starts_with("Dockets: business tasks"));
        let create = &dockets.functions[1];
        assert_eq!(create.name, "create-docket-v2");
        assert!(create.docs.starts_with("Makes a phone ring"));
        let request = package.definition("call-request").unwrap();
        assert!(request.docs.starts_with("A call to be made."));
        assert_eq!(
            create.parameters[0].ty,
            Type::Named("docket-request-v2".into())
        );
        assert_eq!(create.ok, Type::Named("created-docket-v2".into()));
    }

    #[test]
    fn a_type_comes_after_those_that_it_is_made_of() {
        let types = package().types;
        let at = |name| types.iter().position(|ty| ty.name == name).unwrap();
        assert!(at("failure") < at("request-error"));
        assert!(at("call-insights") < at("call-details"));
        assert!(!types.iter().any(|ty| ty.name == "json"));
    }

    #[test]
    fn the_functions_that_create_are_known() {
        let package = package();
        let functions = package.interfaces.iter().flat_map(|i| &i.functions);
        let creating: Vec<_> = functions
            .filter(|function| function.is_creating())
            .map(|function| function.name.as_str())
            .collect();
        assert_eq!(
            creating,
            [
                "create-agent",
                "make-call",
                "create-docket",
                "create-docket-v2",
                "create-dockets-v2"
            ]
        );
    }

    #[test]
    fn text_that_holds_json_is_told_from_text() {
        let package = package();
        let fields = package.record("docket-request-v2").unwrap();
        assert_eq!(fields[1].ty, Type::String);
        assert_eq!(fields[2].ty, Type::Json);
        assert_eq!(fields[4].ty, Type::Option(Box::new(Type::Json)));
    }
}
