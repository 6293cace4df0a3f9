// The mock as a telephone. What came from outside goes into the page as text only: by textContent,
// never as HTML.

const $ = (id) => document.getElementById(id);

/** Whether calls ring until they are ended here. */
let manual = false;

/** By how much the mock's clock is ahead of this one. */
let aheadMs = 0;

/** How often the mock was reset. */
let resets;

// Words -----------------------------------------------------------------------------------------

const time = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
const clock = new Intl.DateTimeFormat("en-GB", time);
const fineClock = new Intl.DateTimeFormat("en-GB", { ...time, fractionalSecondDigits: 3 });
const number = (n) => n.toLocaleString("en-US");
const word = (status) => status.toLowerCase().replaceAll("_", " ");
const elapsed = (ms) => {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
};

/** Parses JSON. Its numbers stay as they were written, which not every browser tells. */
const parsed = (text) => JSON.parse(text, (_, value, { source }) => (typeof value === "number" ? JSON.rawJSON(source) : value));

/** JSON on several lines, with every digit as it came; other text as it is. */
function indented(text) {
  try {
    return JSON.stringify(parsed(text), null, 2);
  } catch {
    return text;
  }
}

/** The members of a context with their values as text; none if it is not whole. */
function members(context) {
  try {
    const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
    return Object.entries(parsed(context)).map(([name, value]) => [name, text(value)]);
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
async function post(path, body, method = "POST") {
  try {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(path, { method, headers, body });
    return answer.ok ? null : (await answer.json()).error;
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

// Lists -----------------------------------------------------------------------------------------

/** A list shows the newest of this many. */
const MOST_ROWS = 500;

/** A list with the newest on top. An item keeps its row, and with it the focus, while newer ones come
 * above it. */
class List {
  constructor(name, keyOf, fill) {
    Object.assign(this, { name, keyOf, fill, rows: new Map(), known: new Set(), duplicates: new Set() });
    this.table = $(`${name}-table`);
    this.body = this.table.tBodies[0];
    this.body.addEventListener("focusin", ({ target }) => this.activate(target.closest("tr")));
    this.body.addEventListener("click", ({ target }) => {
      if (!target.closest("a, button")) this.control(target.closest("tr").key).click();
    });
    this.body.addEventListener("keydown", (event) => this.move(event));
  }

  /** Shows items that are new, in the order of their arrival, or changed. */
  show(items) {
    items.forEach((item, index) => {
      const key = this.keyOf(item);
      if (!this.known.has(key) && items.length - index <= MOST_ROWS) this.add(key);
      this.known.add(key);
      if (item.repeats) this.duplicates.add(key);
      if (this.rows.has(key)) this.fill(this.rows.get(key), item);
    });
    while (this.rows.size > MOST_ROWS) this.drop(this.body.lastElementChild);
    this.activate(this.active?.isConnected ? this.active : this.body.rows[0]);
    const count = this.known.size;
    this.table.ariaRowCount = String(count + 1);
    const duplicates = this.duplicates.size ? `, duplicates: ${number(this.duplicates.size)}` : "";
    put($(`${this.name}s-count`), number(count) + duplicates);
    $(`no-${this.name}`).hidden = count > 0;
    $(`more-${this.name}s`).hidden = count <= MOST_ROWS;
    put($(`more-${this.name}s`), `${number(count - MOST_ROWS)} older ones`);
  }

  add(key) {
    const row = copyOf(`${this.name}-row`);
    row.key = key;
    this.rows.set(key, row);
    this.body.prepend(row);
  }

  drop(row) {
    if (row.contains(document.activeElement)) this.table.parentElement.focus();
    row.remove();
    this.rows.delete(row.key);
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

const dockets = new List("docket", (entry) => entry.id, (row, entry) => {
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

const requests = new List("request", (line) => line.n, (row, line) => {
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
  if (event) (open.docket ? $("docket-title") : dockets.control(before) ?? $("dockets-title")).focus();
}

function go(path) {
  history.pushState(null, "", path);
  route(true);
}

let draws = 0;

async function drawDocket() {
  const id = open.docket;
  const draw = ++draws;
  const entry = await read(dataOf(id)).catch(() => undefined);
  // A later draw may have its answer before, which is newer.
  if (id !== open.docket || draw !== draws || entry === undefined) return;
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
  $("timeline").replaceChildren(...entry.timeline.map(moment));
  put($("docket-context"), indented(entry.context));
}

function moment({ at_ms, text }) {
  const item = make("li");
  const at = make("time", fineClock.format(at_ms));
  at.dateTime = new Date(at_ms).toISOString();
  item.append(at, make("span", text, "text"));
  return item;
}

const facts = (list, pairs) =>
  list.replaceChildren(...pairs.map(([name, value]) => {
    const pair = make("div");
    pair.append(make("dt", name), make("dd", value));
    return pair;
  }));

async function openRequest(n, byUser) {
  open.request = n;
  const exchange = await read(`/requests/${n}`).catch(() => undefined);
  if (open.request !== n || exchange === undefined) return;
  $("request").hidden = false;
  put($("request-title"), exchange ? `${n}: ${exchange.line.method} ${exchange.line.path}` : `${n}: too old`);
  const parts = [];
  if (exchange) {
    const { line } = exchange;
    const summary = make("p", `${line.status === null ? "No answer was sent" : `Answered with ${line.status}`}, ${took(line)}`);
    parts.push(summary);
    if (line.repeats) parts.push(make("p", "duplicate: same number and context within a minute", "alarm"));
    if (line.fault) parts.push(make("p", `Played: ${line.fault}`, "alarm"));
    if (line.entry) summary.append(", ", docketLink(line.entry, "docket"));
    for (const [title, message] of [["Request", exchange.request], ["Answer", exchange.answer]]) {
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
  (requests.control(n) ?? $("requests-title")).focus();
}

// Phones ----------------------------------------------------------------------------------------

/** More cards than anyone can look at only make the page slow. */
const MOST_CARDS = 24;
const cards = new Map();
/** The entries that ring, by id. */
const ringing = new Map();
const keyOfRing = (entry) => `${entry.id} ${entry.ringing.attempt}`;

function drawPhones() {
  const phones = [...ringing.values()].sort((a, b) => a.ringing.since_ms - b.ringing.since_ms);
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
    card.querySelector(".actions").hidden = !entry.ringing.by_hand || card.dataset.state !== "ringing";
    if ($("cards").children[index] !== card) $("cards").insertBefore(card, $("cards").children[index] ?? null);
  });
  if (focusGone) ($("cards").firstElementChild ?? $("phones-title")).focus();
  const more = phones.length - visible.length;
  $("more-phones").hidden = more === 0;
  put($("more-phones"), `${number(more)} more ring; they come up here as others end.`);
  $("no-phone").hidden = phones.length > 0;
  put($("phones-count"), phones.length ? `${number(phones.length)} ringing` : "");
  put($("pace"), manual ? "You decide how each call ends" : "Calls end by the script; --manual lets you decide");
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
    if (!order || busy || !card.entry.ringing.by_hand || card.dataset.state !== "ringing") return;
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
  const metadata = fields.get("metadata").trim();
  let text = JSON.stringify(body);
  if (metadata) text = `${text.slice(0, -1)},"metadata":${metadata}}`;
  alarm(card.querySelector(".problem"), await post(`${dataOf(id)}/end`, text));
}

/** The seconds on the cards. */
function tick() {
  for (const card of cards.values()) {
    const since = card.answeredAt ?? card.entry.ringing.since_ms - aheadMs;
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

function drawOrders(orders) {
  $("orders").replaceChildren(...orders.map((order) => make("li", order)));
  $("no-order").hidden = orders.length > 0;
  const gone = orders.length === 0 && document.activeElement === $("clear");
  $("clear").hidden = orders.length === 0;
  if (gone) $("endpoint").focus();
}

function order({ fault, delivery }) {
  const seconds = $("retry-after");
  if (fault === "429" && !seconds.reportValidity()) return null;
  const options = fault === "429" ? `:retry-after=${seconds.value}` : "";
  const order = delivery ? `webhook:${delivery}` : `${$("endpoint").value}:${fault}${options}`;
  return post("/faults", JSON.stringify({ order }));
}

// What the mock says ----------------------------------------------------------------------------

function receive({ data }) {
  const news = JSON.parse(data);
  // What is shown was forgotten.
  if (resets !== undefined && news.resets !== resets) return location.reload();
  resets = news.resets;
  manual = news.manual;
  aheadMs = news.now_ms - Date.now();
  put($("base-url"), news.base_url);
  for (const entry of news.entries) {
    const before = ringing.get(entry.id)?.ringing.attempt;
    if (entry.ringing && entry.ringing.attempt !== before) announce(entry);
    if (entry.ringing) ringing.set(entry.id, entry);
    else ringing.delete(entry.id);
  }
  drawPhones();
  dockets.show(news.entries);
  requests.show(news.requests);
  drawOrders(news.orders);
  if (news.entries.some((entry) => entry.id === open.docket)) drawDocket();
  if (news.requests.some((line) => line.n === open.request)) openRequest(open.request, false);
}

function showLink(state, text) {
  document.body.dataset.link = state;
  put($("link"), text);
  $("lost").hidden = state !== "lost";
}

function connect() {
  const source = new EventSource("/events");
  source.onopen = () => {
    // It may be another mock, which knows nothing of what is shown here.
    if (document.body.dataset.link === "lost") location.reload();
    else showLink("live", "Live");
  };
  source.onmessage = receive;
  source.onerror = () => {
    showLink("lost", "Disconnected");
    // The browser tries again by itself unless the answer was not a stream.
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
  };
}

// What people do --------------------------------------------------------------------------------

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
$("close-request").addEventListener("click", closeRequest);
$("request").addEventListener("keydown", (event) => event.key === "Escape" && closeRequest());
$("faults").addEventListener("click", async ({ target }) => {
  const button = target.closest("button.fault");
  if (button) alarm($("fault-problem"), await order(button.dataset));
});
$("clear").addEventListener("click", async () => alarm($("fault-problem"), await post("/faults", undefined, "DELETE")));

route();
connect();
