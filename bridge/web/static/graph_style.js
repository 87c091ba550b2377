// How Cytoscape draws boxes and lines. The painter draws the text.

import { colors } from "./theme.js";
import { CARD, PILL, SECTION } from "./layout.js";

/** The style sheet for the current colors. */
export function graphStyle() {
  const color = colors();
  return [
    { selector: "core", style: { "active-bg-opacity": 0, "selection-box-opacity": 0 } },
    {
      selector: "node",
      style: {
        shape: "round-rectangle",
        width: CARD.width,
        height: CARD.height,
        "background-color": color.card,
        "border-width": 1,
        "border-color": color.line,
        "corner-radius": 9,
        "overlay-opacity": 0,
        "z-index": 10,
      },
    },
    {
      selector: "node.section",
      style: { width: SECTION.width, height: SECTION.height, "background-color": color["card-section"] },
    },
    { selector: "node.group", style: { "border-style": "double", "border-width": 4 } },
    {
      selector: "node.pill",
      style: {
        width: "data(width)",
        height: PILL.height,
        "corner-radius": 11,
        "border-width": 1.5,
        "border-color": "data(color)",
        "background-color": "data(color)",
        "background-opacity": 0.16,
      },
    },
    { selector: "node.pill.more", style: { "background-opacity": 0, "border-width": 0 } },
    { selector: "node.pill.overridden", style: { "background-opacity": 0, "border-style": "dashed", "border-opacity": 0.75 } },
    {
      selector: "node.pill.partly",
      style: {
        "background-fill": "linear-gradient",
        "background-gradient-direction": "to-right",
        "background-gradient-stop-colors": (pill) => `${pill.data("color")} ${pill.data("color")} ${color.canvas} ${color.canvas}`,
        "background-gradient-stop-positions": "0% 50% 50% 100%",
      },
    },
    {
      selector: "node.pill.refused",
      style: { "background-opacity": 0, "border-style": "dotted", "border-color": color.danger },
    },
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
    { selector: ".dim", style: { opacity: 0.28 } },
    { selector: "edge.on", style: { "line-color": color.accent, width: 2.4, "z-index": 5 } },
    { selector: "node.changed", style: { "border-color": color.changed, "border-width": 3, "border-style": "solid" } },
    { selector: "node.chosen", style: { "border-color": color.accent, "border-width": 3, "border-style": "solid" } },
  ];
}
