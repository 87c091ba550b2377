// The page: its content follows from the topology, the filters, the opened nodes and the choice.

import { problems as askProblems, query, violations as askViolations } from "./api.js";
import { ChangesBox } from "./changes.js";
import { Connection } from "./connection.js";
import { Coverage } from "./coverage.js";
import { Details } from "./details.js";
import { byId } from "./dom.js";
import { find, wordsOf } from "./finding.js";
import { Filtered, isFiltered, noFilters, nothingShown } from "./filtering.js";
import { Filters } from "./filters.js";
import { setUpFrame } from "./frame.js";
import { Graph } from "./graph.js";
import { readHash, writeHash } from "./hash.js";
import { isNamed } from "./keys.js";
import { onChoose } from "./links.js";
import { List } from "./list.js";
import { Mentions } from "./mentions.js";
import { Outline } from "./outline.js";
import { setUpPicture } from "./picture.js";
import { loadReasons } from "./reasons.js";
import { RequestBox } from "./request.js";
import { Search } from "./search.js";
import { Store } from "./store.js";
import { setUpTabs } from "./tabs.js";
import { setUpTheme } from "./theme.js";
import { Topology } from "./topology.js";
import { Violations } from "./violations.js";
import { visible } from "./visible.js";
import { Wire } from "./wire.js";

const FOUND = 20; // results of a search that the picture opens its groups for
const LARGE = 300; // nodes above which the list is the start
const SMALL = matchMedia("(max-width: 800px)"); // a screen on which the list is the start, as in style.css
const SETTLING = 150; // ms from a change until the details are queried again, with all changes in between

const topology = new Topology();
const wire = new Wire();
const violations = new Violations();
const coverage = new Coverage();
const store = new Store(topology, wire, refreshed);
/**
 * `view`: what the user has chosen; `start`: the view that follows from the size otherwise.
 *
 * @type {{chosen?: string, tab: string, view?: string, start: string, sort: string, request?: Record<string, string>, filters: any, opened: Map<string, boolean>,
 *   way: Set<string> | null, changed: Map<string, string>, added: Map<string, any>}}
 */
const state = { chosen: undefined, tab: "details", view: undefined, start: "picture", sort: "namespace", filters: noFilters(), opened: new Map(), way: null, changed: new Map(), added: new Map() };
const drawn = { count: 0, at: 0, received: 0, shown: 0, complete: false }; // for tests and measurements

const viewButtons = [byId("view-list"), byId("view-picture")];
const frame = setUpFrame(() => draw()); // first: the picture is fitted into the remaining space
const on = { choose, toggle };
const graph = new Graph(byId("graph"), byId("paint"), byId("columns"), on);
const outline = new Outline(byId("outline"), on);
const list = new List({ choose, sort: (by) => { state.sort = by; writeHash(address(), false); draw(); } });
const mentions = new Mentions(() => draw(true));
const details = new Details(byId("details"), wire, violations, state.filters, showOnly);
const filters = new Filters(state.filters, filtersChanged);
const search = new Search({
  changed: (text) => { state.filters.text = text; filtersChanged(); },
  choose: async (key) => {
    await choose(key);
    details.focus();
  },
  only: (namespace) => showOnly({ namespaces: new Set([namespace]) }),
});
const requestBox = new RequestBox({
  requested: (fields) => { state.request = fields; writeHash(address(), false); },
  path(way, again) {
    if (again && !state.way) return; // the user has chosen something else since
    state.way = way && new Set([...way, ...topology.ancestors([...way].slice(0, 1))]);
    draw();
    if (way && !again) graph.reveal([[...(state.way ?? [])]]);
  },
});
const changesBox = new ChangesBox({
  changed(keys, added) {
    Object.assign(state, { changed: keys, added });
    draw();
    graph.reveal([[...keys.keys()].flatMap(nodesOf)]);
  },
  isPolicy: (key) => wire.isPolicy(key),
  routesAbove: (key) => (topology.nodes.get(key)?.level === "Backend" ? topology.objects("Route").filter((route) => topology.ancestors([key]).has(route)) : []),
});
const selectTab = setUpTabs(byId("tabs"), (tab) => { state.tab = tab; writeHash(address(), false); });
onChoose(choose);
setUpPicture(byId("picture"), graph);
setUpTheme(byId("theme"), () => { graph.refreshColors(); });

