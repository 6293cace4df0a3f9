// The mock as a telephone. What came from outside goes into the page as text only: by textContent,
// never as HTML.

const $ = (id) => document.getElementById(id);
const token = document.querySelector("meta[name=token]").content;

/** What the mock said so far. */
const mock = {
  run: null,
  sequence: 0,
  manual: false,
  baseUrl: "",
  counts: { dockets: 0, forgotten: 0, requests: 0, forgotten_requests: 0 },
  entries: new Map(),
  requests: new Map(),
  orders: [],
  deliveryOrders: [],
};

// Words -----------------------------------------------------------------------------------------

const time = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
const clock = new Intl.DateTimeFormat("en-GB", time);
const fineClock = new Intl.DateTimeFormat("en-GB", { ...time, fractionalSecondDigits: 3 });
const number = (n) => n.toLocaleString("en-US");
const word = (status) => status.toLowerCase().replaceAll("_", " ");
const shown = (count, all, forgotten) =>
  (count === all ? number(all) : `${number(count)} of ${number(all)}`) +
  (forgotten > 0 ? `, ${number(forgotten)} older ones forgotten` : "");
const elapsed = (ms) => {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
};

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON on several lines, with every digit and key as it came; other text as it is. */
function indented(text) {
  if (!isJson(text)) return text;
  let depth = 0;
  const line = (step) => "\n" + "  ".repeat((depth += step));
  return text.replace(/"(?:\\.|[^"\\])*"|\s+|\{\s*\}|\[\s*\]|[{}[\],:]/g, (part) => {
    if (part[0] === '"') return part;
    if (part === "{" || part === "[") return part + line(1);
    if (part === "}" || part === "]") return line(-1) + part;
    if (part === ",") return part + line(0);
    if (part === ":") return ": ";
    return part.replace(/\s/g, "");
  });
}

/** The members of a context with their values as text; none if it is not a whole object. */
function members(context) {
  try {
    // A browser that does not say how a number was written gets the whole text shown instead.
    const asWritten = (_, value, source) => (typeof value === "number" ? source.source : value);
    const object = JSON.parse(context, asWritten);
    if (object === null || typeof object !== "object" || Array.isArray(object)) return null;
    const text = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
    return Object.entries(object).map(([name, value]) => [name, text(value)]);
  } catch {
    return null;
  }
}

// Elements --------------------------------------------------------------------------------------

const put = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};
const make = (tag, text, className) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
};
const copyOf = (template) => $(template).content.firstElementChild.cloneNode(true);
const tag = (element, text, kind) => {
  put(element, text);
  element.dataset.kind = kind;
};
const pageOf = (id) => `/dockets/${encodeURIComponent(id)}`;
const docketLink = (id, text) => Object.assign(make("a", text), { href: pageOf(id) });
const alarm = (element, text) => {
  element.hidden = !text;
  put(element, text ?? "");
};

/** Sends an order to the mock. Gives what went wrong, or null. */
async function post(path, body = "{}") {
  try {
    const headers = { "content-type": "application/json", "x-page-token": token };
    const answer = await fetch(path, { method: "POST", headers, body });
    if (answer.ok) return null;
    if (answer.status === 409) return "This attempt does not ring any more.";
    const text = await answer.text();
    try {
      return JSON.parse(text).error ?? text;
    } catch {
      return `The mock answered ${answer.status}. ${text}`;
    }
  } catch {
    return "The mock does not answer.";
  }
}

const dataOf = (id) => `/entries/${encodeURIComponent(id)}`;

