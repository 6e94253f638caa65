// Starts the console: the token, the navigation, the page of the address, and its refreshing.

import { takeTokenFromAddress, token } from "./api.js";
import { el, put } from "./dom.js";
import { follow } from "./live.js";
import { go, link, parse } from "./router.js";
import { announce, tick } from "./widgets.js";
import * as activity from "./page-activity.js";
import * as addressPage from "./page-address.js";
import * as dead_letters from "./page-dead-letters.js";
import * as message from "./page-message.js";
import * as overview from "./page-overview.js";
import * as signIn from "./page-sign-in.js";
import * as sources from "./page-sources.js";
import * as suppressions from "./page-suppressions.js";

//: page -> its module and the entry of the navigation that it belongs to
const PAGES = {
  overview: [overview, "overview"],
  activity: [activity, "activity"],
  message: [message, "activity"],
  address: [addressPage, "suppressions"],
  suppressions: [suppressions, "suppressions"],
  "dead-letters": [dead_letters, "dead-letters"],
  sources: [sources, "sources"],
};
const NAVIGATION = {
  overview: "Overview",
  activity: "Activity",
  suppressions: "Suppressions",
  "dead-letters": "Dead letters",
  sources: "Sources",
};

const main = document.getElementById("main");
const problem = document.getElementById("problem");
const nav = document.getElementById("nav");
const liveSwitch = document.getElementById("live-switch");
const signOut = document.getElementById("sign-out");
let following = null;
let paused = false;

function show() {
  following?.stop();
  following = null;
  put(problem);
  const known = token.get() !== "";
  for (const node of [nav, liveSwitch, signOut]) node.hidden = !known;
  if (!known) return showSignIn();
  const route = parse(location.hash);
  const [page, entry] = PAGES[route.page] ?? PAGES.overview;
  for (const anchor of nav.querySelectorAll("a")) {
    anchor.toggleAttribute("aria-current", false);
    if (anchor.dataset.page !== entry) continue;
    anchor.setAttribute("aria-current", "page");
    // On a narrow screen the entries scroll.
    anchor.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  const view = page.open(main, route, () => following?.now());
  document.title = `${view.title} · Mailfold`;
  main.querySelector("h1")?.focus({ preventScroll: true });
  scrollTo(0, 0);
  main.setAttribute("aria-busy", "true");
  following = follow(view.refresh, { succeeded, failed, isPaused: () => paused });
}

function showSignIn() {
  document.title = "Sign in · Mailfold";
  signIn.open(main, show);
}

function succeeded() {
  main.removeAttribute("aria-busy");
  liveSwitch.textContent = paused ? "Paused" : "Live";
  if (problem.childNodes.length) put(problem);
}

function failed(reason, wait) {
  main.removeAttribute("aria-busy");
  if (reason.status === 401) return;
  if (reason.status === undefined) console.error(reason);
  const again = paused ? "" : ` Next try in ${Math.round(wait / 1000)} s.`;
  const words = reason.status === undefined ? "This page has a mistake; see the browser's console." : reason.message;
  put(problem, el("p", {}, words + again));
}

function makeTools() {
  put(
    nav,
    Object.entries(NAVIGATION).map(([page, words]) => el("a", { href: link(page), "data-page": page }, words)),
  );
  liveSwitch.addEventListener("click", () => {
    paused = !paused;
    liveSwitch.setAttribute("aria-pressed", String(!paused));
    liveSwitch.textContent = paused ? "Paused" : "Live";
    announce(paused ? "The page no longer refreshes itself." : "The page refreshes itself.");
    if (!paused) following?.now();
  });
  signOut.addEventListener("click", () => {
    token.forget();
    show();
  });
  const theme = document.getElementById("theme");
  theme.value = localStorage.getItem("mailfold.theme") ?? "auto";
  theme.addEventListener("change", () => {
    localStorage.setItem("mailfold.theme", theme.value);
    if (theme.value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
  });
  // The hash belongs to the routes, so the skip link moves the focus itself.
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
}

function onKey(event) {
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = main.querySelector("input[type=search]");
  if (!search) return;
  event.preventDefault();
  search.focus();
}

function onHash() {
  // A link with a token may be pasted into a tab that is already open.
  takeTokenFromAddress();
  show();
}

takeTokenFromAddress();
makeTools();
addEventListener("hashchange", onHash);
addEventListener("mailfold:unknown", show);
addEventListener("keydown", onKey);
setInterval(tick, 10_000);
if (token.get() && !location.hash) go(link("overview"));
else show();
