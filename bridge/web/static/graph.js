// The picture: Cytoscape with the visible nodes. Updates keep pan and zoom, and move as little as possible.

import cytoscape from "./vendor/cytoscape.js";
import { fill, h, paint, visible } from "./dom.js";
import { isFound, isFoundPolicy } from "./finding.js";
import { graphStyle } from "./graph_style.js";
import { NOTHING, parts, place, short } from "./keys.js";
import { shortKind } from "./kinds.js";
import { arrange, CARD, PILL, SECTION } from "./layout.js";
import { outcomeOf } from "./outcomes.js";
import { neededWidth, Painter } from "./painter.js";
import { naming, pills } from "./visible.js";

const CURVED = 1200; // edges up to which they are drawn as curves
const EDGE = 16; // pixels around the picture
const READABLE = 1; // the zoom below which text would be too small: a fitted picture is scrolled then
const LARGEST = 1.25; // the zoom up to which a small picture is enlarged

/** `on`: `choose(key | undefined)`, `toggle(id, open)`. */
export class Graph {
  #cy;
  #painter;
  #on;
  #headings;
  #structure = "";
  #places = new Map();
  #columns = [];
  #fitted = false;
  #moved = false; // whether the user has moved or zoomed the picture since it was last fitted
  #fit = () => this.fit(true); // how it was last fitted
  #anchor;
  #chosen; // the chosen node or policy