function address() {
  return { chosen: state.chosen, tab: state.tab, view: state.view, sort: state.sort, request: state.request ?? {}, filters: state.filters };
}

/** Choose a node or a policy, or nothing. */
function choose(key) {
  if (key === undefined && state.way) {
    state.way = null;
    return draw();
  }
  state.chosen = key;
  state.way = null;
  if (key) showTab("details");
  writeHash(address(), true);
  draw();
  revealChosen();
  return details.show(key, topology);
}

/** Show the chosen nodes with all that is lit, or with what is above them, or at least the first of them. */
function revealChosen() {
  const nodes = state.chosen ? nodesOf(state.chosen) : [];
  if (nodes.length) graph.reveal([[...(lit(nodes) ?? [])], [...nodes, ...topology.ancestors(nodes)], nodes.slice(0, 1)]);
}

/** Show everything that these filters leave. */
function showOnly(some) {
  filters.clear();
  Object.assign(state.filters, some);
  filtersChanged();
}

function showTab(tab) {
  if (tab !== state.tab || state.chosen) frame.openPanel();
  state.tab = tab;
  selectTab(tab);
}

/** Open or close the nodes below an id; without `open`, toggle. */
function toggle(id, open = !latest?.nodes.get(id)?.open) {
  state.opened.set(id, open);
  graph.keep(id);
  draw();
  if (open) graph.reveal([[id, ...(latest.children.get(id) ?? [])], [id]]);
}

let latest;

/** Draw everything that depends on the state. `fits`: whether the picture is fitted to it, unless the user has moved it. */
function draw(fits = false) {
  state.chosen = keyNamed(state.chosen);
  const words = wordsOf(state.filters.text);
  const chosenNodes = state.chosen ? nodesOf(state.chosen) : [];
  const named = new Set([...chosenNodes.slice(0, 40), ...[...state.changed.keys()].flatMap(nodesOf).slice(0, 60)]);
  const filtered = new Filtered(topology, state.filters, state.added, violations, wire.troubledKeys(), coverage.targets, named);
  latest = visible(topology, filtered, state.opened, new Set([...named, ...(state.way ?? []), ...found(words)]), wire.isWhole);
  const marks = { chosen: state.chosen, on: lit(chosenNodes), changed: state.changed, words, matches: mentions.found, violations, sort: state.sort, filters: state.filters };
  const view = state.view ?? state.start;
  const isNew = document.body.dataset.view !== view;
  document.body.dataset.view = view;
  for (const button of viewButtons) button.setAttribute("aria-pressed", String(button.dataset.view === view));
  if (view === "list") list.draw(topology, filtered, marks, wire);
  else graph.draw(topology, filtered, latest, marks, fits || isNew);
  outline.draw(topology, filtered, latest, marks);
  filters.draw(topology.facets(), violations, coverage);
  search.draw(state.filters.text, topology, wire, mentions, violations.names);
  byId("focus")?.setAttribute("aria-pressed", String(state.filters.focus === state.chosen));
  const total = Math.max(wire.total, topology.size).toLocaleString("en");
  byId("counts").textContent = isFiltered(state.filters) ? `${latest.total.toLocaleString("en")} of ${total} nodes`
    : `${total} nodes · ${wire.policies.toLocaleString("en")} policies`;
  byId("empty").hidden = view === "list" || latest.nodes.size > 0;
  byId("empty").textContent = nothingShown(state.filters, topology, wire);
  drawn.count += 1;
  drawn.at = performance.now();
  drawn.shown = latest.nodes.size;
}

/** The nodes that a search finds first, which the picture has also where it is closed. */
function found(words) {
  if (!words.length) return [];
  return find(state.filters.text, topology, wire, mentions.found, violations.names).slice(0, FOUND).flatMap((one) => ("key" in one ? nodesOf(one.key) : []));
}

/** The key that a link names in its short form, or the text itself while nothing has it. */
function keyNamed(text) {
  if (!text || topology.has(text) || wire.isPolicy(text)) return text;
  const named = (key) => isNamed(key, text);
  return [...topology.nodes.keys()].find(named) ?? [...wire.policyKeys()].find(named) ?? text;
}

const nodesOf = (key) => (topology.has(key) ? [key] : topology.shownAt(key));

