// Effective policies for users: each field with its origin, the outcome of each policy, and why.

import { breakable, h } from "./dom.js";
import { kindName } from "./keys.js";
import { chip, nodeLink, policyLink, trail } from "./links.js";
import { outcomeNamed } from "./outcomes.js";
import { nameOf, text } from "./pointers.js";
import { reasonMark } from "./reasons.js";
import { yaml, yamlBlock } from "./yaml.js";

/** One kind's part of a result of `explain` or `effective`. */
export function effectiveKind({ policyKind, target, paths, attachments = [], links = [] }, shownTarget) {
  return h(
    "section",
    { class: "effective", data: { kind: policyKind } },
    h("h4", {}, chip(policyKind), ` ${kindName(policyKind)}`, target !== shownTarget && [" at ", nodeLink(target)]),
    alike(paths).map(pathPart),
    !paths.length && h("p", { class: "quiet" }, "No policy of this kind applies here."),
    attachments.length > 0 && h("h5", {}, "Attached, but ignored"),
    attachments.map((one) =>
      h("p", { class: "refused" }, h("span", { class: "sign", "aria-hidden": "true" }, "✕"), " ", policyLink(one.policy),
        " at ", nodeLink(one.target), ": ", reasonMark(one.reason), one.message && ` – ${one.message}`)),
    links.length > 0 && h("h5", {}, "Links that are ignored"),
    links.map((one) =>
      h("p", { class: "refused" }, h("span", { class: "sign", "aria-hidden": "true" }, "✕"), " ", nodeLink(one.parent), " → ",
        nodeLink(one.child), ": ", reasonMark(one.reason), one.message && ` – ${one.message}`)),
  );
}

/** Group the paths that have the same result for the same reasons. */
function alike(paths) {
  const found = Map.groupBy(paths, (one) => JSON.stringify({ ...one, path: undefined }));
  return [...found.values()].map((same) => ({ ...same[0], ways: same.map(({ path }) => path) }));
}

function pathPart(path) {
  return h(
    "div",
    { class: "path" },
    path.ways.map((keys) => trail(keys)),
    senderPart(path),
    path.error ? h("p", { class: "error" }, `${path.error.code}: ${path.error.message}`) : fieldTable(path.fields),
    (path.shadowed ?? []).map(({ path: field, policies, by, field: of }) =>
      h("p", { class: "quiet" }, h("code", {}, nameOf(field)), " of ", list(policies), " is ignored: ", nodeLink(by), " has ", h("code", {}, nameOf(of)))),
    (path.incomplete ?? []).map((reason) => h("p", { class: "refused" }, h("strong", {}, "Incomplete"), `: ${reason}`)),
    stack(path.policies),
    path.steps?.length > 0 && why(path.steps),
    !path.error && yamlBlock("Effective spec as YAML", path.spec),
  );
}

/** The namespace for whose requests alone a path counts. */
export const senderPart = ({ sourceNamespace }) => sourceNamespace && h("p", { class: "quiet" }, `for requests from namespace ${sourceNamespace}`);

/** The fields of an effective policy, each with its value and the policies that it came from. */
export function fieldTable(fields) {
  if (!fields.length) return h("p", { class: "quiet" }, "The effective spec is empty.");
  return h(
    "table",
    { class: "fields" },
    h("thead", {}, h("tr", {}, ["Field", "Value", "From"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, fields.map(({ field, value, policies }) =>
      h("tr", {}, h("th", { scope: "row" }, breakable(nameOf(field))),
        h("td", { class: value === undefined ? "removed" : "" }, value === undefined ? "removed" : breakable(text(value))),
        h("td", {}, policies.map((policy) => [originLink(policy), " "]))))),
  );
}

/** What a field comes from: a policy, or the rule of a route, whose key has a section. */
const originLink = (origin) => (origin.includes("#") ? nodeLink(origin) : policyLink(origin));

/** The policies of a path, the established first, with their outcomes. */
function stack(policies) {
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
  Established: "the established values stay, and the challenger adds nothing",
  Challenger: "the challenger's values win",
};

function why(steps) {
  return h(
    "details",
    { class: "why" },
    h("summary", {}, `Why: ${steps.length} ${steps.length === 1 ? "step" : "steps"} of merging`),
    h("ol", {}, steps.map(({ established, challenger, strategy, winner, result }) =>
      h("li", {},
        h("p", {}, list(established), " is established, ", list(challenger), " challenges. By ", h("strong", {}, strategy), " ",
          winner === "Both" ? "both keep values" : WINS[winner] ?? winner, "."),
        h("pre", { tabindex: 0, "aria-label": "Result of the step" }, yaml(result))))),
  );
}

const list = (policies) => policies.map((policy, at) => [at > 0 && " + ", policyLink(policy)]);
