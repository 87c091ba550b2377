// How Cytoscape draws boxes and lines. The painter draws the text.

import { colors } from "./theme.js";

/** The style sheet for the current colors. */
export function graphStyle() {
  const color = colors();
  return [
    { selector: "core", style: { "active-bg-opacity": 0, "selection-box-opacity": 0 } },
    {
      selector: "node",
      style: {
        shape: "round-rectangle",
        width: "data(width)",
        height: "data(height)",
        "background-color": color.card,
        "border-width": 1,
        "border-color": color.line,
        "corner-radius": 8,
        "overlay-opacity": 0,
        "z-index": 10,
      },
    },
    { selector: "node.section", style: { "background-color": color["card-section"] } },
    { selector: "node.group", style: { "border-style": "double", "border-width": 4 } },
    // Neutral: the sign alone has the color of the outcome.
    { selector: "node.pill", style: { "corner-radius": 11, "background-color": color["card-section"] } },
    { selector: "node.pill.more", style: { "background-opacity": 0, "border-width": 0 } },
    { selector: "node.pill.overridden", style: { "background-opacity": 0, "border-style": "dashed" } },
    { selector: "node.pill.refused", style: { "background-opacity": 0, "border-style": "dotted", "border-color": color.danger } },
    {
      selector: "edge",
      style: {
        width: 1.4,
        "line-color": color.edge,
        "curve-style": "unbundled-bezier",
        "control-point-distances": "data(bends)",
        "control-point-weights": "data(weights)",
        "edge-distances": "endpoints",
        "source-endpoint": "90deg",
        "target-endpoint": "270deg",
        "overlay-opacity": 0,
        "z-index": 1,
      },
    },
    { selector: "edge.plain", style: { "curve-style": "straight" } },
    { selector: "edge.transitive", style: { "line-style": "dashed", "line-dash-pattern": [6, 4] } },
    { selector: "edge.side", style: { "line-style": "dashed", "line-dash-pattern": [1.5, 4], width: 1.2 } },
    { selector: "node.found", style: { "background-color": color.found, "background-opacity": 1, "background-fill": "solid" } },
    // The text of what is dimmed keeps its contrast: see painter.js.
    { selector: "node.dim", style: { "background-opacity": 0, "border-color": color.soft } },
    { selector: "edge.dim", style: { opacity: 0.35 } },
    { selector: "edge.on", style: { "line-color": color.accent, width: 2.4, "z-index": 5 } },
    { selector: "node.changed", style: { "border-color": color.changed, "border-width": 3, "border-style": "solid" } },
    { selector: "node.chosen", style: { "border-color": color.accent, "border-width": 3, "border-style": "solid" } },
  ];
}
