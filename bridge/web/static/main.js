// The page: its content follows from the topology, the filters, the opened nodes and the choice.

import { ChangesBox } from "./changes.js";
import { assign } from "./colors.js";
import { Connection } from "./connection.js";
import { Details } from "./details.js";
import { byId } from "./dom.js";
import { Filtered, isFiltered, noFilters } from "./filtering.js";
import { Filters } from "./filters.js";
import { setUpFrame } from "./frame.js";
import { Graph } from "./graph.js";
import { readHash, writeHash } from "./hash.js";
import { onChoose } from "./links.js";
import { Outline } from "./outline.js";
import { setUpPicture } from "./picture.js";
import { RequestBox } from "./request.js";
import { Store } from "./store.js";
import { setUpTabs } from "./tabs.js";
import { setUpTheme } from "./theme.js";
import { Topology } from "./topology.js";
import { visible } from "./visible.js";
import { Wire } from "./wire.js";

const SETTLING = 250; // ms from a change until the details are queried again, with all changes in between
const TYPING = 150; // ms from a keystroke in a filter until nodes that were not loaded are requested

const topology = new Topology();
const wire = new Wire();
const store = new Store(topology, wire, refreshed);
/**
 * @type {{chosen?: string, tab: string, request?: Record<string, string>, filters: any, opened: Map<string, boolean>,
 *   way: Set<string> | null, changed: Map<string, string>, added: Map<string, any>}}
 */
const state = { chosen: undefined, tab: "details", filters: noFilters(), opened: new Map(), way: null, changed: new Map(), added: new Map() };
const drawn = { count: 0, at: 0, received: 0, shown: 0, complete: false }; // for tests and measurements

const frame = setUpFrame(); // first: the picture is fitted into the remaining space
const on = { choose, toggle };
const graph = new Graph(byId("graph"), byId("paint"), on);
const outline = new Outline(byId("outline"), on);
const details = new Details(byId("details"), wire);
const filters = new Filters(state.filters, filtersChanged);
const requestBox = new RequestBox({
  requested: (fields) => { state.request = fields; writeHash(address(), false); },
  async path(way, again) {
    if (again && !state.way) return; // the user has chosen something else since
    if (way) await store.ensure(way);
    state.way = way && new Set([...way, ...topology.ancestors([...way].slice(0, 1))]);
    draw();
  },
});
new ChangesBox({
  async changed(keys, added) {
    await store.ensure(keys.keys());
    Object.assign(state, { changed: keys, added });
    draw();
    graph.revealAll([...keys.keys()].flatMap(nodesOf));
  },
  isPolicy: (key) => wire.isPolicy(key),
});
const selectTab = setUpTabs(byId("tabs"), (tab) => { state.tab = tab; writeHash(address(), false); });
onChoose(choose);
setUpPicture(byId("picture"), graph);
setUpTheme(byId("theme"), () => { graph.refreshColors(); });

function address() {
  return { chosen: state.chosen, tab: state.tab, request: state.request ?? {}, filters: state.filters };
}

/** Choose a node or a policy, or nothing. */
async function choose(key) {
  if (key === undefined && state.way) {
    state.way = null;
    return draw();
  }
  state.chosen = key;
  state.way = null;
  if (key) showTab("details");
  writeHash(address(), true);
  if (key) await store.ensure([key]);
  draw();
  if (key) graph.reveal(topology.has(key) ? key : `${key}\n@${topology.attachedTo(key)[0]}`);
  return details.show(key, topology);
}

function showTab(tab) {
  if (tab !== state.tab || state.chosen) frame.openPanel();
  state.tab = tab;
  selectTab(tab);
}

/** Open or close the nodes below an id; without `open`, toggle. */
async function toggle(id, open = !latest?.nodes.get(id)?.open) {
  state.opened.set(id, open);
  graph.keep(id);
  if (open) await store.open(id);
  draw();
}

let latest;

