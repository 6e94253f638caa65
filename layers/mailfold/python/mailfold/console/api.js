// Asks the query API. The token lives as long as the tab and goes nowhere but into the Authorization header.

const KEY = "mailfold.token";

// Why there is no answer, in a sentence for whoever looks at the page.
export class Refusal extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  keep: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

// Takes the token out of the address before anybody can bookmark it, copy it or see it over a shoulder.
export function takeTokenFromAddress() {
  const found = /^#token=([A-Za-z0-9_-]+)/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", location.pathname + location.search);
  token.keep(found[1]);
}

// Returns an answer as JSON. Addresses are relative, because the API may lie below some prefix.
export async function ask(path, { method = "GET", query = {}, body, signal } = {}) {
  let response;
  try {
    response = await fetch(address(path, query), {
      method,
      signal,
      headers: { authorization: `Bearer ${token.get()}`, ...(body && { "content-type": "application/json" }) },
      body: body && JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch (reason) {
    if (reason.name === "AbortError") throw reason;
    throw new Refusal(0, "The API cannot be reached.");
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  if (response.status === 401) {
    token.forget();
    dispatchEvent(new Event("mailfold:unknown"));
  }
  throw new Refusal(response.status, explain(response, answer));
}

// Returns the address of a path with its query; what is empty is left out.
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  // A plus is a plus to the API, so spaces may not become one.
  const string = given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  return new URL(path + (string && `?${string}`), document.baseURI).href;
}

// Says which scope is missing and how a token gets it; a token may have several.
function lacking(sentence) {
  const scope = /lacks the scope (\w+)/.exec(sentence)?.[1];
  const words = `${sentence[0].toUpperCase()}${sentence.slice(1)}.`;
  return scope ? `${words} Make one that has it: bin/mailfold tokens add NAME --scope ${scope}` : words;
}

function explain(response, answer) {
  const sentence = typeof answer?.error === "string" ? answer.error : `The API answered ${response.status}.`;
  if (response.status === 401) return "This token is not known, or no longer good.";
  if (response.status === 403) return lacking(sentence);
  if (response.status === 429) return "Asked too often; the page waits and asks again.";
  return sentence;
}
