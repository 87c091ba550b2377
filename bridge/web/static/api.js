// Requests to the bridge. Every response is JSON; every failure is an ApiError with a message for users.

const PATIENCE = 60_000; // ms until a response must be complete: a connection that died in sleep never ends by itself

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * The topology; with a limit of nodes, its top.
 *
 * @param {number} [limit]
 */
export const topology = (limit) => ask(`api/topology${limit ? `?limit=${limit}` : ""}`);

/** The result of one of the bridge's queries. */
export const query = async (name, input) =>
  (await ask(`api/query/${name}`, { method: "POST", body: JSON.stringify({ input }) }, "application/json")).result;

/** What reasons mean and what to do: a list of {about, meaning, fix} by reason. */
export const reasons = async () => (await ask("api/reasons")).reasons;

/** An object as the bridge has it. */
export const manifest = async (key) => (await ask(`api/object?key=${encodeURIComponent(key)}`)).object;

/** The Events about an object: {events: a list, null without a cluster; unreadable: why there are none}. */
export const events = (key) => ask(`api/events?key=${encodeURIComponent(key)}`);

/** What is wrong beside links and outcomes of policies: [{subject, about, reason, message}]. */
export const problems = async () => (await ask("api/problems")).problems;

/** The violations of Constraints, the most severe first: {total, constraints, violations}. */
export const violations = () => ask("api/violations");

/** The effective targets without a policy of a kind, or without a field: `KIND[.spec.FIELD]`. */
export const uncovered = async (without) => (await ask(`api/uncovered?without=${encodeURIComponent(without)}`)).targets;

/** What would change if manifests (a text, YAML or JSON) were applied and objects were deleted. */
export function changes(manifests, deleted = []) {
  const deletions = deleted.map((name) => `delete=${encodeURIComponent(name)}`).join("&");
  return ask(`api/changes${deletions ? `?${deletions}` : ""}`, { method: "POST", body: manifests }, "application/yaml");
}

let unauthorized = () => {};

/** Register what is called when the bridge no longer accepts this page's token. */
export const onUnauthorized = (listener) => {
  unauthorized = listener;
};

const LOGIN = "api/login";

/** Send the token once: the browser keeps a cookie for it. */
export const login = (token) =>
  ask(LOGIN, { method: "POST", body: JSON.stringify({ token }) }, "application/json");

/** @param {string} path @param {RequestInit} [options] @param {string} [type] The content type of the body. */
async function ask(path, options = {}, type) {
  const signal = AbortSignal.timeout(PATIENCE);
  let response;
  try {
    response = await fetch(path, { ...options, headers: type ? { "Content-Type": type } : {}, cache: "no-store", signal });
  } catch {
    throw new ApiError(0, "Unreachable", signal.aborted ? "The bridge does not answer." : "The bridge cannot be reached.");
  }
  if (response.status === 401 && path !== LOGIN) unauthorized();
  let document;
  try {
    document = await response.json();
  } catch {
    throw new ApiError(response.status, "Unreadable", `The bridge answered ${response.status} without JSON.`);
  }
  if (!response.ok || document.error) {
    const { code = "Failed", message = `The bridge answered ${response.status}.` } = document.error ?? {};
    throw new ApiError(response.status, code, message);
  }
  return document;
}
