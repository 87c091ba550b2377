// The picture: Cytoscape with the visible nodes. Updates keep pan and zoom, and move as little as possible.

import cytoscape from "./vendor/cytoscape.js";
import { colorOf, monogramOf } from "./colors.js";
import { visible } from "./dom.js";
import { isFound, isFoundPolicy } from "./finding.js";
import { graphStyle } from "./graph_style.js";
import { parts, place, short } from "./keys.js";
import { arrange, CARD, PILL, SECTION } from "./layout.js";
import { outcomeOf } from "./outcomes.js";
import { Painter } from "./painter.js";
import { naming, pills } from "./visible.js";

const CURVED = 1200; // edges up to which they are drawn as curves
// The zoom below which a fitted picture shows a part instead of everything, and the zoom of that part. Of closed nodes
// the names are the only content.
const OPEN = { readable: 0.3, start: 0.5 };
const CLOSED = { readable: 0.6, start: 0.7 };
const EDGE = 16; // pixels around the beginning of a large picture
const LARGEST = 1.1; // the zoom up to which a small picture is enlarged
const CONTROLS = { width: 58, height: 128 }; // pixels of the corner that has the zoom buttons

/** `on`: `choose(key | undefined)`, `toggle(id, open)`. */
export class Graph {
  #cy;
  #painter;
  #on;
  #structure = "";
  #positions = new Map();
  #fitted = false;
  #moved = false; // whether the user has moved or zoomed the picture since it was last fitted
  #fit = () => this.fit(true); // how it was last fitted
  #zooms = OPEN;
  #anchor;

