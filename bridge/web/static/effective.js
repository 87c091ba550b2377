// Effective policies for users: one table of fields with their values and origins, then the policies and the reasons.

import { breakable, h } from "./dom.js";
import { byName, kindName, parts, short } from "./keys.js";
import { nodeLink, policyLink, trail } from "./links.js";
import { outcomeNamed } from "./outcomes.js";
import { nameOf, text } from "./pointers.js";
import { reasonMark } from "./reasons.js";
import { yaml, yamlBlock } from "./yaml.js";

const WAYS = 3; // paths that are listed at once
const LONG = 60; // characters of a value beyond which it has a row of its own

/**
 * The effective policies of a result of `explain`, `effective` or `request`: entries {policyKind, target, paths} of any
 * number of kinds. Places (a target and a path) with the same result are one block with one table of all kinds.
 * `shown` is the node that is displayed.
 */
export function effectiveParts(entries, shown) {
  const places = new Map();
  for (const { policyKind, target, paths } of entries) {
    for (const one of paths) {
      const id = JSON.stringify([target, one.path, one.sourceNamespace]);
      if (!places.has(id)) places.set(id, { target, path: one.path, sourceNamespace: one.sourceNamespace, results: [] });
      places.get(id).results.push({ ...one, policyKind, path: undefined });
    }
  }
  for (const place of places.values()) place.results.sort((one, other) => byName(one.policyKind, other.policyKind));
  const blocks = Map.groupBy(places.values(), ({ results }) => JSON.stringify(results));
  return [
    [...blocks.values()].map((same) => block(same, shown)),
    [...Map.groupBy(entries, ({ policyKind }) => policyKind)].map(ignoredAttachments),
    ignoredLinks(entries),
  ];
}

/** Whether there is a result at all. */
export const hasPaths = (entries) => entries.some(({ paths }) => paths.length > 0);

function block(places, shown) {
  const [{ results }] = places;
  return h("div", { class: "path" },
    placesPart(places, shown),
    fieldTable(results),
    results.map((one) => [
      (one.remarks ?? []).map((remark) => h("p", { class: "quiet" }, remark)),
      (one.shadowed ?? []).map(({ path: field, policies, by, field: of }) =>
        h("p", { class: "quiet" }, h("code", {}, nameOf(field)), " of ", list(policies), " is ignored: ", nodeLink(by), " has ", h("code", {}, nameOf(of)))),
      (one.incomplete ?? []).map((reason) => h("p", { class: "refused" }, h("strong", {}, "Incomplete"), `: ${reason}`)),
    ]),
    stack(results.flatMap(({ policies }) => policies)),
    results.map(({ policyKind, steps }) => steps?.length > 0 && why(steps, results.length > 1 ? ` (${kindName(policyKind)})` : "")),
    results.map(({ policyKind, error, spec }) => !error && yamlBlock(results.length > 1 ? `${kindName(policyKind)} as YAML` : "Effective spec as YAML", spec)),
  );
}

/** For which targets and paths a block is the result. */
function placesPart(places, shown) {
  const targets = [...new Set(places.map(({ target }) => target))].sort(byName);
  const { object } = parts(shown ?? "");
  const named = targets.map((target) => nodeLink(target, parts(target).object === object && parts(target).section ? `#${parts(target).section}` : short(target)));
  const others = targets.length !== 1 || targets[0] !== shown;
  // A Gateway has one class; above an object that is displayed, or whose rules have the same result, the ways are the same.
  const isAbove = (key, target) => parts(key).object !== parts(target).object || !(targets.length > 1 || parts(target).object === object);
  const above = (path) => path.filter((key) => parts(key).kind !== "GatewayClass" && isAbove(key, path.at(-1)));
  const ways = [...new Map(places.map(({ path }) => [JSON.stringify(above(path)), above(path)])).values()].filter((path) => path.length > 0);
  const senders = [...new Set(places.map(({ sourceNamespace }) => sourceNamespace).filter(Boolean))];
  return [
    others && h("p", { class: "same" }, targets.length > 1 ? "Same for " : "For ", named.map((one, at) => [at > 0 && (at === named.length - 1 ? " and " : ", "), one])),
    ways.slice(0, WAYS).map(trail),
    ways.length > WAYS && h("details", { class: "group" }, h("summary", {}, `${ways.length - WAYS} more ${ways.length === WAYS + 1 ? "path" : "paths"} with the same result`), ways.slice(WAYS).map(trail)),
    senders.map((sourceNamespace) => senderPart({ sourceNamespace })),
  ];
}

/** The namespace for whose requests alone a path counts. */
export const senderPart = ({ sourceNamespace }) => sourceNamespace && h("p", { class: "quiet" }, `for requests from namespace ${sourceNamespace}`);

/**
 * A table of the fields of effective policies: each with its value and the policies that it came from, under its kind.
 * `results`: [{policyKind, fields, error}].
 */
