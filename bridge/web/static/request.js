// The form to try a request: the rule that serves it, its backends, and its effective policies.

import { query } from "./api.js";
import { announce, byId, fill, focusGuard, h, showError, showVerdict } from "./dom.js";
import { effectiveParts } from "./effective.js";
import { parts, place, short } from "./keys.js";
import { nodeLink, trail } from "./links.js";
import { reasonMark } from "./reasons.js";

const FIELDS = ["host", "path", "method", "headers", "query", "protocol", "port", "gateway", "source"];
const URL_PARTS = /^(?:(https?):\/\/)?([^/?#:]+|\[[^\]]+\])(?::(\d+))?([/?][^#]*)?(?:#.*)?$/i;

/** `on`: `requested(fields)`; `path(Set of keys | null, again)`: the way of the request, `again` if only objects changed. */
export class RequestBox {
  #on;
  #turn = 0;
  #asked; // the fields of the answer that is shown
  #made; // that answer as it was made: without what the user has opened in it since

  constructor(on) {
    this.#on = on;
    byId("request-form").addEventListener("submit", (event) => {
      event.preventDefault();
      splitUrl();
      const mayFocus = focusGuard();
      this.ask().then(() => { if (mayFocus()) showVerdict(byId("request-answer")); });
    });
    byId("request-clear").addEventListener("click", () => {
      on.requested({});
      this.set({});
      announce("The form is empty.");
    });
  }

  /** The values of the form, without empty and default ones. */
  get fields() {
    const found = {};
    for (const name of FIELDS) {
      const value = byId(`request-${name}`).value.trim();
      if (value && !(name === "method" && value === "GET")) found[name] = value;
    }
    return found;
  }

  /** Fill the form from a link, and query; without fields, clear it. */
  set(fields) {
    byId("request-form").reset();
    showError(byId("request-form"), "");
    for (const name of FIELDS) if (fields[name] !== undefined) byId(`request-${name}`).value = fields[name];
    if (Object.keys(fields).length) return this.ask();
    this.#turn += 1;
    this.#asked = undefined;
    fill(byId("request-answer"));
    return this.#on.path(null);
  }

  /** Gateways and namespaces to choose from. */
  offer(topology) {
    const gateways = topology.objects("Gateway");
    const select = byId("request-gateway");
    const chosen = select.value;
    const listed = gateways.join("\n");
    if (select.dataset.listed === listed) return;
    select.dataset.listed = listed;
    fill(select, h("option", { value: "" }, "any Gateway"), gateways.map((key) => h("option", { value: key }, place(key))),
      topology.objects("Frontend").map((key) => h("option", { value: key }, short(key))));
    select.value = gateways.includes(chosen) ? chosen : "";
  }

  /** Query the last request again, because objects have changed. */
  refresh() {
    if (this.#asked) this.ask(this.#asked, true);
  }

  async ask(fields = this.fields, again = false) {
    this.#asked = fields;
    const turn = (this.#turn += 1);
    const mayFocus = focusGuard();
    const { host, path, method, headers, query: parameters, protocol, port, gateway, source } = fields;
    const answer = byId("request-answer");
    if (!again) {
      this.#on.requested(fields);
      this.#made = undefined;
      showError(byId("request-form"), "");
      fill(answer, h("p", { class: "quiet" }, "Querying OPA …"));
    }
    let result;
    try {
      result = await query("request", {
        fields: true, host, gateway, protocol, path: path ?? "/", method: method ?? "GET",
        headers: pairs(headers, ":", "\n"), query: pairs(parameters, "=", "&"),
        ...(port ? { port: Number(port) } : {}),
        ...(source ? { sourceNamespace: source } : {}),
      });
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#made = undefined;
      fill(answer);
      showError(byId("request-form"), error.message, inputOf(error.message), mayFocus);
      return;
    }
    if (turn !== this.#turn) return;
    const made = fill(document.createElement("div"), result.nearest ? missed(result) : served(result));
    if (this.#made?.isEqualNode(made)) return;
    this.#made = made.cloneNode(true);
    answer.replaceChildren(...made.childNodes);
    if (!again) announce(answer.querySelector(".verdict").textContent);
    const backends = result.backends.flatMap(({ backend, target }) => [backend, target]);
    this.#on.path(new Set([result.gateway, result.listener, result.route, result.rule, ...backends].filter(Boolean)), again);
  }
}

/** The input that an error is about: its message begins with the name of the field. */
function inputOf(message) {
  const name = message.split(/[^A-Za-z]/, 1)[0];
  return FIELDS.includes(name) ? byId(`request-${name}`) : name === "sourceNamespace" ? byId("request-source") : undefined;
}

/** A URL in the field of the host, or a query in that of the path, into the fields of its parts. OPA says why others are wrong. */
function splitUrl() {
  const put = (values) => { for (const [name, value] of Object.entries(values)) byId(`request-${name}`).value = value; };
  const [, scheme, host, port, rest] = URL_PARTS.exec(byId("request-host").value.trim()) ?? [];
  if (scheme || rest) put({ host, protocol: scheme?.toUpperCase() ?? "", port: port ?? "" });
  else if (port) put({ host, port });
  if (rest) put({ path: rest, query: "" });
  const [path, parameters] = byId("request-path").value.split(/\?(.*)/s);
  if (parameters !== undefined) put({ path, query: parameters });
}

/** Pairs `name: value` (or `name=value`) by name; a list for a repeated name. */
function pairs(text, sign, between) {
  const found = Object.create(null); // a header can have the name __proto__
  for (const line of (text ?? "").split(between).map((one) => one.trim()).filter(Boolean)) {
    const at = line.indexOf(sign);
    const [name, value] = at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    found[name] = name in found ? [found[name], value].flat() : value;
  }
  return found;
}

function served({ gateway, listener, route, rule, backends, filters, filterBackends, failure, policies, also, warnings }) {
  const weights = backends.reduce((sum, { weight }) => sum + weight, 0);
  return [
    h("h3", { class: "spoken" }, "Answer"),
    h("p", { class: `verdict ${failure ? "bad" : "good"}` }, h("span", { "aria-hidden": "true" }, failure ? "✕ " : "✓ "),
      failure && `Every request fails (${failure.status}): ${failure.message}. `, "Served by ", nodeLink(rule ?? route ?? listener)),
    trail([gateway, listener, route, rule].filter(Boolean)),
    warnings.map(({ message }) => h("p", {}, `${message}.`)),
    h("h4", {}, "Goes to"),
    backends.length + filterBackends.length > 0 && h("ul", { class: "reach" }, [...backends, ...filterBackends].map(({ backend, target, port, weight, filter, problem }) =>
      h("li", {}, nodeLink(target ?? backend), ` port ${port ?? "–"} `, h("span", { class: "quiet" }, filter ? `by ${filter}` : weights > 0 && `${Math.round((100 * weight) / weights)} %`),
        problem && h("p", { class: "refused" }, reasonMark(problem.reason), ` – ${problem.message}`)))),
    filters.length > 0 && h("p", {}, backends.length ? "through " : "", filters.map(({ type }) => type).join(", ")),
    !backends.length && !filters.length && h("p", { class: "quiet" }, "no backend"),
    h("h4", { class: "lead" }, "Effective policies"),
    policies.length ? effectiveParts(policies, rule ?? route ?? listener) : h("p", { class: "quiet" }, "No policy applies to it."),
    also.length > 0 && h("h4", {}, "Other listeners that accept it"),
    also.length > 0 && h("ul", { class: "reach" }, also.map((one) => h("li", {}, nodeLink(one.listener), one.rule && [" → ", nodeLink(one.rule)]))),
  ];
}

function missed({ gateway, listener, nearest, undecided }) {
  return [
    h("h3", { class: "spoken" }, "Answer"),
    h("p", { class: "verdict bad" }, h("span", { "aria-hidden": "true" }, "✕ "), reasonMark(nearest.reason), ` – ${nearest.message}`),
    gateway && trail([gateway, listener].filter(Boolean)),
    nearest.candidates.length > 0 && h("h4", {}, undecided.length > 0 ? "May serve it" : "Nearest"),
    nearest.candidates.map(({ node, reason, message }) =>
      h("p", { class: "refused" }, parts(node).name && nodeLink(node), ": ", reasonMark(reason), ` – ${message}`)),
  ];
}