  constructor(container, canvas, on) {
    this.#on = on;
    this.#cy = cytoscape({
      container,
      style: graphStyle(),
      layout: { name: "preset" },
      autoungrabify: true,
      autounselectify: true,
      boxSelectionEnabled: false,
      minZoom: 0.04,
      maxZoom: 2.5,
      pixelRatio: "auto",
      textureOnViewport: false,
      hideEdgesOnViewport: false,
    });
    this.#painter = new Painter(this.#cy, canvas);
    this.#cy.on("dragpan scrollzoom pinchzoom", () => { this.#moved = true; });
    this.#cy.on("tap", (event) => this.#tapped(event));
    this.#cy.on("dbltap", "node.opens", (event) => this.#toggle(event.target));
    this.#cy.on("mouseover", "node", (event) => {
      container.title = visible(event.target.data("title") ?? "");
      container.classList.add("over");
    });
    this.#cy.on("mouseout", "node", () => {
      container.title = "";
      container.classList.remove("over");
    });
  }

  /** The current zoom and pan, and numbers of elements; for tests and measurements. */
  get view() {
    return { zoom: this.#cy.zoom(), pan: { ...this.#cy.pan() }, nodes: this.#cy.nodes().length, edges: this.#cy.edges().length };
  }

  /** The position of an element on the page, by its id in the picture, and its classes; for tests. */
  position(id) {
    const node = this.#cy.getElementById(id);
    if (node.empty()) return null;
    if (node.isEdge()) return { classes: node.classes() };
    const { left, top } = this.#cy.container().getBoundingClientRect();
    const { x, y } = node.renderedPosition();
    return { x: left + x, y: top + y, classes: node.classes() };
  }

  /**
   * Draw. `shown`: the result of `visible`; `marks`: {chosen, on (keys of a path), changed: Map key -> sign, words (of a
   * search)}. With `fits` the picture is fitted again, unless the user has moved it.
   */
  draw(topology, filtered, shown, marks, fits) {
    this.#zooms = shown.everything ? OPEN : CLOSED;
    const described = describe(topology, filtered, shown, marks);
    const structure = JSON.stringify([
      described.cards.map(({ id, pills: count }) => [id, count]),
      described.edges.map(({ id }) => id),
    ]);
    if (structure !== this.#structure) {
      this.#structure = structure;
      this.#relayout(described, shown);
    }
    this.#sync(described);
    if (!described.cards.length || (this.#fitted && (!fits || this.#moved))) return;
    this.#fitted = true;
    this.fit(true);
  }

  /** Show everything; with `readable` what a search has found, or the beginning, if everything would be too small to read. */
  fit(readable = false) {
    const cy = this.#cy;
    this.#moved = false;
    this.#fit = () => this.fit(true);
    cy.resize();
    this.#fitTo(cy.elements());
    if (!readable || cy.zoom() >= this.#zooms.readable) return;
    const found = cy.nodes(".found");
    if (found.nonempty()) {
      this.#fitReadable([found], found.first());
      return;
    }
    const zoom = this.#zooms.start;
    cy.zoom(zoom);
    const box = cy.elements().boundingBox();
    const [toTop, toBottom] = [EDGE - box.y1 * zoom, cy.height() - EDGE - box.y2 * zoom];
    const tall = toBottom < toTop;
    const wide = box.w * zoom > cy.width() - 60;
    cy.pan({
      x: wide ? EDGE - box.x1 * zoom : (cy.width() - box.w * zoom) / 2 - box.x1 * zoom,
      y: tall ? Math.max(toBottom, Math.min(toTop, this.#rootTop(zoom))) : (cy.height() - box.h * zoom) / 2 - box.y1 * zoom,
    });
  }

  #fitTo(elements) {
    const cy = this.#cy;
    const margin = Math.min(24, cy.width() / 40);
    cy.fit(elements, margin);
    const { x2, y2 } = elements.renderedBoundingBox();
    if (x2 > cy.width() - CONTROLS.width && y2 > cy.height() - CONTROLS.height) this.#fitBesideControls(elements, margin);
    if (cy.zoom() > LARGEST) cy.zoom({ level: LARGEST, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  }

  #fitBesideControls(elements, margin) {
    const cy = this.#cy;
    const box = elements.boundingBox();
    const [width, height] = [cy.width() - margin - CONTROLS.width, cy.height() - 2 * margin];
    const zoom = Math.min(width / box.w, height / box.h);
    cy.zoom(zoom);
    cy.pan({
      x: margin + (width - box.w * zoom) / 2 - box.x1 * zoom,
      y: margin + (height - box.h * zoom) / 2 - box.y1 * zoom,
    });
  }

  zoomBy(factor) {
    const cy = this.#cy;
    this.#moved = true;
    cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  }

  panBy(x, y) {
    this.#moved = true;
    this.#cy.panBy({ x, y });
  }

  /**
   * Show nodes: the first of the `choices` (lists of ids) that can be read as a whole, otherwise the last one. What is visible
   * already stays in its place. If the user has moved the picture, it moves no further than needed for the last choice.
   */
  reveal(choices) {
    const cy = this.#cy;
    const found = choices.map((ids) => cy.collection(ids.map((id) => cy.getElementById(id)).filter((node) => node.nonempty())))
      .filter((nodes) => nodes.nonempty());
    if (!found.length || (cy.zoom() >= this.#zooms.readable && this.#isVisible(found[0]))) return;
    const last = found.at(-1);
    if (this.#moved) {
      if (!this.#isVisible(last)) cy.center(last);
      return;
    }
    this.#fit = () => this.reveal(choices);
    this.#fitReadable(found, last);
  }

  /** Show the first of the `choices` (collections) that can be read as a whole, otherwise the nodes `last`. */
  #fitReadable(choices, last) {
    const cy = this.#cy;
    for (const nodes of choices) {
      this.#fitTo(nodes);
      if (cy.zoom() >= this.#zooms.readable) return;
    }
    cy.zoom(this.#zooms.start);
    cy.center(last);
  }

  #isVisible(nodes) {
    const { x1, y1, x2, y2 } = nodes.renderedBoundingBox({ includeEdges: false });
    return x1 >= 0 && y1 >= 0 && x2 <= this.#cy.width() && y2 <= this.#cy.height();
  }

  /** Set the node that keeps its place on the screen in the next layout. */
  keep(id) {
    this.#anchor = id;
  }

  /** Adapt to another size: fit again, unless the user has chosen a part. */
  resize() {
    this.#cy.resize();
    if (this.#fitted && !this.#moved) this.#fit();
  }

  refreshColors() {
    this.#painter.refreshColors();
    this.#cy.style(graphStyle());
  }

  #rootTop(zoom) {
    // A root is at the middle of the nodes below it: move the first root near the middle of the picture.
    const first = this.#painter.items.find((item) => !item.pill);
    return this.#cy.height() / 2 - (first?.y ?? 0) * zoom;
  }

  #relayout(described, shown) {
    const anchor = this.#anchorNow();
    this.#positions = arrange(described.cards, described.edges, shown.children, shown.roots);
    this.#anchor = undefined;
    const now = anchor && this.#positions.get(anchor.id);
    if (!now) return;
    const zoom = this.#cy.zoom();
    this.#cy.pan({ x: anchor.x - now.x * zoom, y: anchor.y - now.y * zoom });
  }

  /** The node that stays in place: the requested one, otherwise the card nearest to the middle. */
  #anchorNow() {
    const cy = this.#cy;
    if (!this.#fitted) return undefined;
    const zoom = cy.zoom();
    const pan = cy.pan();
    const screen = ({ x, y }) => ({ x: x * zoom + pan.x, y: y * zoom + pan.y });
    if (this.#anchor && this.#positions.has(this.#anchor)) {
      return { id: this.#anchor, ...screen(this.#positions.get(this.#anchor)) };
    }
    let best;
    for (const [id, position] of this.#positions) {
      const { x, y } = screen(position);
      const distance = Math.hypot(x - cy.width() / 2, y - cy.height() / 2);
      if (!best || distance < best.distance) best = { id, x, y, distance };
    }
    return best;
  }

  #sync({ items, edges }) {
    const cy = this.#cy;
    const wanted = new Map();
    for (const item of items) {
      const at = item.pill ? pillPosition(this.#positions.get(item.owner), item) : this.#positions.get(item.id);
      item.x = at.x;
      item.y = at.y;
      wanted.set(`n${item.id}`, { item });
    }
    const plain = edges.length > CURVED;
    for (const edge of edges) wanted.set(`e${edge.id}`, { edge });
    cy.batch(() => {
      cy.elements().forEach((element) => {
        if (!wanted.has(`${element.isNode() ? "n" : "e"}${element.isNode() ? element.id() : element.data("name")}`)) element.remove();
      });
      const fresh = [];
      for (const { item } of wanted.values()) if (item) this.#node(item, fresh);
      for (const { edge } of wanted.values()) if (edge) this.#edge(edge, plain, fresh);
      if (fresh.length) cy.add(fresh);
    });
    this.#painter.items = items;
    cy.forceRender();
  }

  #node(item, fresh) {
    const data = { id: item.id, key: item.key, color: item.color, width: item.size.width, title: item.title };
    const found = this.#cy.getElementById(item.id);
    if (found.empty()) {
      fresh.push({ group: "nodes", data, position: { x: item.x, y: item.y }, classes: item.classes });
      return;
    }
    const { x, y } = found.position();
    if (x !== item.x || y !== item.y) found.position({ x: item.x, y: item.y });
    if (found.data("title") !== data.title || found.data("color") !== data.color) found.data(data);
    if (found.classes().join(" ") !== item.classes.join(" ")) found.classes(item.classes);
  }

  #edge(edge, plain, fresh) {
    const id = `\n${edge.id}`; // edges and nodes share one namespace of ids
    const from = this.#positions.get(edge.from);
    const to = this.#positions.get(edge.to);
    const classes = [...edge.classes, ...(plain ? ["plain"] : [])];
    const data = { id, name: edge.id, source: edge.from, target: edge.to, ...bends(from, to) };
    const found = this.#cy.getElementById(id);
    if (found.empty()) {
      fresh.push({ group: "edges", data, classes });
      return;
    }
    if (found.data("bends") !== data.bends || found.data("weights") !== data.weights) {
      found.data({ bends: data.bends, weights: data.weights });
    }
    if (found.classes().join(" ") !== classes.join(" ")) found.classes(classes);
  }

  #tapped(event) {
    if (event.target === this.#cy) {
      this.#on.choose(undefined);
      return;
    }
    if (!event.target.isNode()) return;
    const node = event.target;
    const onBadge = node.hasClass("opens") && event.position.x > node.position("x") + node.width() / 2 - 44;
    if (node.hasClass("group") || onBadge) this.#toggle(node);
    else if (node.data("key")) this.#on.choose(node.data("key"));
  }

  #toggle(node) {
    this.#anchor = node.id();
    this.#on.toggle(node.id());
  }
}

/** The content of the picture in drawing order: items (cards and pills), cards with their number of pills, edges. */
function describe(topology, filtered, shown, { chosen, on, changed, words, violations }) {
  const items = [];
  const cards = [];
  const dimmed = (key) => on !== null && !on.has(key);
  for (const entry of shown.nodes.values()) {
    const { caption, name } = naming(topology, entry);
    const dim = on !== null && !(entry.key ? on.has(entry.key) : false);
    const mark = entry.key ? changed.get(entry.key) : entry.group.keys.some((key) => changed.has(key)) ? "△" : undefined;
    const opens = entry.inside > 0;
    const violation = violations.mark(entry.key);
    const size = entry.key?.includes("#") ? SECTION : CARD;
    items.push({
      id: entry.id, key: entry.key, caption, name, dim, mark, violation, size, isChosen: entry.key !== undefined && entry.key === chosen,
      badge: opens && !entry.open ? `${entry.inside.toLocaleString("en")} ▸` : opens && !shown.everything ? "▾" : "",
      title: [entry.key ? short(entry.key) : `${caption} ${name}`, violation?.words].filter(Boolean).join(": "),
      classes: classes({
        card: true, section: entry.key?.includes("#"), group: entry.group, opens, dim, changed: mark, violating: violation,
        chosen: entry.key !== undefined && entry.key === chosen,
        found: words.length > 0 && entry.key !== undefined && isFound(topology.nodes.get(entry.key), words),
      }),
    });
    const own = pills(filtered, entry);
    cards.push({ id: entry.id, pills: own.length, size });
    own.forEach((pill, row) => items.push(pillItem(pill, row, entry, size, { chosen, changed, words, violations, dim: dim && dimmed(pill.attached?.policy) })));
  }
  const edges = shown.edges.map((edge) => {
    const lit = on !== null && on.has(shown.nodes.get(edge.from).key) && on.has(shown.nodes.get(edge.to).key);
    return {
      ...edge,
      classes: classes({ transitive: edge.transitive, side: edge.side, on: lit, dim: on !== null && !lit }),
    };
  });
  return { items, cards, edges };
}

function pillItem({ id, attached, policyKind, count, overridden, more }, row, entry, card, { chosen, changed, words, violations, dim }) {
  const color = policyKind ? colorOf(policyKind) : "#888888";
  const size = { width: card.width - PILL.indent, height: PILL.height };
  const base = { id, owner: entry.id, row, first: row === 0, pill: true, color, dim, size, card };
  if (!attached) {
    const name = more ? `${more} more policies` : `× ${count.toLocaleString("en")}${overridden ? `, ${overridden} overridden` : ""}`;
    return {
      ...base, key: more ? entry.key : undefined, name, sign: "", muted: true, title: name,
      monogram: more ? "" : monogramOf(policyKind), classes: classes({ pill: true, more, dim }),
    };
  }
  const outcome = outcomeOf(attached);
  const violation = violations.mark(attached.policy);
  return {
    ...base,
    violation,
    key: attached.policy,
    name: parts(attached.policy).namespace === (entry.key && parts(entry.key).namespace) ? parts(attached.policy).name : place(attached.policy),
    monogram: monogramOf(policyKind),
    sign: outcome.sign,
    struck: outcome.tone === "overridden",
    refused: outcome.tone === "refused",
    muted: outcome.tone === "overridden" || outcome.tone === "refused",
    mark: changed.get(attached.policy),
    title: [`${short(attached.policy)}: ${outcome.word}`, violation?.words].filter(Boolean).join(", "),
    classes: classes({
      pill: true, violating: violation, [outcome.tone]: true, dim, chosen: attached.policy === chosen, changed: changed.has(attached.policy),
      found: words.length > 0 && isFoundPolicy(attached, words),
    }),
  };
}

const classes = (flags) => Object.entries(flags).filter(([, on]) => on).map(([name]) => name);

function pillPosition(at, { row, card }) {
  return {
    x: at.x + PILL.indent / 2,
    y: at.y + card.height / 2 + PILL.gap + PILL.height / 2 + row * (PILL.height + PILL.gap),
  };
}

/** Control points of a curve that leaves a card to the right and enters the next from the left. */
function bends(from, to) {
  const x = to.x - from.x - CARD.width;
  const y = to.y - from.y;
  const length = x * x + y * y || 1;
  const bend = (0.42 * x * y) / Math.sqrt(length);
  return {
    bends: `${(-bend).toFixed(2)} ${bend.toFixed(2)}`,
    weights: `${((0.42 * x * x) / length).toFixed(4)} ${((0.58 * x * x + y * y) / length).toFixed(4)}`,
  };
}