/** The highlighted keys: a request's way, the objects that would change, or the nodes above and below the choice. */
function lit(chosenNodes) {
  if (state.way) return state.way;
  if (state.changed.size && !state.chosen) {
    const keys = [...state.changed.keys()].flatMap(nodesOf);
    return new Set([...state.changed.keys(), ...keys, ...topology.ancestors(keys)]);
  }
  if (!state.chosen) return null;
  return new Set([state.chosen, ...chosenNodes, ...topology.ancestors(chosenNodes), ...topology.descendants(chosenNodes), ...state.changed.keys()]);
}

function filtersChanged() {
  writeHash(address(), false);
  mentions.ask(state.filters.text);
  askCoverage();
  draw(true);
}

async function askCoverage(again = false) {
  if (await coverage.ask(state.filters.without, again)) draw(!again);
}

/** The view that a page starts with, until the user chooses one. */
function chooseStart() {
  state.start = SMALL.matches || wire.total > LARGE ? "list" : "picture";
}

/** Apply the state in the address. */
function follow() {
  const said = readHash();
  const isOther = JSON.stringify(said.request) !== JSON.stringify(state.request ?? {});
  Object.assign(state.filters, said.filters);
  state.view = said.view;
  state.sort = said.sort;
  chooseStart();
  state.chosen = said.section && said.chosen && !said.chosen.includes("#") ? `${said.chosen}#${said.section}` : said.chosen;
  mentions.ask(state.filters.text);
  state.request = said.request;
  showTab(said.tab ?? "details");
  askCoverage();
  draw(true);
  revealChosen();
  details.show(state.chosen, topology);
  if (isOther) requestBox.set(said.request);
}

function refreshed() {
  requestBox.offer(topology);
  draw();
}

let settling;

/** Query all that is shown again: objects have changed. */
function askAgain() {
  settling = undefined;
  details.show(state.chosen, topology);
  requestBox.refresh();
  changesBox.outdate();
  askCoverage(true);
  mentions.ask(state.filters.text, true);
  loadProblems();
}

let examining = false;
let examineAgain = false;

/** Load the problems beside links and outcomes, one request at a time. */
async function loadProblems() {
  examineAgain = true;
  if (examining) return;
  examining = true;
  while (examineAgain) {
    examineAgain = false;
    try {
      wire.loadProblems(await askProblems());
      details.show(state.chosen, topology);
    } catch (error) {
      if (error.status === undefined) throw error; // the connection shows the others, and a new state or change loads again
    }
  }
  examining = false;
}

const connection = new Connection({
  violations: loadViolations,
  since: () => wire.revision,
  state({ outcomes }) {
    const isNew = outcomes !== wire.hasOutcomes;
    wire.hasOutcomes = outcomes;
    if (!isNew) return;
    if (!state.chosen) details.show(undefined, topology);
    loadProblems();
  },
  has: (revision) => wire.has(revision),
  async load() {
    const first = topology.nodes.size === 0;
    const before = drawn.count;
    const { whole, hasTop, again } = await store.load();
    if (first && topology.nodes.size) {
      follow();
      performance.mark("first-picture");
      loadProblems();
    } else if (drawn.count > before) {
      askAgain();
      if (!drawn.complete) {
        chooseStart();
        draw(true);
        revealChosen();
      }
    }
    drawn.complete ||= whole && !again;
    return { whole, hasTop, again };
  },
  change(event) {
    drawn.received = performance.now();
    store.change(event);
    settling ??= setTimeout(askAgain, SETTLING);
  },
});

let judging;

/** Load the violations, a moment after the first of several changes. */
function loadViolations() {
  judging ??= setTimeout(async () => {
    judging = undefined;
    const had = violations.constraints.length > 0;
    try {
      const names = await query("names", { types: ["policybridge.io/Constraint"] });
      violations.load(await askViolations(), names);
    } catch (error) {
      if (error.status === undefined) throw error; // the connection shows the others, and a new one has them again
      return;
    }
    if (!had && !violations.constraints.length) return;
    draw(state.filters.violations.size > 0);
    details.show(state.chosen, topology);
  }, SETTLING);
}

for (const button of viewButtons) {
  button.addEventListener("click", () => {
    state.view = button.dataset.view;
    writeHash(address(), false);
    draw();
    revealChosen();
  });
}
addEventListener("popstate", follow);
addEventListener("hashchange", follow);
loadReasons().then(() => details.show(state.chosen, topology));
globalThis.policyBridge = { graph, drawn, topology };
showTab("details");
details.show(undefined, topology);
connection.start();