async function read(path) {
  const answer = await fetch(path);
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}`);
  return answer.json();
}

// Tables ----------------------------------------------------------------------------------------

/** A list shows this many; its filter finds the others. */
const MOST_ROWS = 500;

/** A table in which an item keeps its row, and with it the focus, while newer ones come above it. */
class Table {
  constructor(table, template, keyOf, fill) {
    Object.assign(this, { table, template, keyOf, fill, rows: new Map() });
    this.body = table.tBodies[0];
    this.body.addEventListener("focusin", ({ target }) => this.activate(target.closest("tr")));
    this.body.addEventListener("click", ({ target }) => {
      if (!target.closest("a, button")) this.control(target.closest("tr").key).click();
    });
    this.body.addEventListener("keydown", (event) => this.move(event));
  }

  show(items) {
    this.table.ariaRowCount = String(items.length + 1);
    const newest = items.slice(0, MOST_ROWS);
    const keys = new Set(newest.map(this.keyOf));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      if (row.contains(document.activeElement)) this.table.parentElement.focus();
      row.remove();
      this.rows.delete(key);
    }
    let next = this.body.firstChild;
    for (const item of newest) {
      const row = this.rows.get(this.keyOf(item)) ?? this.makeRow(item);
      if (row.item !== item) this.fill(row, item);
      row.item = item;
      if (row === next) next = next.nextSibling;
      else this.body.insertBefore(row, next);
    }
    this.activate(this.active?.isConnected ? this.active : this.body.rows[0]);
  }

  makeRow(item) {
    const row = copyOf(this.template);
    row.key = this.keyOf(item);
    this.rows.set(row.key, row);
    return row;
  }

  control(key) {
    return this.rows.get(key)?.querySelector("a, button");
  }

  /** One row is the stop of the Tab key; the arrows lead to the others. */
  activate(row) {
    this.active = row;
    for (const other of this.rows.values()) this.control(other.key).tabIndex = other === row ? 0 : -1;
  }

  move(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
    if (!(event.key in steps) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const rows = [...this.body.rows];
    const to = rows.indexOf(event.target.closest("tr")) + steps[event.key];
    this.control(rows[Math.max(0, Math.min(rows.length - 1, to))].key).focus();
  }
}

const docketTable = new Table($("docket-table"), "docket-row", (entry) => entry.id, (row, entry) => {
  put(row.querySelector(".time"), clock.format(entry.created_ms));
  const link = row.querySelector(".number");
  put(link, entry.number);
  link.href = pageOf(entry.id);
  row.querySelector(".duplicate").hidden = !entry.repeats;
  row.classList.toggle("repeats", Boolean(entry.repeats));
  put(row.querySelector(".agent"), entry.agent);
  const status = entry.ringing ? "RINGING" : entry.status;
  tag(row.querySelector(".status"), word(status), status);
  put(row.querySelector(".attempts"), String(entry.attempts));
  tag(row.querySelector(".last"), entry.last ? word(entry.last) : "", entry.last ?? "");
});

const requestTable = new Table($("request-table"), "request-row", (line) => line.n, (row, line) => {
  put(row.querySelector(".time"), clock.format(line.at_ms));
  put(row.querySelector(".method"), line.method);
  put(row.querySelector(".path"), line.path);
  row.querySelector(".duplicate").hidden = !line.repeats;
  row.classList.toggle("repeats", line.repeats);
  tag(row.querySelector(".code"), line.status === null ? "none" : String(line.status), classOf(line.status));
  put(row.querySelector(".took"), took(line));
  put(row.querySelector(".fault"), line.fault ?? "");
});

const classOf = (status) => (status === null ? "unanswered" : `s${Math.floor(status / 100)}`);
const took = (line) => (line.duration_ms === null ? "…" : `${number(Math.round(line.duration_ms))} ms`);

// Dockets and requests --------------------------------------------------------------------------

/** What the filters look through. */
const docketWords = (entry) => [
  entry.number, entry.agent, entry.context, entry.external_id ?? "", entry.id, entry.kind,
  word(entry.status), entry.ringing ? "ringing" : "", entry.last ? word(entry.last) : "", entry.repeats ? "duplicate" : "",
];
const requestWords = (line) => [
  line.method, line.path, line.endpoint ?? "", line.status ?? "none", line.fault ?? "", line.entry ?? "", line.repeats ? "duplicate" : "",
];

const lists = {
  entries: {
    table: docketTable, count: $("dockets-count"), rest: $("more-dockets"), all: [],
    newestFirst: (a, b) => b.created_ms - a.created_ms || b.arrival - a.arrival,
    filter: $("docket-filter"), words: docketWords,
    forgotten: () => mock.counts.forgotten,
    texts: ["No docket yet. Create one at the service’s address.", "No docket matches the filter."],
  },
  requests: {
    table: requestTable, count: $("requests-count"), rest: $("more-requests"), all: [],
    newestFirst: (a, b) => b.n - a.n,
    filter: $("request-filter"), words: requestWords,
    forgotten: () => mock.counts.forgotten_requests,
    texts: ["No request yet.", "No request matches the filter."],
  },
};

function drawList(name) {
  const list = lists[name];
  if (changed[name]) list.all = [...mock[name].values()].sort(list.newestFirst);
  if (changed[name] || changed.filter) {
    const typed = list.filter.value.trim().toLowerCase();
    const matching = list.all.filter((item) => list.words(item).join(" ").toLowerCase().includes(typed));
    list.table.show(matching);
    put(list.count, shown(matching.length, list.all.length, list.forgotten()));
    const more = matching.length - MOST_ROWS;
    list.rest.hidden = matching.length > 0 && more <= 0;
    put(list.rest, more > 0 ? `${number(more)} older ones: the filter finds them.` : list.texts[list.all.length ? 1 : 0]);
  }
}

// One docket, one request -----------------------------------------------------------------------

const open = { docket: null, request: null };

/** Shows what the address says: the list, or one docket. */
function route(event) {
  const id = location.pathname.match(/^\/dockets\/([^/]+)$/)?.[1];
  const before = open.docket;
  open.docket = id ? decodeURIComponent(id) : null;
  $("docket").hidden = open.docket === null;
  $("docket-list").hidden = open.docket !== null;
  if (open.docket !== null && open.docket !== before) {
    put($("docket-title"), open.docket);
    $("docket-body").hidden = true;
    drawDocket();
  }
  if (event) (open.docket ? $("docket-title") : docketTable.control(before) ?? $("dockets-title")).focus();
}

function go(path) {
  history.pushState(null, "", path);
  route(true);
}

async function drawDocket() {
  const id = open.docket;
  const entry = await read(dataOf(id)).catch(() => undefined);
  if (id !== open.docket || entry === undefined) return;
  $("docket-missing").hidden = entry !== null;
  $("docket-body").hidden = entry === null;
  if (entry === null) return;
  put($("docket-title"), entry.number);
  const repeats = $("docket-repeats");
  repeats.hidden = !entry.repeats;
  if (entry.repeats) repeats.replaceChildren("duplicate: same number and context within a minute as ", docketLink(entry.repeats, entry.repeats));
  facts($("docket-facts"), [
    [entry.kind === "call" ? "Direct call" : "Docket", entry.id],
    ["Agent", entry.agent],
    ["External id", entry.external_id ?? "none"],
    ["Status", word(entry.status)],
    ["Attempts", String(entry.attempts)],
    ["Last attempt", entry.last ? word(entry.last) : "none"],
  ]);
  keepFocus($("timeline"), () => $("timeline").replaceChildren(...entry.timeline.map(moment)));
  put($("docket-context"), indented(entry.context));
}

function moment(step) {
  const item = make("li");
  item.dataset.kind = step.kind;
  const at = make("time", fineClock.format(step.at_ms));
  at.dateTime = new Date(step.at_ms).toISOString();
  item.append(at, make("span", step.text, "text"));
  if (step.status !== null) {
    const status = item.appendChild(make("span", undefined, "tag code"));
    tag(status, String(step.status), classOf(step.status));
  }
  if (step.request !== null) {
    const button = make("button", `request ${step.request}`, "plain");
    button.type = "button";
    button.dataset.request = step.request;
    item.append(button);
  }
  return item;
}

/** Redraws what is in `element`; the focus stays on the button or link that has the same text. */
function keepFocus(element, draw) {
  const focused = element.contains(document.activeElement) ? document.activeElement.textContent : null;
  draw();
  if (focused === null) return;
  const same = [...element.querySelectorAll("button, a")].find((control) => control.textContent === focused);
  same?.focus({ preventScroll: true });
}

const facts = (list, pairs) =>
  list.replaceChildren(...pairs.map(([name, value]) => {
    const pair = make("div");
    pair.append(make("dt", name), make("dd", value));
    return pair;
  }));

async function openRequest(n, byUser) {
  open.request = n;
  const line = await read(`/requests/${n}`).catch(() => undefined);
  if (open.request !== n || line === undefined) return;
  $("request").hidden = false;
  put($("request-title"), line ? `${n}: ${line.method} ${line.path}` : `${n}: forgotten`);
  const parts = [];
  if (line) {
    const summary = make("p", `${line.status === null ? "No answer was sent" : `Answered with ${line.status}`}, ${took(line)}`);
    parts.push(summary);
    if (line.repeats) parts.push(make("p", "duplicate: same number and context within a minute", "alarm"));
    if (line.fault) parts.push(make("p", `Played: ${line.fault}`, "alarm"));
    if (line.entry) summary.append(", ", docketLink(line.entry, "docket"));
    for (const [title, message] of [["Request", line.request], ["Answer", line.answer]]) {
      parts.push(make("h4", title));
      if (message === null) {
        parts.push(make("p", "None.", "quiet"));
        continue;
      }
      const headers = make("dl", undefined, "headers");
      facts(headers, message.headers);
      parts.push(headers);
      if (message.body) parts.push(make("pre", indented(message.body)));
    }
  }
  $("request-body").replaceChildren(...parts);
  if (byUser) $("request-title").focus();
}

function closeRequest() {
  const n = open.request;
  open.request = null;
  $("request").hidden = true;
  (requestTable.control(n) ?? $("requests-title")).focus();
}

// Phones ----------------------------------------------------------------------------------------

/** More cards than anyone can look at only make the page slow. */
const MOST_CARDS = 24;
const cards = new Map();
const ringing = new Set();
const keyOfRing = (entry) => `${entry.id} ${entry.ringing.attempt}`;

function drawPhones() {
  const phones = [...ringing].map((id) => mock.entries.get(id)).sort((a, b) => a.ringing.since_ms - b.ringing.since_ms);
  const visible = phones.slice(0, MOST_CARDS);
  const keys = new Set(visible.map(keyOfRing));
  let focusGone = false;
  for (const [key, card] of cards) {
    if (keys.has(key)) continue;
    focusGone ||= card.contains(document.activeElement);
    card.remove();
    cards.delete(key);
  }
  visible.forEach((entry, index) => {
    const key = keyOfRing(entry);
    const card = cards.get(key) ?? makeCard(entry);
    cards.set(key, card);
    card.entry = entry;
    card.querySelector(".actions").hidden = !mock.manual || card.dataset.state !== "ringing";
    if ($("cards").children[index] !== card) $("cards").insertBefore(card, $("cards").children[index] ?? null);
  });
  if (focusGone) ($("cards").firstElementChild ?? $("phones-title")).focus();
  const more = phones.length - visible.length;
  $("more-phones").hidden = more === 0;
  put($("more-phones"), `${number(more)} more ring; they come up here as others end.`);
  $("no-phone").hidden = phones.length > 0;
  put($("phones-count"), phones.length ? `${number(phones.length)} ringing` : "");
  put($("pace"), mock.manual ? "You decide how each call ends" : "Calls end by the script; --manual lets you decide");
  document.title = phones.length ? `(${phones.length}) ringing – voice-calling mock` : "voice-calling mock";
  document.body.classList.toggle("ringing", phones.length > 0);
  tick();
}

function makeCard(entry) {
  const card = copyOf("card-template");
  card.dataset.state = "ringing";
  const title = card.querySelector(".number");
  title.id = `phone-${entry.id}-${entry.ringing.attempt}`;
  card.setAttribute("aria-labelledby", title.id);
  put(title, entry.number);
  put(card.querySelector(".agent"), entry.agent);
  put(card.querySelector(".attempt"), `attempt ${entry.ringing.attempt}`);
  card.querySelector(".duplicate").hidden = !entry.repeats;
  card.classList.toggle("repeats", Boolean(entry.repeats));
  const pairs = members(entry.context);
  const context = card.querySelector(".context");
  facts(context, (pairs ?? [["context", entry.context]]).slice(0, 4));
  const link = card.querySelector(".docket");
  put(link, `${entry.kind === "call" ? "call" : "docket"} ${entry.external_id ?? entry.id}`);
  link.href = pageOf(entry.id);
  const form = card.querySelector("form");
  card.addEventListener("click", ({ target }) => {
    const order = target.closest("[data-do]")?.dataset.do;
    if (order) act(card, order);
  });
  card.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && card.dataset.state === "talking") return act(card, "cancel");
    const order = { a: "answer", b: "BUSY", n: "NO_ANSWER" }[event.key];
    const busy = event.target.closest("form, a") || event.altKey || event.ctrlKey || event.metaKey;
    if (!order || busy || !mock.manual || card.dataset.state !== "ringing") return;
    event.preventDefault();
    act(card, order);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    hangUp(card, form);
  });
  return card;
}

async function act(card, order) {
  const attempt = card.entry.ringing.attempt;
  const path = dataOf(card.entry.id);
  let problem = null;
  if (order === "answer" || order === "cancel") {
    const answers = order === "answer";
    turn(card, answers ? "talking" : "ringing");
    (answers ? card.querySelector("form").elements[0] : card).focus();
  } else {
    problem = await post(`${path}/end`, JSON.stringify({ attempt, status: order }));
  }
  alarm(card.querySelector(".problem"), problem);
}

function turn(card, state) {
  const focused = card.querySelector(".actions").contains(document.activeElement);
  card.dataset.state = state;
  card.answeredAt = state === "talking" ? Date.now() : undefined;
  card.querySelector("form").hidden = state !== "talking";
  card.querySelector(".actions").hidden = state !== "ringing";
  if (focused) card.focus();
  tick();
}

/** Reports an answered call. Metadata goes as it was typed, since numbers must keep their digits. */
async function hangUp(card, form) {
  const fields = new FormData(form);
  const { id, ringing: ring } = card.entry;
  const body = { attempt: ring.attempt, status: "ANSWERED" };
  for (const name of ["disposition", "interest", "next_action"]) {
    if (fields.get(name).trim()) body[name] = fields.get(name).trim();
  }
  const typed = fields.get("seconds").trim();
  body.seconds = typed ? Number(typed) : Math.round((Date.now() - card.answeredAt) / 100) / 10;
  const problem = card.querySelector(".problem");
  const metadata = fields.get("metadata").trim();
  let text = JSON.stringify(body);
  if (metadata) {
    if (!metadata.startsWith("{") || !isJson(metadata)) return alarm(problem, `Metadata: found ${metadata.slice(0, 40)}; allowed: a JSON object.`);
    text = `${text.slice(0, -1)},"metadata":${metadata}}`;
  }
  alarm(problem, await post(`${dataOf(id)}/end`, text));
}

/** The seconds on the cards. */
function tick() {
  for (const card of cards.values()) {
    const since = card.answeredAt ?? card.entry.ringing.since_ms;
    put(card.querySelector(".since"), elapsed(Date.now() - since));
  }
}
setInterval(tick, 1000);

/** New rings are announced together, and not more often than every 3 seconds. */
const announcer = { rings: [], timer: null };
function announce(entry) {
  announcer.rings.push(entry);
  announcer.timer ??= setTimeout(say, 300);
}
function say() {
  const rings = announcer.rings.splice(0);
  announcer.timer = rings.length ? setTimeout(say, 3000) : null;
  if (rings.length === 1) put($("announcements"), `Phone rings: ${rings[0].number}, agent ${rings[0].agent}, attempt ${rings[0].ringing.attempt}`);
  else if (rings.length) put($("announcements"), `${rings.length} phones ring`);
}

// Faults ----------------------------------------------------------------------------------------

function drawOrders() {
  const texts = [
    ...mock.orders.map((order) => `${order.fault} · ${order.endpoint ?? "any endpoint"}`),
    ...mock.deliveryOrders.map((order) => `webhook ${order}`),
  ];
  $("orders").replaceChildren(...texts.map((text) => make("li", text)));
  $("no-order").hidden = texts.length > 0;
  const gone = texts.length === 0 && document.activeElement === $("clear");
  $("clear").hidden = texts.length === 0;
  if (gone) $("endpoint").focus();
}

async function order({ fault, delivery }) {
  if (delivery) return post("/delivery-faults", JSON.stringify({ fault: delivery }));
  const seconds = $("retry-after").valueAsNumber;
  if (fault === "429" && Number.isNaN(seconds)) return "Seconds: found nothing; allowed: a number of at least 0.";
  const text = fault === "429" ? `429:retry-after=${seconds}` : fault;
  const body = { endpoint: $("endpoint").value || null, fault: text };
  return post("/faults", JSON.stringify(body));
}

// Drawing: at most once a frame -----------------------------------------------------------------

const changed = { entries: true, requests: true, filter: true, orders: true };
let scheduled = false;
function soon(...what) {
  for (const part of what) changed[part] = true;
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    put($("base-url"), mock.baseUrl);
    if (changed.entries) drawPhones();
    for (const name in lists) drawList(name);
    if (changed.orders) drawOrders();
    for (const part in changed) changed[part] = false;
  });
}

// What the mock says ----------------------------------------------------------------------------

let arrivals = 0;

/** Forgets the oldest that the mock has forgotten. */
function forget(map, kept, isOver) {
  for (const [key, item] of map) {
    if (map.size <= kept) return;
    if (isOver(item)) map.delete(key);
  }
}

function receive({ data }) {
  const news = JSON.parse(data);
  // Another run has another token as well.
  if (mock.run !== null && (news.run !== mock.run || news.sequence < mock.sequence)) return location.reload();
  Object.assign(mock, { run: news.run, sequence: news.sequence, manual: news.manual, baseUrl: news.base_url, counts: news.counts });
  Object.assign(mock, { orders: news.orders, deliveryOrders: news.delivery_orders });
  for (const entry of news.entries) {
    const before = mock.entries.get(entry.id);
    entry.arrival = before?.arrival ?? arrivals++;
    mock.entries.set(entry.id, entry);
    if (!entry.ringing) ringing.delete(entry.id);
    else {
      if (before?.ringing?.attempt !== entry.ringing.attempt) announce(entry);
      ringing.add(entry.id);
    }
  }
  for (const line of news.requests) mock.requests.set(line.n, line);
  forget(mock.entries, mock.counts.dockets, (entry) => entry.status === "COMPLETED" && !entry.ringing);
  forget(mock.requests, mock.counts.requests, () => true);
  const concernsOpen = news.entries.some((entry) => entry.id === open.docket) || news.requests.some((line) => line.entry === open.docket);
  if (open.docket && concernsOpen) drawDocket();
  if (news.requests.some((line) => line.n === open.request)) openRequest(open.request, false);
  soon("orders");
  for (const name in lists) if (news[name].length || mock[name].size !== lists[name].all.length) soon(name);
}

function showLink(state, text) {
  document.body.dataset.link = state;
  put($("link"), text);
  $("lost").hidden = state !== "lost";
}

function connect() {
  const source = new EventSource("/events");
  source.onopen = () => showLink("live", "Live");
  source.onmessage = receive;
  source.onerror = () => {
    showLink("lost", "Disconnected");
    // The browser tries again by itself unless the answer was not a stream.
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
  };
}

// What people do --------------------------------------------------------------------------------

for (const { filter } of Object.values(lists)) filter.addEventListener("input", () => soon("filter"));
document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  const elsewhere = event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!link || elsewhere || !(link.pathname === "/" || link.pathname.startsWith("/dockets/"))) return;
  event.preventDefault();
  go(link.pathname);
});
addEventListener("popstate", route);
$("request-table").addEventListener("click", ({ target }) => {
  const row = target.closest("button")?.closest("tr");
  if (row) openRequest(row.key, true);
});
$("timeline").addEventListener("click", ({ target }) => {
  const n = target.closest("[data-request]")?.dataset.request;
  if (n) openRequest(Number(n), true);
});
$("close-request").addEventListener("click", closeRequest);
$("request").addEventListener("keydown", (event) => event.key === "Escape" && closeRequest());
$("faults").addEventListener("click", async ({ target }) => {
  const button = target.closest("button.fault");
  if (button) alarm($("fault-problem"), await order(button.dataset));
});
$("clear").addEventListener("click", async () => alarm($("fault-problem"), await post("/faults/clear")));

route();
connect();
