// Details of the chosen object or policy.

import { events, manifest, query } from "./api.js";
import { announce, breakable, fill, h } from "./dom.js";
import { effectiveParts, fieldTable, hasPaths, senderPart, stack } from "./effective.js";
import { byName, kindName, NOTHING, parts, short } from "./keys.js";
import { LEVELS } from "./layout.js";
import { chip, linkPart, nodeLink, objectLink, policyLink, trail } from "./links.js";
import { outcomeNamed, outcomeOf } from "./outcomes.js";
import { reasonMark } from "./reasons.js";
import { ROOM } from "./visible.js";
import { yamlText } from "./yaml.js";

const MANY = 60; // nodes below a target beyond which the page asks before it explains all of them
const LISTED = 12;
const SENDERS = 12; // rules whose policies are listed at a backend
const TROUBLED = 20; // problems in the overview
const TROUBLED_OF_LARGE = 6; // the same where namespaces follow
const NAMESPACES = 30; // namespaces in the overview
const EVENTS = 10_000; // ms between two requests for the Events of an object, while it changes
const COMPARED = 25; // effective targets of a policy of which before and after are computed

export class Details {
  #element;
  #wire;
  #violations;
  #filters;
  #showOnly;
  #turn = 0;
  #shown;
  #explained; // a key whose nodes below are all explained, because the user requested that
  #made; // the content as it was made: without what the user has opened in it since
  #events; // {object, at (time), found (a Promise)} of the latest request
  #unfolded; // the key of which the user has opened the Events
  #announced; // the key of which a sentence was announced
  #hadFocus = false; // whether the focus was in the content that is being replaced

  /** `filters` are the current ones; `showOnly(filters)` sets others. */
  constructor(element, wire, violations, filters, showOnly) {
    this.#element = element;
    this.#wire = wire;
    this.#violations = violations;
    this.#filters = filters;
    this.#showOnly = showOnly;
  }