  /** `headings`: the row of the titles of columns, above the picture. */
  constructor(container, canvas, headings, on) {
    this.#on = on;
    this.#headings = headings;
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
    this.#cy.on("render", () => this.#moveHeadings());
    // The wheel scrolls; it zooms with Ctrl, as a pinch on a touchpad does.
    container.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      const step = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 24 : 1;
      const [x, y] = event.shiftKey && !event.deltaX ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
      this.#scrollBy(-x * step, -y * step);
    }, { capture: true, passive: false });
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
    const described = describe(topology, filtered, shown, marks);
    const structure = JSON.stringify([
      described.cards.map(({ id, pills: count, need }) => [id, count, need]),
      described.edges.map(({ id }) => id),
    ]);
    if (structure !== this.#structure) {
      this.#structure = structure;
      this.#relayout(described);
    }
    this.#chosen = marks.chosen;
    this.#sync(described);
    if (!described.cards.length || (this.#fitted && (!fits || this.#moved))) return;
    this.#fitted = true;
    this.fit(true);
  }

  /**
   * Show everything; with `readable` what a search has found, or the beginning, if the text of everything would be too small.
   */
  fit(readable = false) {
    const cy = this.#cy;
    this.#moved = false;
    this.#fit = () => this.fit(true);
    cy.resize();
    if (!cy.width() || cy.elements().empty()) return; // it is not displayed
    cy.fit(cy.elements(), EDGE);
    const least = readable ? READABLE : 0;
    cy.zoom(Math.max(least, Math.min(LARGEST, cy.zoom())));
    const zoom = cy.zoom();
    const box = cy.elements().boundingBox();
    cy.pan({ x: EDGE - box.x1 * zoom, y: EDGE - box.y1 * zoom }); // the headings of the columns are above it
    const found = cy.nodes(".found");
    if (readable && found.nonempty() && !this.#isVisible(found)) this.#bring([found, found.first()]);
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

  /** Move the picture as a scrollbar does: not farther than its edges. */
  #scrollBy(x, y) {
    const cy = this.#cy;
    this.#moved = true;
    const { x1, y1, x2, y2 } = cy.elements().renderedBoundingBox();
    const within = (by, low, high, size) => (by > 0 ? Math.min(by, Math.max(0, EDGE - low)) : Math.max(by, Math.min(0, size - EDGE - high)));
    cy.panBy({ x: within(x, x1, x2, cy.width()), y: within(y, y1, y2, cy.height()) });
  }

  /**
   * Bring nodes into view: the first of the `choices` (lists of ids) that the frame has room for, otherwise the last one. What
   * is visible already stays in its place.
   */
  reveal(choices) {
    const cy = this.#cy;
    const found = choices.map((ids) => cy.collection(ids.map((id) => cy.getElementById(id)).filter((node) => node.nonempty())))
      .filter((nodes) => nodes.nonempty());
    if (!found.length || !cy.width() || this.#isVisible(found[0])) return;
    if (!this.#moved) this.#fit = () => this.reveal(choices);
    if (cy.zoom() < READABLE && !this.#moved) cy.zoom(READABLE);
    this.#bring(found);
  }

  /** Move by the least distance that shows the first of these collections that fits, otherwise the beginning of the last one. */
  #bring(choices) {
    const cy = this.#cy;
    const margin = EDGE + 4;
    for (const nodes of choices) {
      const { x1, y1, x2, y2 } = nodes.renderedBoundingBox({ includeEdges: false });
      const fits = x2 - x1 <= cy.width() - 2 * margin && y2 - y1 <= cy.height() - 2 * margin;
      if (!fits && nodes !== choices.at(-1)) continue;
      const by = (low, high, size) => (high - low > size - 2 * margin || low < margin ? margin - low : Math.min(0, size - margin - high));
      cy.panBy({ x: by(x1, x2, cy.width()), y: by(y1, y2, cy.height()) });
      return;
    }
  }

  #isVisible(nodes) {
    const { x1, y1, x2, y2 } = nodes.renderedBoundingBox({ includeEdges: false });
    return x1 >= 0 && y1 >= 0 && x2 <= this.#cy.width() && y2 <= this.#cy.height();
  }

  /** The titles of columns stay above them, also while the picture is scrolled. */
  #moveHeadings() {
    const [zoom, { x }] = [this.#cy.zoom(), this.#cy.pan()];
    for (const [at, { left, width }] of this.#columns.entries()) {
      const title = this.#headings.children[at];
      paint(title, "left", `${(left * zoom + x).toFixed(1)}px`);
      paint(title, "width", `${(width * zoom).toFixed(1)}px`);
    }
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

  #relayout({ cards, edges }) {
    const anchor = this.#anchorNow();
    this.#cy.resize(); // it may not have been displayed
    const { places, columns } = arrange(cards, edges, this.#cy.width() - 2 * EDGE);
    this.#places = places;
    this.#columns = columns;
    fill(this.#headings, columns.map(({ title }) => h("span", {}, title)));
    this.#anchor = undefined;
    const now = anchor && places.get(anchor.id);
    if (!now) return;
    const zoom = this.#cy.zoom();
    this.#cy.pan({ x: anchor.x - now.x * zoom, y: anchor.y - now.y * zoom });
  }

  /** The node that stays in place: the requested one, the chosen one if it is visible, otherwise the card nearest to the middle. */
  #anchorNow() {
    const cy = this.#cy;
    if (!this.#fitted) return undefined;
    const zoom = cy.zoom();
    const pan = cy.pan();
    const screen = ({ x, y }) => ({ x: x * zoom + pan.x, y: y * zoom + pan.y });
    if (this.#anchor && this.#places.has(this.#anchor)) {
      return { id: this.#anchor, ...screen(this.#places.get(this.#anchor)) };
    }
    const chosen = this.#chosen !== undefined && this.#places.get(this.#chosen);
    if (chosen) {
      const { x, y } = screen(chosen);
      if (x >= 0 && y >= 0 && x <= cy.width() && y <= cy.height()) return { id: this.#chosen, x, y };
    }
    let best;
    for (const [id, position] of this.#places) {
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
      const card = this.#places.get(item.owner ?? item.id);
      item.size.width = item.pill ? card.width - PILL.indent : card.width;
      const at = item.pill ? pillPosition(card, item) : card;
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
    const data = { id: item.id, key: item.key, width: item.size.width, height: item.size.height, title: item.title };
    const found = this.#cy.getElementById(item.id);
    if (found.empty()) {
      fresh.push({ group: "nodes", data, position: { x: item.x, y: item.y }, classes: item.classes });
      return;
    }
    const { x, y } = found.position();
    if (x !== item.x || y !== item.y) found.position({ x: item.x, y: item.y });
    if (found.data("title") !== data.title || found.data("width") !== data.width) found.data(data);
    if (found.classes().join(" ") !== item.classes.join(" ")) found.classes(item.classes);
  }

  #edge(edge, plain, fresh) {
    const id = `\n${edge.id}`; // edges and nodes share one namespace of ids
    const from = this.#places.get(edge.from);
    const to = this.#places.get(edge.to);
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

/** The content of the picture in drawing order: items (cards and pills), cards with what `arrange` needs, edges. */
function describe(topology, filtered, shown, { chosen, on, changed, words, violations, matches }) {
  const items = [];
  const cards = [];
  const dimmed = (key) => on !== null && !on.has(key);
  const levelOf = (entry) => topology.nodes.get(entry.key ?? entry.group.keys[0]).level;
  const kinds = new Map(); // level -> the kinds of its objects: the heading says the kind where there is one
  for (const entry of shown.nodes.values()) if (entry.key) kinds.set(levelOf(entry), (kinds.get(levelOf(entry)) ?? new Set()).add(parts(entry.key).kind));
  for (const entry of shown.nodes.values()) {
    const { caption, name } = naming(topology, entry);
    const level = levelOf(entry);
    const dim = on !== null && !(entry.key ? on.has(entry.key) : false);
    const mark = entry.key ? changed.get(entry.key) : entry.group.keys.some((key) => changed.has(key)) ? "△" : undefined;
    const opens = entry.inside > 0;
    const violation = violations.mark(entry.key);
    const isSection = entry.key?.includes("#");
    const item = {
      id: entry.id, key: entry.key, name, dim, mark, violation, size: { width: 0, height: (isSection ? SECTION : CARD).height },
      caption: isSection ? "" : entry.key && level !== NOTHING ? captionOf(entry.key, kinds.get(level)) : caption,
      isChosen: entry.key !== undefined && entry.key === chosen,
      badge: opens && !entry.open ? `${entry.inside.toLocaleString("en")} ▸` : opens && !shown.everything ? "▾" : "",
      title: [entry.key ? short(entry.key) : `${caption} ${name}`, violation?.words].filter(Boolean).join(": "),
      classes: classes({
        card: true, section: isSection, group: entry.group, opens, dim, changed: mark, violating: violation,
        chosen: entry.key !== undefined && entry.key === chosen,
        found: words.length > 0 && entry.key !== undefined && isFound(topology.nodes.get(entry.key), words),
      }),
    };
    const own = pills(filtered, entry).map((pill, row) =>
      pillItem(pill, row, entry, item.size, { chosen, changed, words, violations, matches, dim: dim && dimmed(pill.attached?.policy) }));
    items.push(item, ...own);
    cards.push({ id: entry.id, level, height: item.size.height, pills: own.length, need: Math.max(...[item, ...own].map(neededWidth)) });
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

/** The namespace of an object, and its kind where its column has several. */
function captionOf(key, kinds) {
  const { kind, namespace, role } = parts(key);
  return [kinds.size > 1 && kind, role, namespace].filter(Boolean).join(" · ");
}

function pillItem({ id, attached, policyKind, count, overridden, more }, row, entry, card, { chosen, changed, words, violations, matches, dim }) {
  const size = { width: 0, height: PILL.height };
  const base = { id, owner: entry.id, row, first: row === 0, pill: true, dim, size, card, kind: policyKind ? shortKind(policyKind) : "" };
  if (!attached) {
    const name = more ? `${more} more policies` : `× ${count.toLocaleString("en")}${overridden ? `, ${overridden} overridden` : ""}`;
    return { ...base, key: more ? entry.key : undefined, name, sign: "", muted: true, title: name, classes: classes({ pill: true, more, dim }) };
  }
  const { sign, tone, word } = outcomeOf(attached);
  const violation = violations.mark(attached.policy);
  return {
    ...base,
    violation,
    key: attached.policy,
    name: parts(attached.policy).namespace === (entry.key && parts(entry.key).namespace) ? parts(attached.policy).name : place(attached.policy),
    sign,
    tone,
    struck: tone === "overridden",
    muted: tone === "overridden" || tone === "refused",
    mark: changed.get(attached.policy),
    title: [`${short(attached.policy)}: ${word}`, violation?.words].filter(Boolean).join(", "),
    classes: classes({
      pill: true, violating: violation, [tone]: true, dim, chosen: attached.policy === chosen, changed: changed.has(attached.policy),
      found: words.length > 0 && (isFoundPolicy(attached, words) || matches.has(attached.policy)),
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
  const x = to.x - to.width / 2 - from.x - from.width / 2;
  const y = to.y - from.y;
  const length = x * x + y * y || 1;
  const bend = (0.42 * x * y) / Math.sqrt(length);
  return {
    bends: `${(-bend).toFixed(2)} ${bend.toFixed(2)}`,
    weights: `${((0.42 * x * x) / length).toFixed(4)} ${((0.58 * x * x + y * y) / length).toFixed(4)}`,
  };
}