/** Draw everything that depends on the state. */
function draw() {
  const filtered = new Filtered(topology, state.filters, state.added);
  const chosenNodes = state.chosen ? (topology.has(state.chosen) ? [state.chosen] : topology.attachedTo(state.chosen)) : [];
  const apart = new Set([...chosenNodes.slice(0, 40), ...(state.way ?? []), ...[...state.changed.keys()].flatMap(nodesOf).slice(0, 60)]);
  latest = visible(topology, filtered, state.opened, apart, wire.isWhole);
  const marks = { chosen: state.chosen, on: lit(chosenNodes), changed: state.changed };
  graph.draw(topology, filtered, latest, marks);
  outline.draw(topology, filtered, latest, marks);
  filters.draw(topology, wire);
  const total = Math.max(wire.total, topology.nodes.size).toLocaleString("en");
  byId("counts").textContent = isFiltered(state.filters) ? `${latest.total.toLocaleString("en")} of ${total} nodes`
    : wire.isWhole ? `${total} nodes · ${wire.policies.toLocaleString("en")} policies` : `${total} nodes`;
  byId("empty").hidden = latest.nodes.size > 0;
  byId("empty").textContent = isFiltered(state.filters) ? "No object matches the filters." : "There are no objects yet.";
  byId("filter-clear").hidden = !isFiltered(state.filters);
  drawn.count += 1;
  drawn.at = performance.now();
  drawn.shown = latest.nodes.size;
}

const nodesOf = (key) => (topology.has(key) ? [key] : topology.attachedTo(key));

/** The highlighted keys: a request's way, the objects that would change, or the nodes above and below the choice. */
function lit(chosenNodes) {
  if (state.way) return state.way;
  if (state.changed.size && !state.chosen) {
    const keys = [...state.changed.keys()].flatMap(nodesOf);
    return new Set([...state.changed.keys(), ...keys, ...topology.ancestors(keys)]);
  }
  if (!state.chosen) return null;
  return new Set([state.chosen, ...chosenNodes, ...topology.ancestors(chosenNodes), ...topology.descendants(chosenNodes)]);
}

let searching;

function filtersChanged() {
  writeHash(address(), false);
  draw();
  clearTimeout(searching);
  searching = setTimeout(() => store.search(state.filters), TYPING);
}

/** Apply the state in the address. */
async function follow() {
  const said = readHash();
  Object.assign(state.filters, {
    namespaces: said.namespaces, hiddenKinds: said.hiddenKinds, hiddenPolicyKinds: said.hiddenPolicyKinds,
    attachedOnly: said.attachedOnly, text: said.text,
  });
  state.chosen = said.chosen;
  state.request = said.request;
  filters.refresh();
  showTab(said.tab ?? "details");
  if (state.chosen) await store.ensure([state.chosen]);
  draw();
  store.search(state.filters);
  if (state.chosen) graph.reveal(nodesOf(state.chosen)[0]);
  details.show(state.chosen, topology);
  return said;
}

function refreshed() {
  const { policyKinds, undescribed } = topology.facets(wire.facets);
  assign([...policyKinds.keys(), ...undescribed.keys()]);
  requestBox.offer(topology);
  draw();
}

let settling;

const connection = new Connection({
  since: () => wire.revision,
  async load() {
    const first = topology.nodes.size === 0;
    const whole = await store.load();
    if (first && topology.nodes.size) {
      requestBox.set((await follow()).request);
      performance.mark("first-picture");
    } else details.show(state.chosen, topology);
    drawn.complete = whole && !store.isTop;
    return { whole, again: store.isTop };
  },
  change(event) {
    drawn.received = performance.now();
    store.change(event);
    settling ??= setTimeout(() => {
      settling = undefined;
      details.show(state.chosen, topology);
      requestBox.refresh();
    }, SETTLING);
  },
});

addEventListener("popstate", follow);
addEventListener("hashchange", follow);
globalThis.policyBridge = { graph, drawn, topology };
showTab("details");
details.show(undefined, topology);
connection.start();
