"use strict";
(() => {
  const PAGE = 100;
  const ORDER = { errored: 0, failed: 1, invalid: 2, passed: 3 };
  const UUID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;
  const SIGNS = { passed: "✓", failed: "✗", errored: "!", invalid: "∅", measured: "·" };
  const MOODS = { passed: "good", failed: "bad", errored: "warn", invalid: "plain", measured: "plain" };
  const find = (id) => document.getElementById(id);

  // Everything that comes from a run goes through here: as text, never as markup.
  const make = (tag, given = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) {
      if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
    return element;
  };

  const data = JSON.parse(find("trials-data").textContent);
  const at = Object.fromEntries(data.columns.map((name, number) => [name, number]));
  const measured = new Set(data.measured);
  const controls = new Set(data.controls);
  const trials = data.rows.map((row, number) => {
    const get = (name) => row[at[name]];
    return {
      number,
      name: get("case"),
      case: get("case").slice(0, data.repeats[number] ? -` #${data.repeats[number]}`.length : undefined),
      trial: data.repeats[number] || 1,
      suite: data.suites[get("suite")],
      subject: data.subjects[get("subject")],
      verdict: data.verdicts[get("verdict")],
      seconds: get("seconds"),
      cost: get("cost"),
      tokens: get("tokens"),
      scores: get("scores"),
      labels: get("labels"),
      why: get("why"),
      change: data.changes[number] || "",
      causes: data.causesOf[number] || [],
      // Nothing was required of it, so it can't have passed.
      outcome: measured.has(number) ? "measured" : data.verdicts[get("verdict")],
    };
  });
  for (const trial of trials) trial.text = `${trial.name} ${trial.subject} ${trial.suite} ${trial.why}`.toLowerCase();

  const fixed = (number, digits) => number.toFixed(digits);
  const seconds = (n) => (n >= 60 ? `${fixed(n / 60, 1)} min` : n >= 1 ? `${fixed(n, 1)} s` : `${fixed(n * 1000, 0)} ms`);
  const dollars = (n) => (n === null ? "–" : n >= 1 || n === 0 ? `$${fixed(n, 2)}` : `$${Number(n.toPrecision(3))}`);
  const verdict = (name) => make("span", { class: `chip ${MOODS[name]}` }, make("span", { "aria-hidden": "true" }, SIGNS[name]), ` ${name}`);

  // ---- the table

  const some = (name) => trials.some((trial) => trial[name] !== null && trial[name] !== "");
  // The scores below 1; if there are none, the first score.
  const lowest = (trial) => {
    const scored = trial.scores.flatMap((score, n) => (score === null ? [] : [n]));
    const low = scored.filter((n) => trial.scores[n] < 1);
    return low.length ? low : scored.slice(0, 1);
  };
  const columns = [
    { name: "verdict", title: "Verdict", value: (trial) => ORDER[trial.verdict] + (controls.has(trial.subject) ? 0.5 : 0), cell: (trial) => verdict(trial.outcome) },
    { name: "case", title: "Case", value: (trial) => trial.name, cell: (trial) => make("a", { href: `#trial-${trial.number}` }, trial.name) },
    data.suites.length > 1 && { name: "suite", title: "Suite", value: (trial) => trial.suite },
    { name: "subject", title: "Subject", value: (trial) => trial.subject },
    some("change") && { name: "change", title: "Baseline", value: (trial) => trial.change },
    {
      name: "marks", title: "Scores", value: (trial) => trial.scores.reduce((sum, score) => sum + (score || 0), 0),
      cell: (trial) => lowest(trial).map((n) => make("span", {}, make("small", {}, data.scores[n]), ` ${fixed(trial.scores[n], 2)}`)),
    },
    { name: "seconds", title: "Time", value: (trial) => trial.seconds, cell: (trial) => seconds(trial.seconds), numeric: true },
    some("cost") && { name: "cost", title: "Cost", value: (trial) => trial.cost, cell: (trial) => dollars(trial.cost), numeric: true },
    some("tokens") && { name: "tokens", title: "Tokens", value: (trial) => trial.tokens, cell: (trial) => (trial.tokens === null ? "–" : trial.tokens.toLocaleString("en")), numeric: true },
    { name: "why", title: "Why", value: (trial) => trial.why, cell: (trial) => (trial.why ? make("span", { class: "clamp", title: trial.why }, trial.why.replace(UUID, (id) => `${id.slice(0, 8)}…`)) : "") },
  ].filter(Boolean);

  const state = { sort: "verdict", falling: false, page: 0, shown: trials };
  const fields = ["text", "suite", "subject", "verdict", "cause", "label", "change"].filter((name) => find(`filter-${name}`));
  const asked = () => Object.fromEntries(fields.map((name) => [name, find(`filter-${name}`).value]));

  const matches = (trial, wanted, parts) =>
    parts.every((part) => trial.text.includes(part)) &&
    (!wanted.suite || trial.suite === wanted.suite) &&
    (!wanted.subject || trial.subject === wanted.subject) &&
    (!wanted.verdict || trial.verdict === wanted.verdict) &&
    (!wanted.cause || trial.causes.includes(Number(wanted.cause))) &&
    (!wanted.label || trial.labels.includes(Number(wanted.label))) &&
    (!wanted.change || trial.change === wanted.change);

  const compare = (one, other) => {
    if (one === null || other === null) return (one === null) - (other === null);
    return typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other;
  };

  const select = () => {
    const wanted = asked();
    const parts = (wanted.text || "").toLowerCase().split(/\s+/).filter(Boolean);
    const column = columns.find((each) => each.name === state.sort);
    const sign = state.falling ? -1 : 1;
    state.shown = trials
      .filter((trial) => matches(trial, wanted, parts))
      .sort((one, other) => sign * compare(column.value(one), column.value(other)) || one.number - other.number);
    show();
  };

  const show = () => {
    const pages = Math.max(1, Math.ceil(state.shown.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * PAGE;
    const part = state.shown.slice(first, first + PAGE);
    find("trial-table").tBodies[0].replaceChildren(...part.map(rowOf));
    const all = trials.length.toLocaleString("en");
    find("count").textContent = state.shown.length === trials.length ? `${all} trials` : `${state.shown.length.toLocaleString("en")} of ${all} trials`;
    if (!state.shown.length && trials.length) find("count").textContent = `No trial matches. Clear the filters to see all ${all}.`;
    find("pages").hidden = pages < 2;
    find("page-range").textContent = `${first + 1}–${first + part.length} of ${state.shown.length.toLocaleString("en")}`;
    find("page-back").disabled = state.page === 0;
    find("page-on").disabled = state.page >= pages - 1;
    for (const head of find("trial-table").tHead.rows[0].cells) {
      const sorted = head.dataset.name === state.sort;
      head.setAttribute("aria-sort", sorted ? (state.falling ? "descending" : "ascending") : "none");
    }
  };

  const rowOf = (trial) =>
    make("tr", { role: "row" }, columns.map((column) => {
      const content = column.cell ? column.cell(trial) : column.value(trial);
      const labelled = ["seconds", "cost", "tokens", "change", "suite"].includes(column.name);
      return make("td", { role: "cell", class: `${column.name}${column.numeric ? " number" : ""}`, "data-name": labelled ? column.title : null }, content);
    }));

  const head = () => {
    const cells = columns.map((column) => {
      const button = make("button", { type: "button" }, column.title);
      button.addEventListener("click", () => {
        state.falling = state.sort === column.name ? !state.falling : false;
        state.sort = column.name;
        state.page = 0;
        select();
      });
      return make("th", { scope: "col", role: "columnheader", "data-name": column.name, class: column.numeric ? "number" : null }, button);
    });
    find("trial-table").tHead.rows[0].replaceChildren(...cells);
  };

  const fill = () => {
    const options = (id, names) => find(id).append(...names.map((name) => make("option", { value: name }, name)));
    options("filter-suite", data.suites);
    options("filter-subject", data.subjects);
    options("filter-verdict", Object.keys(ORDER).filter((name) => trials.some((trial) => trial.verdict === name)));
    if (find("filter-change")) options("filter-change", [...new Set(trials.map((trial) => trial.change).filter(Boolean))].sort());
    for (const kind of new Set(data.labels.map(([name]) => name))) {
      const group = make("optgroup", { label: kind });
      data.labels.forEach(([name, label], number) => { if (name === kind) group.append(make("option", { value: number }, label)); });
      find("filter-label").append(group);
    }
    data.causes.forEach((name, number) => find("filter-cause").append(make("option", { value: number }, name)));
    find("filter-cause").parentElement.hidden = !data.causes.length;
    find("filter-suite").parentElement.hidden = data.suites.length < 2;
    find("filter-label").parentElement.hidden = !data.labels.length;
  };

  // A link may ask for some of the trials: #trials?label=tag:refusal&subject=mute
  const ask = (wanted) => {
    for (const name of fields) find(`filter-${name}`).value = "";
    for (const [name, value] of wanted) {
      if (!fields.includes(name)) continue;
      const label = name === "label" && data.labels.findIndex(([kind, text]) => `${kind}:${text}` === value);
      find(`filter-${name}`).value = name === "label" ? label : name === "cause" ? data.causes.indexOf(value) : value;
    }
    state.page = 0;
    select();
    find("trials").scrollIntoView();
    find("trials-title").focus({ preventScroll: true });
  };

  // ---- one trial

  const waiting = new Map();
  window.crmevalPack = (number, content) => waiting.get(number)?.(content);

  const beside = (number) => new Promise((resolve, reject) => {
    waiting.set(number, resolve);
    const script = make("script", { src: `${encodeURIComponent(data.folder)}/page/${number}.js` });
    script.addEventListener("error", () => reject(new Error("missing")));
    document.head.append(script);
  });

  const inflated = async (content) => {
    const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };

  const packs = new Map();
  const pack = (number) => {
    if (!packs.has(number)) {
      const inside = find(`pack-${number}`);
      const content = inside ? Promise.resolve(inside.textContent) : beside(number);
      packs.set(number, content.then(inflated).catch((error) => { packs.delete(number); throw error; }));
    }
    return packs.get(number);
  };
  // `crmeval view` is asked for a dialogue when it is opened; a file has all of them in packs.
  const served = async (number) => {
    const { suite, subject, trial, case: name } = trials[number];
    const given = new URLSearchParams({ number, suite, subject, case: name, trial, baseline: data.baseline });
    const answer = await fetch(`trial?${given}`);
    if (!answer.ok) throw new Error("missing");
    return answer.json();
  };
  const dialogueOf = async (number) => {
    if (data.served) return served(number);
    let which = data.packs.length - 1;
    while (which > 0 && data.packs[which] > number) which -= 1;
    return (await pack(which))[number - data.packs[which]];
  };

  const spelled = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const isRow = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const rowsIn = (value) => {
    if (Array.isArray(value)) return value.length && value.every(isRow) ? value : null;
    if (!isRow(value)) return null;
    const inner = Object.values(value);
    return inner.length && inner.every((row) => isRow(row) && Object.keys(row).length > 1) ? inner : null;
  };
  const grid = (rows) => {
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => rows.some((row) => row[name] !== null && row[name] !== undefined));
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" }, make("table", {},
      make("thead", {}, make("tr", {}, names.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, rows.map((row) => make("tr", {}, names.map((name) => make("td", {}, row[name] === null || row[name] === undefined ? "–" : rich(spelled(row[name])))))))));
  };

  const fieldsOf = (row) => make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Fields" }, make("table", {},
    make("tbody", {}, Object.entries(row).filter(([, value]) => value !== null).map(([name, value]) =>
      make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, rich(spelled(value))))))));

  // An id is shown by its beginning; a click copies all of it.
  const copyOf = (id) => {
    const button = make("button", { type: "button", class: "id", title: `Copy ${id}`, "aria-label": `Copy ${id}` }, `${id.slice(0, 8)}…`);
    const say = (text) => { button.textContent = text; setTimeout(() => { button.textContent = `${id.slice(0, 8)}…`; }, 1500); };
    button.addEventListener("click", () => navigator.clipboard?.writeText(id).then(() => say("copied"), () => say("not copied")));
    return button;
  };
  const rich = (text) => {
    const parts = [];
    let place = 0;
    for (const found of text.matchAll(UUID)) {
      parts.push(text.slice(place, found.index), copyOf(found[0]));
      place = found.index + found[0].length;
    }
    return [...parts, text.slice(place)];
  };

  // What differs between an expected and an actual value is marked, if they have something in common.
  const marked = (text, other, kind) => {
    let start = 0;
    while (start < text.length && start < other.length && text[start] === other[start]) start += 1;
    let end = 0;
    while (end < text.length - start && end < other.length - start && text.at(-1 - end) === other.at(-1 - end)) end += 1;
    const middle = text.slice(start, text.length - end);
    if (!middle || start + end < 3) return make("span", { class: kind }, rich(text));
    return make("span", { class: kind }, rich(text.slice(0, start)), make("mark", {}, middle), rich(text.slice(text.length - end)));
  };

  const callOf = (call) => {
    const given = call.arguments;
    const words = isRow(given)
      ? Object.entries(given).flatMap(([name, value], n) => [n ? ", " : "", make("span", { class: "name" }, `${name}=`), rich(JSON.stringify(value))])
      : [JSON.stringify(given)];
    return make("div", { class: "call" }, "→ ", make("b", {}, call.tool), "(", words, ")");
  };

  const resultOf = (result) => {
    if (result.error) return make("p", { class: "refused" }, rich(`← ${result.error.kind}: ${result.error.message}`));
    const rows = rowsIn(result.value);
    const detail = rows ? `← ${rows.length} ${rows.length === 1 ? "row" : "rows"}` : isRow(result.value) ? `← ${Object.keys(result.value).length} fields` : "← value";
    const single = rows && rows.length === 1 ? rows[0] : isRow(result.value) && !rows ? result.value : null;
    const shown = single ? fieldsOf(single) : rows ? grid(rows) : make("pre", {}, spelled(result.value ?? null));
    return make("details", { class: "result" }, make("summary", {}, `${detail}${result.note ? ` (${result.note})` : ""}`), shown);
  };

  const faultOf = (fault) => {
    const where = `${fault.turn ? `turn ${fault.turn}: ` : ""}${fault.text}`;
    const score = fault.score ? `✗ ${fault.score}: ` : "";
    if (fault.expected === undefined) return make("li", {}, rich(`${score}${where}`));
    return make("li", {}, rich(`${score}${where} `), "expected ", marked(fault.expected, fault.actual, "expected"), ", actual ", marked(fault.actual, fault.expected, "actual"));
  };

  const messageOf = (message) =>
    make("div", { class: `said ${message.speaker}` }, make("span", { class: "who" }, message.model ? `${message.speaker} (${message.model})` : message.speaker), make("div", {},
      message.thoughts ? make("details", { class: "thoughts" }, make("summary", {}, "thoughts"), make("div", { class: "text" }, message.thoughts)) : null,
      message.text || !(message.calls || message.results) ? make("div", { class: "text" }, message.text || (message.thoughts ? "(thoughts only, no reply)" : "(no reply)")) : null,
      (message.calls || []).map(callOf), (message.results || []).map(resultOf)));

  const saidIn = (turn) => turn.said.find((message) => message.speaker === "user")?.text || "";
  const saidBy = (turn) => JSON.stringify([turn.said, turn.cut]);
  // A turn without a fault is folded if another one has a fault.
  const turnOf = (turn, number, { folded, other }) => {
    const differs = other && saidBy(other) !== saidBy(turn);
    const title = [`Turn ${number + 1}`, turn.faults ? make("small", { class: "actual" }, ` ✗ ${turn.faults.length} ${turn.faults.length === 1 ? "fault" : "faults"}`) : null,
      differs ? make("small", {}, " · differs") : null].filter(Boolean);
    const content = [turn.said.map(messageOf),
      turn.cut ? make("p", { class: "said" }, "Stopped: the agent reached the maximum number of steps.") : null,
      turn.faults ? make("ul", { class: "faults" }, turn.faults.map(faultOf)) : null];
    const named = { class: `turn${turn.faults ? " faulty" : ""}`, "aria-label": `Turn ${number + 1}` };
    if (!folded) return make("article", named, make("h4", {}, title), content);
    return make("article", named, make("details", {}, make("summary", {}, title, make("small", {}, ` no fault · ${saidIn(turn).slice(0, 100)}`)), content));
  };
  const isFolded = (detail, turn) => Boolean(detail.turns.some((each) => each.faults) && !turn.faults && !turn.cut);

  // A row of the CRM that is not as expected, with what differs marked.
  const stateRowOf = (row) => {
    const sides = [1, 2].filter((side) => row.cells.some((cell) => cell[side] !== null));
    const heads = ["", "Expected", "Actual"];
    const cellOf = (cell, side) => {
      const [, expected, actual] = cell;
      const kind = ["", "expected", "actual"][side];
      if (sides.length === 1) return make("td", {}, rich(cell[side]));
      if (expected === actual) return make("td", { class: "same" }, rich(cell[side]));
      return make("td", { class: kind }, side === 1 ? marked(expected, actual, "") : marked(actual, expected, ""));
    };
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": row.title }, make("table", { class: "row" },
      make("caption", {}, rich(row.title), make("small", {}, ` ${row.score}`)),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Column"), sides.map((side) => make("th", { scope: "col" }, heads[side])))),
      make("tbody", {}, row.cells.map((cell) => make("tr", {}, make("th", { scope: "row" }, cell[0]), sides.map((side) => cellOf(cell, side)))))));
  };

  const wholeOf = ({ rows, faults }) =>
    !rows && !faults ? null : make("div", { class: "wrong" }, make("h4", {}, rows ? "The CRM at the end" : "Faults of the whole conversation"),
      rows ? make("div", { class: "rows" }, rows.map(stateRowOf)) : null,
      faults ? make("ul", { class: "faults" }, faults.map(faultOf)) : null);

  const judgeOf = (judge) =>
    make("div", { class: "wrong" }, make("h4", {}, `Judge${judge.cached ? " (cached)" : ""}`),
      judge.trouble ? make("p", { class: "opinion" }, `Not graded: ${judge.trouble}`) : null,
      judge.restriction ? make("p", { class: "opinion" }, `Only reported, because ${judge.restriction}`) : null,
      judge.statements.map((each) => make("div", { class: "opinion" },
        make("small", {}, `turn ${each.turn}: ${each.reason === undefined ? "not false" : "false"}`),
        make("div", { class: "text" }, each.reason ? `${each.quote}: ${each.reason}` : each.quote))),
      judge.grades.map((grade) => make("div", { class: "opinion" },
        make("small", {}, (grade.attempt || "no outcome").replaceAll("_", " ")),
        make("div", { class: "text" }, grade.reason || "(no reason given)"))));

  const counted = (found) => Object.entries(found || {}).map(([name, count]) => `${name.replaceAll("_", " ")} ${count}`).join(", ");
  const inAddress = (part) => encodeURIComponent(part.replace(/\p{Surrogate}/gu, "\ufffd")); // half an emoji can't be in a URL
  const linkTo = (where) => make("a", { href: [data.folder, ...where.split("/")].map(inAddress).join("/") }, where);
  const block = (title, lines) => make("div", { class: "wrong" }, make("h4", {}, title),
    lines.filter(([, value]) => value).map(([name, value]) => make("div", { class: "opinion" }, make("small", {}, name), make("div", { class: "text" }, value))));

  const VERDICTS = { AC: "accepted", WA: "wrong answer", TLE: "time limit exceeded", MLE: "memory limit exceeded", RE: "runtime error", OLE: "output limit exceeded", CE: "compile error", JE: "not graded: the sandbox or a checker failed", SKIPPED: "not graded in time" };
  const verdictsOf = (found) => counted(Object.fromEntries(Object.entries(found || {}).map(([name, count]) => [VERDICTS[name] || name, count])));
  const solutionsOf = (found) => block("Solutions", [
    ["verdicts", verdictsOf(found.verdicts)], ["ungradable lines", counted(found.ungradable)], ["not graded in time", found.missing],
    ["reused from", found.reused_from && `${found.reused_from} (${found.reused})`], ["all verdicts", found.results && linkTo(found.results)],
  ]);

  const quoted = (name, text, kind) => (text === undefined ? null : make("div", { class: "opinion" }, make("small", {}, name), make("pre", { class: `code ${kind || ""}` }, text)));
  const programOf = (found, number) =>
    make("details", { class: "program", open: number === 0 }, make("summary", {}, make("b", {}, found.problem || `line ${found.line}`), " ",
      make("span", { class: "chip bad" }, VERDICTS[found.verdict] || found.verdict), make("small", {}, ` line ${found.line}${found.test ? `, ${found.test}` : ""}`)),
      found.test && !found.input && !found.expected ? null : make("div", { class: "test" }, quoted("input", found.input), quoted("expected", found.expected, "expected"), quoted("got", found.test ? found.output || "(nothing)" : undefined, "actual")),
      quoted("reason", found.reason), quoted("program", found.program || "(not stored)"));
  const programsOf = (programs, found) => {
    const failed = Object.entries(found.verdicts || {}).reduce((sum, [name, count]) => sum + (["AC", "JE", "SKIPPED"].includes(name) ? 0 : count), 0);
    const more = failed - programs.length;
    return make("div", { class: "wrong" }, make("h4", {}, `${failed} ${failed === 1 ? "program" : "programs"} failed`), programs.map(programOf),
      more > 0 ? make("p", { class: "opinion" }, `The first ${programs.length} are shown; the file with all verdicts has the other ${more}.`) : null);
  };

  const learningOf = (found) => block("Learning", [
    ["mode", `${found.learning}, ${found.mode}, conversation ${found.position} of the stream, ${found.entries} entries in the playbook`],
    ["reviews", counted(found.reviews)], ["the teacher's guidance", (found.guidance || []).join("\n")],
    ["reward", found.reward && fixed(found.reward.score, 3)],
    ["learned", (found.added || []).map((entry) => `${entry.cue.join(" / ")}: ${entry.action}`).join("\n")],
    ["trouble", (found.trouble || []).join("\n")],
  ]);

  const scoresOf = (scores) => (scores || []).map(([name, value, threshold]) =>
    make("span", { class: `chip ${value >= threshold ? "good" : "bad"}` }, `${value >= threshold ? "✓" : "✗"} ${name} ${fixed(value, 3)}`));

  const missingOf = (detail) => {
    if (detail.closed) return "This suite is confidential: dialogues are stored encrypted and not shown here.";
    if (detail.trouble) return `The transcript ${detail.trouble}.`;
    return detail.where ? "The dialogue is empty." : "This trial has no transcript.";
  };

  const headOf = (title, detail, outcome) => [
    title ? make("h3", {}, title) : null,
    make("div", { class: "line" }, outcome ? verdict(outcome) : null, outcome === "measured" ? null : scoresOf(detail.scores),
      detail.answer ? make("span", {}, `answer ${detail.answer.attempt.replaceAll("_", " ")}`) : null),
    detail.reason ? make("p", { class: "text" }, detail.reason) : null,
  ].filter(Boolean);

  const restOf = (detail) => [
    detail.programs ? programsOf(detail.programs, detail.solutions) : null,
    detail.turns || detail.solutions ? null : make("p", { class: "note" }, missingOf(detail)),
    detail.judge ? judgeOf(detail.judge) : null,
    detail.solutions ? solutionsOf(detail.solutions) : null,
    detail.learning ? learningOf(detail.learning) : null,
    (detail.notes || []).map((note) => make("p", { class: "note" }, note)),
  ].flat().filter(Boolean);

  const turnsOf = (detail) => (detail.turns || []).map((turn, number) => turnOf(turn, number, { folded: isFolded(detail, turn) }));

  const sideOf = (title, detail, outcome) =>
    make("section", { class: "side" }, headOf(title, detail, outcome), wholeOf(detail), turnsOf(detail), restOf(detail));

  // Two dialogues: what is wrong with each, then turn beside turn.
  const besideOf = (before, after, outcome) => {
    const columns = [["This run", after, outcome], ["Baseline", before, before.verdict]];
    const rows = [columns.map(([title, detail, found]) => make("section", { class: "side" }, headOf(title, detail, found), wholeOf(detail)))];
    const [mine, theirs] = [after.turns || [], before.turns || []];
    const isWrong = [...mine, ...theirs].some((turn) => turn.faults);
    for (let number = 0; number < Math.max(mine.length, theirs.length); number += 1) {
      const other = [theirs[number], mine[number]];
      const folded = isWrong && other.every((turn) => turn && !turn.faults && !turn.cut) && saidBy(other[0]) === saidBy(other[1]);
      rows.push([mine[number], theirs[number]].map((turn, side) => (turn ? turnOf(turn, number, { folded, other: other[side] || { said: [] } }) : make("p", { class: "note" }, `Turn ${number + 1} was not played.`))));
    }
    rows.push([after, before].map((detail) => make("div", {}, restOf(detail))));
    return rows.map((pair) => make("div", { class: "sides" }, pair));
  };

  const factsOf = (trial, detail) => {
    const labels = detail.labels || {};
    const where = detail.where && linkTo(detail.where);
    const usage = detail.bill && detail.bill.usage;
    const facts = [
      ["test", detail.key], ["agent", detail.spec], ["content", detail.fingerprint],
      ["labels", [labels.complexity, labels.category, labels.split, ...(labels.tags || [])].filter(Boolean).join(", ")],
      ["usage", `${seconds(trial.seconds)}${usage ? `, ${usage.calls} calls, ${usage.input.toLocaleString("en")} tokens in, ${usage.output.toLocaleString("en")} out, ${dollars(detail.bill.cost)}` : ""}`],
      ["transcript", where],
    ];
    return make("dl", { class: "origin" }, facts.filter(([, value]) => value).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  };

  const dialog = find("trial");
  let opened = null;
  let returnTo = null;

  const open = async (number) => {
    const trial = trials[number];
    opened = number;
    find("trial-title").textContent = `${trial.subject} · ${trial.name}`;
    const place = state.shown.indexOf(trial);
    find("previous").disabled = place <= 0;
    find("next").disabled = place < 0 || place >= state.shown.length - 1;
    if (!dialog.open) {
      returnTo = document.activeElement;
      dialog.showModal();
    }
    find("trial-body").replaceChildren(make("p", { class: "note" }, "Loading …"));
    find("trial-title").focus();
    const parts = await dialogueOf(number).then((detail) => layOut(trial, detail), () => [
      make("div", { class: "line" }, verdict(trial.outcome)), trial.why ? make("p", { class: "text" }, trial.why) : null,
      make("p", { class: "note" }, data.served ? "This dialogue can't be loaded: the run has changed, or crmeval view has ended. Reload the page." : `The dialogues are missing: keep the folder ${data.folder}/page beside this file.`),
    ].filter(Boolean));
    if (opened !== number) return;
    dialog.classList.toggle("two", parts.two === true);
    find("trial-body").replaceChildren(...parts);
    dialog.scrollTop = 0;
    // It opens where it first went wrong, unless that is in sight.
    const first = find("trial-body").querySelector(".wrong, .turn.faulty");
    const { top, height } = dialog.getBoundingClientRect();
    if (first && first.getBoundingClientRect().top > top + height / 2) {
      dialog.scrollTop = first.offsetTop - dialog.querySelector("header").offsetHeight - 12;
    }
  };

  // ---- what people say about the verdict; only `crmeval view` can store it

  const annotationOf = (each) =>
    make("li", {}, make("b", {}, each.person), ` ${each.opinion === "none" ? "notes" : `${each.opinion}s`}`,
      each.outdated ? ` (about an earlier verdict: ${each.outdated})` : "", make("small", {}, ` ${each.at.slice(0, 16).replace("T", " ")}`),
      each.note ? make("div", { class: "text" }, each.note) : null);

  const annotationForm = (trial, shown) => {
    const note = make("textarea", { rows: "2", maxlength: "10000", "aria-label": "Note", placeholder: "Why? (optional)" });
    const said = make("span", { role: "status" });
    const send = async (opinion) => {
      const { number, suite, subject, case: name, trial: repeat } = trial;
      const body = JSON.stringify({ number, suite, subject, case: name, trial: repeat, verdict: trial.verdict, opinion, note: note.value });
      said.textContent = "";
      try {
        const answer = await fetch("annotations", { method: "POST", headers: { "Content-Type": "application/json" }, body });
        if (!answer.ok) throw new Error((await answer.json()).error);
        shown.replaceChildren(...(await answer.json()).map(annotationOf));
        said.textContent = "Saved";
      } catch (error) {
        said.textContent = `Not saved: ${error.message}`;
      }
    };
    const button = (text, opinion) => {
      const element = make("button", { type: "button", class: "quiet" }, text);
      element.addEventListener("click", () => send(opinion));
      return element;
    };
    return make("div", { class: "annotate" }, note, make("div", { class: "tools" },
      button("Agree with the verdict", "agree"), button("Disagree", "disagree"), button("No opinion", "none"), said));
  };

  const annotationsOf = (trial, detail) => {
    const found = detail.annotations || [];
    if (!found.length && !data.served) return [];
    const shown = make("ul", { class: "annotations" }, found.map(annotationOf));
    return [make("h3", {}, "Annotations"), shown, data.served ? annotationForm(trial, shown) : null].filter(Boolean);
  };

  const layOut = (trial, detail) => {
    const sides = detail.before ? besideOf(detail.before, detail, trial.outcome) : [make("div", { class: "sides" }, sideOf("", detail, trial.outcome))];
    const parts = [...sides, ...annotationsOf(trial, detail), make("h3", {}, "About this trial"), factsOf(trial, detail)];
    parts.two = Boolean(detail.before);
    return parts;
  };

  const step = (by) => {
    const trial = state.shown[state.shown.indexOf(trials[opened]) + by];
    if (trial) history.replaceState(null, "", `#trial-${trial.number}`);
    if (trial) open(trial.number);
  };

  // The trial in the address: #trial-7, or by its names: #case?suite=crm&subject=gpt&case=c-1&trial=1
  const addressed = () => {
    const found = /^#trial-(\d+)$/.exec(location.hash);
    if (found) return trials[Number(found[1])];
    if (!location.hash.startsWith("#case?")) return undefined;
    const wanted = new URLSearchParams(location.hash.slice("#case?".length));
    return trials.find((trial) => trial.suite === wanted.get("suite") && trial.subject === wanted.get("subject")
      && trial.case === wanted.get("case") && trial.trial === Number(wanted.get("trial") ?? 1));
  };

  const follow = () => {
    const trial = addressed();
    if (trial) {
      history.replaceState(null, "", `#trial-${trial.number}`);
      open(trial.number);
    } else if (dialog.open) dialog.close();
    if (location.hash.startsWith("#trials?")) ask(new URLSearchParams(location.hash.slice("#trials?".length)));
  };

  dialog.addEventListener("close", () => {
    opened = null;
    if (/^#trial-\d+$/.test(location.hash)) history.replaceState(null, "", "#trials");
    returnTo?.focus?.({ preventScroll: true });
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  find("close").addEventListener("click", () => dialog.close());
  find("previous").addEventListener("click", () => step(-1));
  find("next").addEventListener("click", () => step(1));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (dialog.open && (event.key === "j" || event.key === "k")) step(event.key === "j" ? 1 : -1);
    if (!dialog.open && event.key === "/") {
      event.preventDefault();
      find("filter-text").focus();
    }
  });

  // ---- light and dark

  const THEMES = ["", "light", "dark"];
  const theme = find("theme");
  theme.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.style.colorScheme) + 1) % THEMES.length];
    document.documentElement.style.colorScheme = next;
    theme.textContent = `Theme: ${next || "system"}`;
  });

  // ---- regions that scroll can be focused with the keyboard, others are skipped

  const settle = () => {
    for (const region of document.querySelectorAll("main .scroll")) {
      if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
      else region.removeAttribute("tabindex");
    }
  };
  window.addEventListener("resize", settle);
  document.addEventListener("toggle", settle, true);

  // ---- start

  for (const name of fields) {
    find(`filter-${name}`).addEventListener("input", () => { state.page = 0; select(); });
  }
  find("filters").addEventListener("submit", (event) => event.preventDefault());
  find("filters").addEventListener("reset", () => setTimeout(() => { state.page = 0; select(); }));
  find("page-back").addEventListener("click", () => { state.page -= 1; show(); });
  find("page-on").addEventListener("click", () => { state.page += 1; show(); });
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#trial']");
    if (link && link.hash === location.hash) follow();  // the same link again: the hash does not change
  });
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
  head();
  fill();
  select();
  for (const id of ["filters", "trial-table", "theme"]) find(id).hidden = false;
  settle();
  follow();
})();
