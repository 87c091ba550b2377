// What the browser keeps between visits: the theme, and which panels are open and how wide.

const PREFIX = "policy-bridge-";

/** A kept text, or undefined. */
export function recall(name) {
  try {
    return localStorage.getItem(PREFIX + name) ?? undefined;
  } catch {
    return undefined; // a browser that keeps nothing
  }
}

/** Keep a text; undefined removes it. */
export function remember(name, value) {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // The choice lasts until the page is left.
  }
}
