//! A knob that is a metric of a route: how TCP starts on connections that use the route.

use std::fmt;
use std::io;

use super::place::{Place, absent_as_not_found, small, typed};
use super::{DeviceName, RouteMetric};
use crate::levers::value::{Form, Value};
use crate::routes::{self, Route, RouteKey};
use crate::rtnetlink;
use crate::tree::Tree;

/// A metric of one route through one device.
pub(super) struct OfRoute<'k> {
    pub(super) device: &'k DeviceName,
    pub(super) route: RouteKey,
    pub(super) metric: RouteMetric,
}

impl Place for OfRoute<'_> {
    fn form(&self) -> Form {
        Form::Number
    }

    fn read(&self, _: &Tree) -> io::Result<Value> {
        let number = self.find()?.metric(self.metric.attribute);
        Ok(Value::Number(number.into()))
    }

    fn write(&self, _: &Tree, value: &Value) -> io::Result<()> {
        let route = self.find()?;
        route
            .with_metric(self.metric.attribute, small(value)?)
            .replace()
    }

    fn command(&self, value: &Value) -> String {
        let device = typed(self.device);
        let changed = self.find().and_then(|route| {
            let changed = route.with_metric(self.metric.attribute, small(value)?);
            Ok(changed.words(&device))
        });
        let words = changed.unwrap_or_else(|_| format!("{} dev {device}", self.route));
        format!("ip route change {words}")
    }
}

impl OfRoute<'_> {
    /// The only route with this key, if it leads through our device alone. Where there are several,
    /// the kernel would replace the first, which may be one that leads nowhere.
    fn find(&self) -> io::Result<Route> {
        let device = rtnetlink::index_of(self.device.as_str()).map_err(absent_as_not_found)?;
        let mut routes = routes::list()?;
        routes.retain(|route| route.key() == self.route);
        let several = |words: String| io::Error::new(io::ErrorKind::InvalidData, words);
        if routes.len() > 1 {
            return Err(several(
                "there are several routes with the same key".to_owned(),
            ));
        }
        let route = routes.pop().filter(|route| route.leads_through(device));
        let route = route.ok_or(io::ErrorKind::NotFound)?;
        route.obstacle().map_or(Ok(route), |why| Err(several(why)))
    }
}

impl fmt::Display for OfRoute<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (metric, key) = (self.metric.word(), self.route);
        write!(out, "{metric} of the route {key} of {}", self.device)
    }
}
