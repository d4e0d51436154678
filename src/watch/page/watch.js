/* watch.js - which page is shown, and when it is told that something changed.
 *
 * The server sends the paths of runs that changed; the page then asks for what is new, at most
 * twice a second, and not at all while nobody sees it. For tests, the body says in data-ready
 * how many updates were drawn and in data-errors what went wrong.
 */
"use strict";

const BETWEEN = 500; // milliseconds from one update to the next
const AGAIN = 5000; // milliseconds until a server that refused the stream is asked again

const shownPage = { page: null, concerns: () => true, due: false, busy: false, updates: 0 };

window.addEventListener("error", (event) => tellError(event.message));
window.addEventListener("unhandledrejection", (event) => tellError(String(event.reason)));

function tellError(text) {
  document.body.dataset.errors = (document.body.dataset.errors || "") + text + "\n";
}

function say(text, className) {
  const live = document.getElementById("live");
  if (live.textContent !== text) live.textContent = text;
  live.className = className;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch (failure) { // typed by hand: 100%
    return text;
  }
}

/* The parts of an address such as #/run/muon-1. */
function placeOf(hash) {
  const [name, ...rest] = hash.replace(/^#\/?/, "").split("/");
  return { name, rest: rest.filter(Boolean).map(decoded) };
}

function open() {
  const { name, rest } = placeOf(location.hash), content = document.getElementById("content");
  if (shownPage.page && shownPage.page.destroy) shownPage.page.destroy();
  content.replaceChildren();
  document.title = "mousse watch";
  shownPage.concerns = () => true;
  if (name === "run" && rest.length) {
    shownPage.page = new RunPage(content, rest[0]);
    shownPage.concerns = (news) => news.list || news.runs.includes(rest[0]);
  } else if (name === "compare") {
    shownPage.page = new ComparePage(content, rest);
  } else {
    shownPage.page = new RunsPage(content);
  }
  drawPages(name);
  window.scrollTo(0, 0);
  request();
}

function drawPages(name) {
  const nav = document.getElementById("pages");
  nav.replaceChildren();
  [["Runs", "#/", name === ""], ["Compare", "#/compare", name === "compare"]].forEach(([text, address, isHere]) => {
    const link = element("a", nav, text);
    link.href = address;
    if (isHere) link.setAttribute("aria-current", "page");
  });
}

/* Asks for an update; several requests become one. */
function request() {
  shownPage.due = true;
  if (!shownPage.busy && !document.hidden) update();
}

async function update() {
  const page = shownPage.page;
  shownPage.busy = true;
  shownPage.due = false;
  try {
    await page.update();
    if (page === shownPage.page) document.body.dataset.ready = String(++shownPage.updates);
  } catch (failure) {
    if (page === shownPage.page) tellFailure(failure);
  }
  setTimeout(() => {
    shownPage.busy = false;
    if (shownPage.due && !document.hidden) update();
  }, BETWEEN);
}

function tellFailure(failure) {
  if (failure instanceof TypeError && String(failure).includes("fetch")) return; // the stream tells of that
  if (!(failure instanceof Error) || failure.name !== "Error") tellError(String(failure.stack || failure));
  say(failure.message, "away");
}

let stream = null; // of what changed; null while nobody sees the page

/* A browser has few connections to a server, so a tab that nobody sees holds none. When the
 * stream opens again, the server tells first of all that changed. */
function listen() {
  if (document.hidden || (stream && stream.readyState !== EventSource.CLOSED)) return;
  const opened = stream = new EventSource("api/events");
  opened.addEventListener("open", () => say("live", "live"));
  opened.addEventListener("error", () => {
    say("no connection; trying again", "away");
    if (opened.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN); // the browser has given up
  });
  opened.addEventListener("change", (event) => {
    const news = JSON.parse(event.data);
    say("live", "live");
    if (shownPage.concerns(news)) request();
  });
}

function lookAway() {
  if (stream) stream.close();
  stream = null;
}

/* A server for one run shows that run. */
async function start() {
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 13;
  if (location.search) history.replaceState(null, "", location.pathname + location.hash); // without the token
  if (!location.hash) {
    const { runs } = await ask("api/runs");
    if (runs.length === 1 && runs[0].run === ".") location.replace(addressOf("run", "."));
  }
  window.addEventListener("hashchange", open);
  document.querySelector(".skip").addEventListener("click", (event) => { // its #content is no place of ours
    event.preventDefault();
    document.getElementById("content").focus();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) lookAway();
    else listen();
    if (shownPage.due) request();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", open);
  open();
  listen();
}

start();
