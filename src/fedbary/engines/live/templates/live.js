"use strict";
/* Asks for the state every second and shows it; whatever comes from data is put in as text. */
(() => {
  const EVERY = 1000, AGAIN = 5000, WAIT = 3, QUIET = 120, WRITING = 60;
  const element = (id) => document.getElementById(id);
  const say = (id, text) => {
    const place = element(id);
    if (place.textContent !== text) place.textContent = text;
  };
  const show = (id, visible) => { element(id).hidden = !visible; };
  const stay = element("stay");
  stay.checked = location.hash === "#stay";
  stay.addEventListener("change", () => history.replaceState(null, "", stay.checked ? "#stay" : location.pathname));

  const number = (value) => (value >= 1 || value === 0 ? value.toFixed(2) : value.toPrecision(3));
  const ago = (seconds) => {
    const s = Math.max(0, Math.round(seconds));
    return s < 100 ? `${s} s` : s < 6000 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
  };

  const rows = new Map();
  const made = (tag, name, parent) => {
    const one = document.createElement(tag);
    one.className = name;
    parent.append(one);
    return one;
  };
  const rowOf = (client) => {
    if (!rows.has(client)) {
      const row = document.createElement("tr"), head = made("th", "", row);
      head.scope = "row";
      const name = made("bdi", "name", head), distance = made("td", "n", row);
      const track = made("span", "track", made("td", "wide", row)), state = made("bdi", "", made("td", "status", row));
      name.textContent = name.title = client;
      rows.set(client, { row, distance, track, fill: made("span", "fill", track), state });
    }
    return rows.get(client);
  };

  const showClients = (clients) => {
    const body = element("watched"), known = new Set(clients.map((one) => one.client));
    for (const [name, one] of rows) if (!known.has(name)) { one.row.remove(); rows.delete(name); }
    const farthest = Math.max(0, ...clients.map((one) => one.distance ?? 0));
    clients.forEach((client, place) => {
      const one = rowOf(client.client), has = client.distance !== null;
      one.row.className = client.state;
      one.distance.textContent = has ? number(client.distance) : "–";
      one.track.hidden = !has;
      one.fill.style.width = has && farthest > 0 ? `${100 * client.distance / farthest}%` : "0";
      one.state.textContent = client.state === "failed" ? `failed: ${client.reason}` : client.state;
      if (body.rows[place] !== one.row) body.insertBefore(one.row, body.rows[place] ?? null);
    });
    show("nobody", !clients.length);
  };

  const notice = (run) => {
    const silent = run.last === null ? 0 : run.now - run.last;
    if (run.standing === "stopped") return `${run.remedy} This page will show it.`;
    if (run.standing === "running" && silent > QUIET) {
      return `Nothing was heard for ${ago(silent)}. A long exchange can take so long; if the run was killed, run the same command with --resume.`;
    }
    return run.broken ? `${run.broken} lines of the log could not be read and were left out.` : "";
  };

  const times = (run) => {
    if (run.started === null) return "The page fills as soon as the run begins.";
    const lasted = run.standing === "finished" || run.standing === "stopped" ? run.last - run.started : null;
    const took = `It took ${ago(lasted ?? 0)}, until ${new Date(run.last * 1000).toLocaleString()}.`;
    if (run.standing === "finished" && !run.report) {
      return run.now - run.last < WRITING ? `${took} The report is being written.` : `${took} There is no report.html in its folder.`;
    }
    if (lasted !== null) return took;
    return `Started ${ago(run.now - run.started)} ago; last news ${ago(run.now - run.last)} ago.`;
  };

  const showRun = (run) => {
    const many = run.clients.length;
    say("phase", run.standing === "waiting" && run.report ? "No run was logged here" : run.phase);
    document.title = `${run.phase} · FedBary`;
    say("times", times(run));
    const words = notice(run);
    say("notice", words);
    show("notice", words);
    show("nodes", run.wanted > 0);
    say("joined", `${run.joined} of ${run.wanted}`);
    say("exchange", run.exchange ? String(run.exchange) : "–");
    say("answered", run.asked ? `${run.answered} of ${run.asked}` : "–");
    const measured = run.clients.filter((one) => one.distance !== null).length;
    say("measured", run.total ? `${measured} of ${Math.max(run.total, many)}` : "–");
    say("failures", String(run.clients.filter((one) => one.state === "failed").length));
    showClients(run.clients);
  };

  let seen = false, left = WAIT;
  const toReport = (run) => {
    const goes = run.report && run.standing === "finished";
    show("go", run.report);
    show("staying", goes);
    if (!goes || stay.checked) {
      left = WAIT;
      say("countdown", "");
    } else if (!seen || left <= 0) {
      location.replace("report.html");
    } else {
      say("countdown", `It opens by itself in ${left} s.`);
      left -= 1;
    }
    seen = true;
  };

  const look = async () => {
    let next = EVERY;
    try {
      const answer = await fetch("state.json", { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      const run = await answer.json();
      document.body.classList.remove("stale");
      showRun(run);
      toReport(run);
    } catch {
      document.body.classList.add("stale");
      say("notice", "The server has stopped. This is what it said last; start it again with fedbary serve.");
      show("notice", true);
      show("go", false);
      next = AGAIN;
    }
    setTimeout(look, next);
  };
  look();
})();
