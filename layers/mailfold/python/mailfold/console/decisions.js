// A person's own decisions about an address, each asked for once more before it is made.

import { ask } from "./api.js";
import { askFirst } from "./ask-first.js";
import { scopeWords } from "./diagnosis.js";
import { el } from "./dom.js";
import { announce } from "./widgets.js";

const path = (address) => `v1/suppressions/${encodeURIComponent(address)}`;

// Returns a button that lifts or stops an address after a confirmation.
export function decideButton(verb, address, scope, again) {
  const words = verb === "lift" ? "Lift" : "Stop";
  const decide = () => (verb === "lift" ? lift(address, scope, again) : stop(address, again));
  return el("button", { type: "button", "aria-label": `${words} ${address}`, on: { click: decide } }, words);
}

// Lifts whatever has suppressed an address so far.
export async function lift(address, scope, again) {
  const done = await askFirst({
    title: "Lift this stop?",
    words: [
      `${address} may then be mailed again (${scopeWords(scope)}). A later bounce or complaint stops it anew.`,
      "The provider's own stop list is not changed by this.",
    ],
    fields: [{ name: "reason", label: "Reason, for the record", maxlength: 1000 }],
    verb: "Lift",
    danger: true,
    act: ({ reason }) => ask(path(address), { method: "DELETE", body: { scope, reason } }),
  });
  if (done) announce(`${address} is lifted.`);
  if (done) again();
}

// Stops an address by hand, which holds until it is lifted by hand.
export async function stop(address, again) {
  const done = await askFirst({
    title: "Stop an address",
    words: ["It is reported as suppressed from now on, until somebody lifts it here."],
    fields: [
      { name: "address", label: "Address", type: "email", required: true, maxlength: 320, value: address },
      { name: "scope", label: "Scope; empty for all mail", maxlength: 200 },
      { name: "reason", label: "Reason, for the record", maxlength: 1000 },
    ],
    verb: "Stop",
    danger: true,
    act: (values) => ask(path(values.address), { method: "PUT", body: { scope: values.scope, reason: values.reason } }),
  });
  if (done) announce(`${done.address} is suppressed.`);
  if (done) again();
}