export function fieldTable(results) {
  const columns = ["Field", "Value", "From", ...(results.some(({ fields }) => fields?.some(({ proxy }) => proxy !== undefined)) ? ["Proxy"] : [])];
  const wide = (content) => h("tr", {}, h("td", { colspan: columns.length }, content));
  return h("table", { class: "fields" },
    h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
    results.map(({ policyKind, fields, error }) => h("tbody", { data: policyKind ? { kind: policyKind } : {} },
      policyKind && h("tr", { class: "kind" }, h("th", { colspan: columns.length, scope: "rowgroup" }, kindName(policyKind))),
      error ? wide(h("span", { class: "error" }, `${error.code}: ${error.message}`))
        : fields.length ? fields.map((field) => fieldRow(field, columns.length)) : wide(h("span", { class: "quiet" }, "The effective spec is empty.")))));
}

/** A field, with its states in proxies if there is a column for them; a value that is not a short scalar is YAML below it, in the full width. */
function fieldRow({ field, value, policies, proxy }, columns) {
  const isNested = value !== null && typeof value === "object" && Object.keys(value).length > 0;
  const isLong = isNested || (typeof value === "string" && (value.length > LONG || value.includes("\n")));
  const size = isNested && (Array.isArray(value) ? `${value.length} ${value.length === 1 ? "item" : "items"}` : `${Object.keys(value).length} ${Object.keys(value).length === 1 ? "field" : "fields"}`);
  const cell = value === undefined ? h("td", { class: "removed" }, "removed")
    : isLong ? h("td", { class: "size" }, size || "") : h("td", {}, breakable(text(value)));
  return [
    h("tr", { class: isLong ? "above" : "" }, h("th", { scope: "row" }, breakable(nameOf(field))), cell, h("td", {}, policies.map((policy) => [originLink(policy), " "])),
      columns > 3 && h("td", { class: proxy === "verified" ? "" : "quiet" }, proxy)),
    isLong && h("tr", { class: "nested" }, h("td", { colspan: columns }, h("pre", { tabindex: 0, "aria-label": nameOf(field) }, isNested ? yaml(value) : value))),
  ];
}

/** What a field comes from: a policy, or the rule of a route, whose key has a section. Its kind is in the heading. */
const originLink = (origin) => (origin.includes("#") ? nodeLink(origin) : policyLink(origin, false));

const cross = () => [h("span", { class: "sign", "aria-hidden": "true" }, "✕"), " "];

/** Things of entries, each once: the entries of several kinds and rules have the same. */
const distinct = (things) => [...new Map(things.filter(Boolean).map((one) => [JSON.stringify(one), one])).values()];

/** The attachments of a kind that are ignored here, with their reasons. */
function ignoredAttachments([policyKind, entries]) {
  const attachments = distinct(entries.flatMap((one) => one.attachments));
  return attachments.length > 0 && h("section", { class: "ignored" }, h("h5", {}, `${kindName(policyKind)}: attached, but ignored`), attachments.map((one) =>
    h("p", { class: "refused" }, cross(), policyLink(one.policy, false), " at ", nodeLink(one.target), ": ", reasonMark(one.reason), one.message && ` – ${one.message}`)));
}

function ignoredLinks(entries) {
  const links = distinct(entries.flatMap((one) => one.links));
  if (!links.length) return null;
  return h("details", { class: "group rest" }, h("summary", {}, `Ignored links (${links.length})`), links.map((one) =>
    h("p", { class: "refused" }, cross(), nodeLink(one.parent), " → ", nodeLink(one.child), ": ", reasonMark(one.reason), one.message && ` – ${one.message}`)));
}

/** The policies of a path, from the top down, with their outcomes. */
export function stack(policies) {
  return h(
    "ul",
    { class: "stack", "aria-label": "Policies on this path" },
    policies.map(({ policy, target, strategy, outcome, overriddenBy }) => {
      const { sign, word, tone } = outcomeNamed(outcome);
      return h(
        "li",
        { class: tone },
        h("span", { class: "sign", "aria-hidden": "true" }, sign),
        h("span", {}, policyLink(policy), " ", h("span", { class: "word" }, word)),
        h("span", { class: "quiet" }, strategy !== "None" && `${strategy} `, "at ", nodeLink(target),
          overriddenBy.length > 0 && [", overridden by ", overriddenBy.map((by, at) => [at > 0 && ", ", policyLink(by)])]),
      );
    }),
  );
}

const WINS = {
  Established: "the higher policy's values win",
  Challenger: "the lower policy's values win",
};

function why(steps, kind) {
  return h(
    "details",
    { class: "why" },
    h("summary", {}, `Why${kind}: ${steps.length} ${steps.length === 1 ? "step" : "steps"} of merging`),
    h("ol", {}, steps.map(({ established, challenger, strategy, winner, result }) =>
      h("li", {},
        h("p", {}, h("strong", {}, strategy), ": ", list(established), " is higher, ", list(challenger), " is lower; ",
          winner === "Both" ? "both keep values" : WINS[winner] ?? winner, "."),
        h("pre", { tabindex: 0, "aria-label": "Result of the step" }, yaml(result))))),
  );
}

const list = (policies) => policies.map((policy, at) => [at > 0 && " + ", policyLink(policy)]);