  /** Show a node or a policy, or an overview if nothing is chosen. A later call replaces an earlier one. */
  async show(key, topology) {
    const turn = (this.#turn += 1);
    const again = key === this.#shown;
    this.#shown = key;
    if (!again) this.#explained = undefined;
    this.#hadFocus = this.#element.contains(document.activeElement);
    if (!key) return void this.#fill(overview(this.#wire, this.#violations, topology, this.#showOnly), again);
    const explainAll = () => {
      this.#explained = key;
      this.show(key, topology);
    };
    if (this.#violations.names.includes(key)) {
      const only = (constraints) => this.#showOnly({ violations: new Set(constraints) });
      const found = this.#violations.partOfConstraint(parts(key).name, topology, only);
      return void this.#fill([this.#head(key, topology), problemsPart(this.#wire.problemsOf(key)), found, yamlPart(key)], again);
    }
    const isPolicy = topology.attachedTo(key).length > 0 || this.#wire.isPolicy(key);
    if (!isPolicy && !topology.has(key)) {
      const why = this.#wire.isWhole ? "Nothing matches this link. The object may have been deleted or renamed." : "Loading …";
      return void this.#fill([this.#head(key, topology), h("p", { class: "quiet", role: "status" }, why)]);
    }
    if (topology.nodes.get(key)?.level === NOTHING) return void this.#fill(nothingPart(topology.nodes.get(key)), again);
    if (!again) this.#fill([this.#head(key, topology), h("p", { class: "quiet", role: "status" }, "Querying OPA …")]);
    let body;
    try {
      body = isPolicy ? await policyBody(key, topology) : await nodeBody(key, topology, this.#explained === key ? undefined : explainAll);
    } catch (error) {
      const message = h("p", { class: "error", role: "alert" }, error.message);
      body = isPolicy ? message : { answer: message };
    }
    if (turn !== this.#turn) return;
    const { scrollTop } = this.#element.parentElement;
    this.#hadFocus ||= this.#element.contains(document.activeElement);
    // The answer is first; a policy has its problems before, which may be why there is none.
    const problems = [problemsPart(this.#wire.problemsOf(parts(key).object)), this.#violations.partOf(key)];
    this.#fill([this.#head(key, topology), isPolicy ? [problems, body] : [body.answer, problems, body.rest], yamlPart(key), h("div", { class: "events" })], again);
    this.#fillEvents(key);
    if (again) this.#element.parentElement.scrollTop = scrollTop;
    if (this.#announced !== key) announce(sentenceOf(key, isPolicy ? outcomeOf(topology.policy(key) ?? this.#wire.policy(key)).word : this.#fieldsInEffect()));
    this.#announced = key;
  }

  /** The number of different fields in effect at the node itself, for people. */
  #fieldsInEffect() {
    const rows = [...this.#element.querySelectorAll(".explained .fields tbody[data-kind] tr:not(.kind, .nested) th")];
    const { size } = new Set(rows.map((row) => `${row.closest("tbody").dataset.kind} ${row.textContent}`));
    return size ? `${size} ${size === 1 ? "field" : "fields"} in effect` : "";
  }

  /** Move the focus to what is shown. */
  focus() {
    this.#element.querySelector("h3")?.focus();
  }

  async #fillEvents(key) {
    const { object } = parts(key);
    if (this.#events?.object !== object || Date.now() - this.#events.at > EVENTS) {
      this.#events = { object, at: Date.now(), found: events(object).catch(({ message }) => ({ events: [], unreadable: message.replace(/\.$/, "") })) };
    }
    const content = eventsPart(await this.#events.found);
    const place = this.#element.querySelector(".events");
    if (!place || this.#shown !== key) return;
    fill(place, content);
    if (!content) return;
    content.open ||= this.#unfolded === key;
    content.addEventListener("toggle", () => { this.#unfolded = content.open ? key : undefined; });
  }

  #head(key, topology) {
    const isAlone = this.#filters.focus === key;
    return head(key, topology, topology.has(key) && h("button", {
      type: "button", id: "focus", class: "action", "aria-pressed": String(isAlone), title: "This, and what is above and below it",
      on: { click: () => this.#showOnly(this.#filters.focus === key ? {} : { focus: key }) },
    }, "Show only this"));
  }

  /**
   * Replace the content, unless it would be the same: changes elsewhere must not close what the user has opened, or move
   * the focus. Focus in replaced content moves to the element that replaces the focused one: the one with the same text or,
   * for the summary of a section, at the same place. Without one it moves to the new heading.
   */
  #fill(content, again = false) {
    const made = fill(document.createElement("div"), content);
    if (this.#made?.isEqualNode(made)) {
      this.#element.querySelector("#object-yaml")?.dispatchEvent(new Event("toggle")); // other fields may have changed
      return;
    }
    this.#made = made.cloneNode(true);
    // Problems are loaded apart, and must not shift the places of the others.
    const sections = () => [...this.#element.querySelectorAll("details:not(.problems *)")];
    const opened = again ? sections().map((one) => one.open) : [];
    const active = document.activeElement ?? document.body;
    const isProblem = (element) => Boolean(element.closest(".problems"));
    const alike = () => [...this.#element.querySelectorAll(active.localName)].filter((one) => isProblem(one) === isProblem(active))
      .filter((one) => active.localName === "summary" || one.textContent === active.textContent);
    const place = again && this.#hadFocus ? alike().indexOf(active) : -1;
    this.#element.replaceChildren(...made.childNodes);
    sections().forEach((one, at) => { one.open ||= opened[at] ?? false; });
    if (this.#hadFocus) (alike()[place] ?? this.#element.querySelector("h3"))?.focus({ preventScroll: true });
  }
}

/** The panel while nothing is chosen: what needs attention, the namespaces of a large topology, numbers of objects. */
function overview(wire, violations, topology, showOnly) {
  const troubled = wire.troubled();
  const warnings = troubled.filter(({ isWarning }) => isWarning).length;
  const numbers = [[troubled.length - warnings, "problem"], [warnings, "warning"]].filter(([count]) => count > 0)
    .map(([count, word]) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`).join(", ");
  const levels = new Map(LEVELS.map((level) => [level, 0]));
  for (const { level } of topology.nodes.values()) if (level !== NOTHING) levels.set(level, (levels.get(level) ?? 0) + 1);
  const counts = [...levels].filter(([, count]) => count > 0).map(([level, count]) => `${count.toLocaleString("en")} ${level}${count === 1 ? "" : level.endsWith("s") ? "es" : "s"}`);
  const isLarge = topology.nodes.size > ROOM;
  const shown = troubled.slice(0, isLarge ? TROUBLED_OF_LARGE : TROUBLED);
  return h("div", { class: "overview" },
    violations.part(topology, (constraints) => showOnly({ violations: new Set(constraints) })),
    h("h3", { tabindex: -1 }, wire.isComputing ? "Computing outcomes …" : troubled.length ? `Needs attention: ${numbers}` : wire.isKnown ? "No problems" : "Loading …"),
    troubled.length > 0 && h("ul", { class: "stack" }, shown.map((one) => troubledRow(one, topology))),
    troubled.length > 0 && h("p", {}, h("button", { type: "button", class: "action", on: { click: () => showOnly({ problems: true }) } }, "Show only problems")),
    isLarge && namespacesPart(wire.isKnown ? troubled : undefined, topology, showOnly),
    wire.isWhole && counts.length > 0 && h("p", { class: "quiet numbers" }, counts.join(" · ")),
    h("p", { class: "quiet" }, "Select a row or a card to see its effective policies, which policy each field comes from, and why."));
}

/** The panel of the node for policies that are attached to nothing. */
function nothingPart({ policies }) {
  return h("section", {}, h("h3", { tabindex: -1 }, "Attached to nothing"),
    h("ul", { class: "reach" }, policies.map(({ policy, reason }) => h("li", {}, policyLink(policy), " ", reason && reasonMark(reason)))));
}

function troubledRow(one, topology) {
  const { policy, object, about, outcome, reason, message, isWarning } = one;
  const { sign, tone } = outcomeNamed(outcome);
  return h("li", { class: tone }, h("span", { class: "sign", "aria-hidden": "true" }, sign),
    h("span", {}, policy ? policyLink(policy) : [objectLink(object, topology), about && [" → ", objectLink(about, topology)]], " ", reasonMark(reason), isWarning && h("span", { class: "word" }, " (warning)")),
    message && h("span", { class: "quiet" }, message));
}

/** The namespaces with their numbers, those with problems first, undefined until they are known; a click shows one of them only. */
function namespacesPart(troubled, topology, showOnly) {
  const { namespaces } = topology.facets();
  const count = (keys) => {
    const found = new Map();
    for (const key of keys) found.set(parts(key).namespace, (found.get(parts(key).namespace) ?? 0) + 1);
    return found;
  };
  const policies = count(topology.targets.keys());
  const problems = count((troubled ?? []).filter(({ isWarning }) => !isWarning).map(({ policy, object }) => policy ?? object));
  const rows = [...namespaces].sort(([one], [other]) => (problems.get(other) ?? 0) - (problems.get(one) ?? 0) || byName(one, other));
  return h("section", { class: "namespaces" }, h("h4", {}, `Namespaces (${rows.length.toLocaleString("en")})`),
    h("table", { class: "fields" },
      h("thead", {}, h("tr", {}, ["Namespace", "Objects", "Policies", "Problems"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.slice(0, NAMESPACES).map(([name, objects]) => h("tr", {},
        h("th", { scope: "row" }, h("button", { type: "button", class: "link", on: { click: () => showOnly({ namespaces: new Set([name]) }) } }, name)),
        [objects, policies.get(name) ?? 0, troubled ? problems.get(name) ?? 0 : "…"].map((number) => h("td", {}, number.toLocaleString("en"))))))),
    rows.length > NAMESPACES && h("p", { class: "quiet" }, `and ${rows.length - NAMESPACES} more: search for one`));
}

function head(key, topology, button) {
  const { kind, namespace, name, section, type } = parts(key);
  const node = topology.nodes.get(key);
  return h("header", { class: "object" },
    h("p", { class: "caption" }, !node && [chip(type), " "], kind, node?.level && node.level !== kind && ` · ${node.level}`, namespace && ` · ${namespace}`),
    h("h3", { tabindex: -1, "aria-label": `${kind} ${name}${section && ` #${section}`}` }, breakable(name), section && h("span", { class: "section" }, `#${section}`)),
    node?.hostnames.length > 0 && h("p", { class: "quiet" }, node.hostnames.join(", ")),
    node?.parameters && h("p", { class: "quiet" }, `Parameters: ${short(node.parameters)}`),
    button);
}

/** The problems of the object, without links, which stand apart. */
function problemsPart(problems) {
  if (!problems.length) return null;
  return h("section", { class: "problems" }, h("h4", {}, "Problems"),
    problems.map(({ reason, message, isWarning }) => h("p", { class: isWarning ? "" : "refused" }, reasonMark(reason), ` – ${message}`)));
}

/** The object as the bridge has it, which is loaded when the user opens it, and again with each change while it is open. */
function yamlPart(key) {
  const { object } = parts(key);
  const place = h("div", {}, h("p", { class: "quiet" }, "Loading …"));
  const load = async (event) => {
    if (!event.target.open) return;
    try {
      const made = yamlText("YAML of the object", await manifest(object));
      if (place.lastElementChild.textContent !== made.at(-1).textContent) fill(place, made);
    } catch (error) {
      fill(place, h("p", { class: "error", role: "alert" }, error.message));
    }
  };
  return h("details", { id: "object-yaml", class: "yaml", on: { toggle: load } }, h("summary", {}, "Object as YAML"), place);
}

/** The Events of an object, the newest first: open where there is a warning. */
function eventsPart({ events: found, unreadable }) {
  if (!found) return null; // without a cluster
  const part = folded(unreadable ? "Events" : `Events (${found.length})`,
    unreadable ? h("p", { class: "quiet" }, `They cannot be read: ${unreadable}.`) : !found.length && h("p", { class: "quiet" }, "None in the last hour."),
    h("dl", { class: "conditions" }, found.toReversed().map(({ type, reason, message, count, last, from }) => [
      h("dt", {}, reason), h("dd", { class: type === "Warning" ? "refused" : "" },
        h("span", {}, [type, last && new Date(last).toLocaleString("en"), count > 1 && `${count} times`, from].filter(Boolean).join(" · ")), h("span", {}, message)),
    ])));
  part.open = Boolean(unreadable) || found.some(({ type }) => type === "Warning");
  return part;
}

/** What a screen reader says when other details are shown. */
const sentenceOf = (key, what) => `Details of ${short(key)}${what ? `: ${what}` : ""}.`;

/** @returns {any} */
const folded = (title, ...content) => h("details", { class: "group rest" }, h("summary", {}, title), content);

/** {answer: the effective policies, rest}. `explainAll` is undefined once the user has requested it. */
async function nodeBody(key, topology, explainAll) {
  const node = topology.nodes.get(key);
  const reached = topology.descendants([key]);
  const cut = [key, ...reached].filter((one) => topology.isCut(one));
  const isCut = cut.length > 0;
  const below = reached.size + cut.reduce((sum, one) => sum + topology.nodes.get(one).count, 0);
  const rest = [refusedPart(node), attachedPart(node), !isCut && reachPart("Routes", topology.routesAround([key]).filter((route) => route !== key), true)];
  if (below > MANY && explainAll) {
    const explain = (event) => {
      event.target.textContent = "Querying OPA …";
      explainAll();
    };
    const answer = h("section", {}, h("h4", {}, "Effective policies"),
      h("p", {}, `${below.toLocaleString("en")}${isCut ? " nodes or more" : " nodes"} are below, each with its own effective policies. Choose one, or `,
        h("button", { type: "button", class: "action", on: { click: explain } }, "explain them all"), "."));
    return { answer, rest };
  }
  return { answer: await explained(key, topology), rest };
}

/** The backends to which a route or a rule sends requests. */
function backendsOf(key, topology) {
  const rules = [key, ...topology.below(key)].filter((one) => topology.nodes.get(one).level === "Rule");
  return [...new Set(rules.flatMap((rule) => topology.below(rule)))].filter((one) => topology.nodes.get(one).level === "Backend").sort(byName);
}

/** The effective policies at a node and below it; at a backend also those of the rules that send requests to it, at these also those of backends. */
async function explained(key, topology) {
  const level = topology.nodes.get(key)?.level;
  const senders = ["Backend", "Port"].includes(level)
    ? [...topology.ancestors([key])].filter((above) => topology.nodes.get(above).level === "Rule").sort(byName) : [];
  const backends = ["Route", "Rule"].includes(level) ? backendsOf(key, topology) : [];
  const [below, answer, ...sent] = await Promise.all([
    backends.length ? query("policies_below", { target: key, fields: true }) : [],
    ...[key, ...senders.slice(0, SENDERS)].map((target) => query("explain", { target })),
  ]);
  const received = sent.flat();
  return [
    h("section", { class: "explained" }, h("h4", {}, "Effective policies"),
      !hasPaths(answer) && h("p", { class: "quiet" }, hasPaths(received) || hasPaths(below) ? "No policy takes effect at this object itself." : "No policy applies here."),
      hasPaths(below) && h("p", { class: "same" }, "Policies also act at its backends: ",
        below.map(({ target, policyKind }, at) => [at > 0 && ", ", nodeLink(target), ` (${kindName(policyKind)})`])),
      effectiveParts(answer, key)),
    backends.length > 0 && h("section", { class: "passed-on" }, h("h4", { class: hasPaths(below) ? "lead" : "" }, "Goes to"),
      h("ul", { class: "reach" }, backends.map((backend) => h("li", {}, nodeLink(backend)))), effectiveParts(below, key)),
    hasPaths(received) && h("section", { class: "received" }, h("h4", { class: "lead" }, "Effective policies of the requests that it receives"),
      effectiveParts(received, key),
      senders.length > SENDERS && h("p", { class: "quiet" }, `The first ${SENDERS} of ${senders.length.toLocaleString("en")} rules that send requests here. Choose a rule for its policies.`)),
  ];
}

function attachedPart(node) {
  if (!node.policies.length) return null;
  return folded(`Attached here (${node.policies.length.toLocaleString("en")})`,
    h("ul", { class: "stack" }, node.policies.map((attached) => {
      const { sign, word, tone } = outcomeOf(attached);
      return h("li", { class: tone }, h("span", { class: "sign", "aria-hidden": "true" }, sign),
        h("span", {}, policyLink(attached.policy), " ", attached.accepted === false && attached.reason ? reasonMark(attached.reason) : h("span", { class: "word" }, word)));
    })));
}

function refusedPart({ key, refused }) {
  if (!refused.length) return null;
  return h("section", {}, h("h4", {}, "Rejected links"),
    refused.map((link) => h("p", { class: "refused" }, linkPart({ ...link, owner: key }), ": ", reasonMark(link.reason), ` – ${link.message}`)));
}

/** Nodes, the first of them at once; `isFolded` if the reader may want others first. */
function reachPart(title, keys, isFolded = false) {
  if (!keys.length) return null;
  const rows = (shown) => shown.map((key) => h("li", {}, nodeLink(key)));
  const rest = keys.slice(LISTED, 500);
  const list = h("ul", { class: "reach" }, rows(keys.slice(0, LISTED)));
  const more = rest.length > 0 &&
    h("button", { type: "button", class: "action", on: { click: () => { list.append(...rows(rest)); more.remove(); } } },
      `${(keys.length - LISTED).toLocaleString("en")} more${keys.length > 500 ? " (the first 500)" : ""}`);
  const named = `${title} (${keys.length.toLocaleString("en")})`;
  return isFolded ? folded(named, list, more) : h("section", {}, h("h4", {}, named), list, more);
}

async function policyBody(key, topology) {
  const targets = topology.attachedTo(key);
  if (topology.policy(key)?.reason === "NotDescribed") return [attachedToPart(targets), undescribedPart(key)];
  const [status, impact] = await Promise.all([query("status", { policies: [key] }), query("impact", { policy: key, limit: COMPARED, fields: true })]);
  const routes = topology.routesAround(impact.scopes.filter((scope) => topology.has(scope)));
  return [
    attachedToPart(targets),
    outcomesPart(impact.counts),
    reachPart("Routes that it reaches", reachedRoutes(impact, topology, routes)),
    conditionsPart(status[0]),
    reportsPart(status[0]),
    reachPart("Effective targets", impact.scopes),
    withoutPart(impact),
  ];
}

function attachedToPart(targets) {
  return h("section", {}, h("h4", {}, "Attached to"),
    targets.length ? h("ul", { class: "reach" }, targets.map((target) => h("li", {}, nodeLink(target)))) : h("p", { class: "quiet" }, "Not attached: the target doesn't exist."));
}

function undescribedPart(key) {
  return h("section", {}, h("h4", {}, "Unknown policy"),
    h("p", {}, `No policy kind describes ${kindName(parts(key).type)}, so the bridge ignores the policy. Describe the kind with a PolicyKind; `,
      h("code", {}, "pbctl init policykind --from-crd"), " guesses one from the CRD."));
}

/** Routes on the way to, or at, the effective targets: not those that merely share a backend with one. */
function reachedRoutes(impact, topology, routes) {
  const onPaths = new Set(impact.ifDeleted.flatMap(({ path }) => path).filter((key) => topology.nodes.get(key)?.level === "Route"));
  if (impact.counts.compared >= impact.counts.scopes && onPaths.size) return [...onPaths].sort();
  return routes;
}

function conditionsPart(status) {
  const groups = status?.conditions ? [{ conditions: status.conditions }] : status?.ancestors ?? [];
  if (!groups.length) return null;
  return h("section", {}, h("h4", {}, status.reported ? "Status by the bridge" : "Status"),
    groups.map(({ ancestorRef, conditions }) => [ancestorRef && h("p", { class: "quiet" }, ancestorName(ancestorRef)), conditionList(conditions)]));
}

/** Reports of the controllers of a policy that the bridge only observes, beside the bridge's own verdict. */
function reportsPart(status) {
  if (!status?.reported) return null;
  return h("section", { class: "reports" }, h("h4", {}, "Status by its controller"),
    status.reported.map(({ controllerName, ancestorRef, conditions, outdated, difference }) => [
      h("p", { class: "quiet" }, [controllerName, ancestorRef && ancestorName(ancestorRef)].filter(Boolean).join(" · "), outdated && " · of an older generation"),
      difference && h("p", { class: "differs refused" }, h("span", { class: "sign", "aria-hidden": "true" }, "≠"), ` ${difference}`),
      conditionList(conditions),
    ]));
}

const ancestorName = ({ kind, namespace, name, sectionName }) => `${kind ?? "Gateway"}/${namespace ? `${namespace}/` : ""}${name}${sectionName ? `#${sectionName}` : ""}`;

const conditionList = (conditions) => h("dl", { class: "conditions" }, conditions.map(({ type, status: value, reason, message }) => [
  h("dt", {}, type), h("dd", {}, h("span", {}, `${value} · `, reasonMark(reason)), h("span", {}, message)),
]));

function outcomesPart({ scopes, compared, outcomes }) {
  const counted = Object.entries(outcomes).filter(([, count]) => count > 0);
  return h("section", {}, h("h4", {}, `Reaches ${scopes.toLocaleString("en")} effective ${scopes === 1 ? "target" : "targets"}`),
    counted.length > 0 && h("p", { class: "tally" }, counted.map(([name, count]) => {
      const { sign, word, tone } = outcomeNamed(name);
      return h("span", { class: tone }, `${sign} ${word} on ${count} ${count === 1 ? "path" : "paths"}`);
    }), compared < scopes && h("span", { class: "quiet" }, `(of the first ${compared} targets)`)));
}

function withoutPart({ ifDeleted }) {
  if (!ifDeleted.length) return null;
  return h("section", {}, h("h4", {}, "Without it"),
    ifDeleted.slice(0, LISTED).map(differencePart),
    ifDeleted.length > LISTED && h("p", { class: "quiet" }, `and ${ifDeleted.length - LISTED} paths more`));
}

/** Before and after of one path, as in the results of `impact` and `differences`: fields or, if they are the same, policies. */
export function differencePart(difference) {
  const { policyKind, path, before, after, sameFields: isSame } = difference;
  const side = (name, answer) => h("div", {}, h("h5", { class: "side" }, name),
    !answer ? h("p", { class: "quiet" }, "nothing") : isSame ? stack(answer.policies) : fieldTable([answer]));
  return h("div", { class: "difference" }, policyKind && h("p", {}, chip(policyKind), ` ${kindName(policyKind)}`), trail(path),
    senderPart(difference),
    isSame && h("p", {}, "The same fields stay in effect. Only overridden policies change."),
    h("div", { class: "sides" }, side("Before", before), side("After", after)));
}

