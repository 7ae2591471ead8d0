"use strict";
const root = document.body.dataset.root;
async function renew(element, path) {
  try {
    const answer = await fetch(path, {headers: {"Accept": "text/html"}, credentials: "same-origin"});
    if (answer.redirected || !answer.ok) return;
    const text = await answer.text();
    if (element.dataset.shown === text) return;
    const open = new Set([...element.querySelectorAll("details[open]")].map(one => one.id));
    element.innerHTML = text;
    element.dataset.shown = text;
    element.querySelectorAll("details").forEach(one => { one.open = one.open || open.has(one.id); });
    charts();
  } catch (error) { /* the service is away; the next look may find it */ }
}
charts();
const live = document.querySelector("[data-live]");
if (live) {
  let wanted = false, busy = false;
  const path = live.dataset.live;
  const look = async () => {
    if (busy) { wanted = true; return; }
    busy = true;
    do { wanted = false; await renew(live, path); await new Promise(go => setTimeout(go, 700)); }
    while (wanted);
    busy = false;
  };
  if (live.dataset.events) {
    const source = new EventSource(live.dataset.events);
    for (const kind of ["round", "state"]) source.addEventListener(kind, look);
    source.addEventListener("gone", () => { source.close(); location.href = root + "/"; });
  } else {
    setInterval(() => { if (!document.hidden) look(); }, 2000);
  }
}
