// The pages' script: theme, help, keys; the fleet with search, filters, sorting and a list of what is visible; the
// page of a query. Without it the pages are complete and still.
import { COLUMNS, fleetRow, fleetSummary, lacks, link, sortRows, verdict } from './fleet.js';
import { below, logs, progress, side, top } from './query.js';
import { mount } from './charts.js';
import { follow } from './live.js';
import { ORDER, STATES, esc, fmt, icon, needs, time } from './words.js';

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const params = () => new URLSearchParams(location.search);
const typing = e => /INPUT|SELECT|TEXTAREA/.test(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey;

async function get(path, as = 'json') {
  const answer = await fetch(path, { cache: 'no-store' });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer[as]();
}

function setParams(changed) {
  const p = params();
  for (const [key, value] of Object.entries(changed)) {
    if (value == null || value === '') p.delete(key);
    else p.set(key, value);
  }
  const text = p.toString();
  history.replaceState(null, '', text ? '?' + text : location.pathname);
}

// ---- patching ----
// The page's own state, which HTML from data does not know.
const KEPT = new Set(['open', 'hidden']);

// patch makes the children of an element those of the HTML, changing only what differs: neither focus, nor selection,
// nor what was opened is lost.
function patch(el, html) {
  if (el.patched === html) return;
  el.patched = html;
  const template = document.createElement('template');
  template.innerHTML = html;
  children(el, template.content);
}

function children(a, b) {
  const now = [...a.childNodes], next = [...b.childNodes];
  next.forEach((node, i) => now[i] ? morph(now[i], node) : a.append(node));
  now.slice(next.length).forEach(node => node.remove());
}

function morph(a, b) {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) {
    a.replaceWith(b);
    return;
  }
  if (a.nodeType !== Node.ELEMENT_NODE) {
    if (a.data !== b.data) a.data = b.data;
    return;
  }
  for (const { name, value } of [...b.attributes]) {
    if (!KEPT.has(name) && a.getAttribute(name) !== value) a.setAttribute(name, value);
  }
  for (const { name } of [...a.attributes]) if (!KEPT.has(name) && !b.hasAttribute(name)) a.removeAttribute(name);
  children(a, b);
}

// ---- what every page has ----
const themed = []; // called after a change of colours

function shell() {
  const root = document.documentElement, system = matchMedia('(prefers-color-scheme: dark)'), help = $('#help');
  const changed = () => themed.forEach(f => f());
  const dark = () => root.dataset.theme ? root.dataset.theme === 'dark' : system.matches;
  const flip = () => {
    root.dataset.theme = dark() ? 'light' : 'dark';
    document.cookie = `weir-theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=strict`;
    changed();
  };
  system.addEventListener('change', changed);
  $('#theme').hidden = $('#help-open').hidden = false;
  $('#theme').onclick = flip;
  $('#help-open').onclick = () => help.showModal();
  help.addEventListener('click', e => { if (e.target === help) help.close(); });
  addEventListener('keydown', e => {
    if (e.defaultPrevented || typing(e) || help.open) return;
    const page = $(`nav [data-key="${CSS.escape(e.key)}"]`);
    if (e.key === '?') help.showModal();
    else if (e.key === 't') flip();
    else if (page) location.href = page.href;
    else return;
    e.preventDefault();
  });
}

// clock keeps the time of the page: that of the server's last event, going on.
const clock = { heard: 0, at: 0 };
const now = () => clock.at + (Date.now() - clock.heard);
const LATE = 3500; // after so long without an event the page is not live any more

function beat(atMs) {
  clock.heard = Date.now();
  clock.at = atMs;
  $('#asof').innerHTML = time(atMs, fmt.clock(atMs) + ' UTC');
  lively();
}

function lively() {
  const live = $('#live'), late = Date.now() - clock.heard > LATE;
  live.classList.toggle('on', !late);
  live.classList.toggle('late', late);
  $('span', live).textContent = late ? 'Not live, as of' : 'Live, as of';
}

// watch follows what a page wants, and how many alerts fire, which stands beside their link on every page.
function watch(want, hear) {
  follow(want, (name, e) => {
    if (name !== 'alerts') return hear(name, e);
    const mark = $('#firing');
    if (!mark) return;
    mark.hidden = !e.firing;
    const [shown, told] = mark.children;
    shown.textContent = e.firing;
    told.textContent = e.firing === 1 ? ', 1 alert fires' : `, ${e.firing} alerts fire`;
  });
}

// said tells those who do not see it that states changed, and nothing else.
function said(changes) {
  if (!changes.length) return;
  $('#said').textContent = changes.length > 3 ? `${changes.length} queries changed their state.` :
    changes.map(q => `${q.name}: ${STATES[q.state].word}.`).join(' ');
}

// ---- the fleet ----
const SETTLE = 5000; // rows keep their places for so long
const VIRTUAL = 200; // with more rows only visible ones are in the document

function fleetPage() {
  const table = $('#fleet'), body = $('#rows'), search = $('#q');
  const fleet = { nowAtMs: 0, totals: { byState: {} }, queries: [] }, byId = new Map();
  const p = params(), list = key => new Set((p.get(key) || '').split(',').filter(Boolean));
  const view = {
    q: p.get('q') || '', states: list('state'), hide: list('hide'), group: p.get('group') || '',
    sort: COLUMNS.some(c => c[0] === p.get('sort')) ? p.get('sort') : 'health', dir: p.get('dir') === '1' ? 1 : -1,
  };
  let rows = [], selected = '', sorted = 0, known = false;

  watch({ fleet: true }, (_, e) => {
    take(e);
    if (!table) {
      beat(e.nowAtMs);
      if (fleet.queries.length) location.reload();
      return;
    }
    const alone = fleet.queries.length === 1;
    beat(e.nowAtMs);
    $('#tools').hidden = fleet.queries.length < 2 && !view.q && !view.states.size;
    patch($('#summary'), fleetSummary(fleet));
    document.title = `${verdict(fleet.queries).replace(/\.$/, '')} · weir`;
    chips();
    if (!known || Date.now() - sorted > SETTLE && !body.matches(':hover') && !body.contains(document.activeElement)) {
      known = true;
      arrange();
    } else draw();
    if (alone) charts.start(fleet.queries[0].id);
  });
  if (!table) return;
  const charts = $('#alone') ? chartsOf($('#alone').dataset.id) : { start() {} };
  charts.start($('#alone')?.dataset.id);

  // take brings the fleet up to an event.
  function take(e) {
    const changes = [];
    fleet.nowAtMs = e.nowAtMs;
    fleet.totals = e.totals;
    if (e.whole) {
      const there = new Set(e.queries.map(q => q.id));
      for (const id of byId.keys()) if (!there.has(id)) byId.delete(id);
    }
    for (const q of e.queries) {
      const before = byId.get(q.id);
      if (before && q.state && q.state !== before.state) changes.push(q);
      if (before) Object.assign(before, q); else byId.set(q.id, q);
    }
    for (const id of e.gone) byId.delete(id);
    fleet.queries = sortRows(byId.values(), 'health', -1);
    said(changes);
  }

  // arrange filters, sorts and groups.
  function arrange() {
    const words = view.q.toLowerCase().split(/\s+/).filter(Boolean);
    const text = q => `${q.name} ${q.application} ${q.engine} ${q.tags.join(' ')} ${q.reason}`.toLowerCase();
    const found = fleet.queries.filter(q =>
      (!view.states.size || view.states.has(q.state)) && words.every(w => text(q).includes(w)));
    rows = sortRows(found, view.sort, view.dir);
    const all = fleet.queries.length;
    $('#count').textContent = found.length === all ? '' : `${found.length} of ${all}`;
    if (view.group) rows = grouped(rows);
    sorted = Date.now();
    table.classList.toggle('by-app', view.group === 'app');
    table.setAttribute('aria-rowcount', rows.length + 1);
    const absent = lacks(fleet.queries);
    for (const [key] of COLUMNS) table.classList.toggle('hide-' + key, view.hide.has(key) || absent.includes(key));
    for (const th of $$('th[data-k]', table)) {
      if (th.dataset.k !== view.sort) th.removeAttribute('aria-sort');
      else th.setAttribute('aria-sort', view.dir > 0 ? 'ascending' : 'descending');
    }
    $('#nomatch').hidden = rows.length > 0;
    $('#nomatch b').textContent = view.q || 'this filter';
    draw();
  }

  function grouped(rows) {
    const groups = new Map();
    for (const q of rows) {
      const key = (view.group === 'engine' ? q.engine.split(' ')[0] : q.application) || 'no application';
      groups.set(key, [...groups.get(key) || [], q]);
    }
    return [...groups].flatMap(([head, list]) => {
      const bad = list.filter(q => needs(q)).length;
      const need = bad ? ` · ${bad} need${bad > 1 ? '' : 's'} attention` : '';
      const text = `${list.length} ${list.length > 1 ? 'queries' : 'query'}${need}`;
      return [{ id: 'group ' + head, head, text }, ...list];
    });
  }

  // ---- drawing ----
  const rowHeight = () => parseFloat(getComputedStyle(table).getPropertyValue('--row')) *
    parseFloat(getComputedStyle(document.documentElement).fontSize);
  const drawn = new Map(); // rows of the document by id

  // span is the part of the rows that is in the document.
  function span() {
    if (rows.length <= VIRTUAL) return [0, rows.length];
    const h = rowHeight(), above = Math.max(0, -body.getBoundingClientRect().top);
    const first = Math.max(0, Math.floor(above / h) - 12) & ~1;
    return [first, Math.min(rows.length, first + Math.ceil(innerHeight / h) + 24)];
  }

  const width = () => $$('th[data-k]', table).filter(th => th.offsetParent).length;
  const groupRow = q => `<tr role="row" class="group" data-id="${esc(q.id)}"><th role="rowheader" scope="rowgroup" ` +
    `colspan="${width()}">${esc(q.head)} <span>${q.text}</span></th></tr>`;

  function draw() {
    const [first, last] = span(), ids = new Set(), h = rowHeight();
    let place = pad('before', first * h);
    for (let i = first; i < last; i++) {
      const q = rows[i], html = q.head ? groupRow(q) : fleetRow(byId.get(q.id) || q, fleet.nowAtMs, i);
      const tr = drawn.get(q.id) || $(`tr[data-id="${CSS.escape(q.id)}"]`, body) || document.createElement('tr');
      ids.add(q.id);
      drawn.set(q.id, tr);
      renew(tr, html);
      tr.classList.toggle('at', q.id === selected);
      const next = place ? place.nextSibling : body.firstChild;
      if (next !== tr) body.insertBefore(tr, next);
      place = tr;
    }
    const end = pad('after', (rows.length - last) * h);
    for (const tr of [...body.children]) if (!ids.has(tr.dataset.id) && !tr.classList.contains('pad')) tr.remove();
    for (const id of drawn.keys()) if (!ids.has(id)) drawn.delete(id);
    if (end) body.append(end);
  }

  // renew gives a row its attributes and cells.
  function renew(tr, html) {
    if (tr.patched === html) return;
    tr.patched = html;
    const template = document.createElement('template');
    template.innerHTML = html;
    morph(tr, template.content.firstChild);
  }

  // pad stands for the rows before or after those in the document.
  const pads = {};
  function pad(where, height) {
    if (!height) {
      pads[where]?.remove();
      return null;
    }
    if (!pads[where]) {
      pads[where] = document.createElement('tr');
      pads[where].className = 'pad';
      pads[where].setAttribute('aria-hidden', 'true');
      pads[where].append(document.createElement('td'));
    }
    pads[where].firstChild.style.height = height + 'px';
    if (where === 'before') body.prepend(pads[where]);
    return pads[where];
  }

  function chips() {
    const states = ORDER.filter(s => fleet.totals.byState[s] || view.states.has(s));
    patch($('#chips'), states.map(s => `<button type="button" class="chip ${STATES[s].tone}" data-s="${s}" ` +
      `aria-pressed="${view.states.has(s)}" title="${STATES[s].means}">${icon(s)}<span>${STATES[s].word}</span>` +
      `<b>${fleet.totals.byState[s] || 0}</b></button>`).join(''));
  }

  // ---- what a person does ----
  function changed() {
    setParams({
      q: view.q, state: [...view.states].join(','), sort: view.sort === 'health' ? '' : view.sort,
      dir: view.dir === -1 ? '' : view.dir, group: view.group, hide: [...view.hide].join(','),
    });
    chips();
    arrange();
  }
  function clear() {
    view.q = search.value = '';
    view.states.clear();
    changed();
  }
  function move(by) {
    const shown = rows.map((q, i) => q.head ? -1 : i).filter(i => i >= 0);
    if (!shown.length) return;
    const at = shown.indexOf(rows.findIndex(q => q.id === selected));
    const i = shown[at < 0 ? 0 : Math.max(0, Math.min(shown.length - 1, at + by))];
    selected = rows[i].id;
    const y = body.getBoundingClientRect().top + i * rowHeight();
    if (y < 100 || y > innerHeight - 60) scrollTo(0, scrollY + y - innerHeight / 2);
    draw();
    const row = drawn.get(selected);
    $('a', row).focus({ preventScroll: true });
    row.scrollIntoView({ block: 'nearest' });
  }

  const cols = $('#cols');
  $('#cols-list').innerHTML = COLUMNS.slice(2).map(([key, head, second]) =>
    `<label><input type="checkbox" value="${key}"${view.hide.has(key) ? '' : ' checked'}> ${head}` +
    `${second && ` <span>${second}</span>`}</label>`).join('');
  cols.hidden = $('#groupby').hidden = false;
  $('#groupby select').value = view.group;
  search.value = view.q;
  search.oninput = () => { view.q = search.value; changed(); };
  $('#groupby select').onchange = e => { view.group = e.target.value; changed(); };
  $('#cols-list').onchange = e => { view.hide[e.target.checked ? 'delete' : 'add'](e.target.value); changed(); };
  $('#nomatch button').onclick = clear;
  table.tHead.addEventListener('click', e => {
    const key = e.target.closest('button') && e.target.closest('th').dataset.k;
    if (!key) return;
    view.dir = view.sort === key ? -view.dir : COLUMNS.find(c => c[0] === key)[4];
    view.sort = key;
    changed();
  });
  $('#chips').onclick = e => {
    const state = e.target.closest('.chip')?.dataset.s;
    if (!state) return;
    if (!view.states.delete(state)) view.states.add(state);
    changed();
  };
  body.addEventListener('click', e => {
    const q = byId.get(e.target.closest('tr')?.dataset.id);
    if (q && !e.target.closest('a') && !String(getSelection())) location.href = link(q);
  });
  addEventListener('click', e => { if (!e.target.closest('#cols')) cols.open = false; });
  let framed = 0;
  const soon = () => { framed ||= requestAnimationFrame(() => { framed = 0; if (known) draw(); }); };
  addEventListener('scroll', soon, { passive: true });
  addEventListener('resize', soon);
  addEventListener('keydown', e => {
    if (e.key === 'Escape' && e.target === search) { clear(); search.blur(); return; }
    if (e.key === 'Escape' && cols.open) { cols.open = false; $('summary', cols).focus(); return; }
    if (e.defaultPrevented || typing(e) || $('#help').open) return;
    const by = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by && (e.key.length === 1 || body.contains(document.activeElement))) move(by);
    else if (e.key === '/') search.focus();
    else if (e.key === 'Escape') { selected = ''; document.activeElement?.blur?.(); clear(); }
    else return;
    e.preventDefault();
  });
}

// ---- charts of a query ----
const REFRESH = 10000; // the finest step of a series

function chartsOf(id) {
  const bar = $('.range'), range = () => params().get('range') || '30';
  let charts = null, detail = null, read = 0, busy = false;

  async function load() {
    if (busy || document.hidden) return;
    busy = true;
    const r = range(), day = r === 'day', to = clock.at || +document.body.dataset.at;
    const path = `/api/v1/series?query=${encodeURIComponent(id)}&to=${to}`;
    try {
      const [q, series] = await Promise.all([
        detail || get('/api/v1/queries/' + encodeURIComponent(id)),
        get(path + (day ? `&from=${to - 864e5}&step=240` : `&from=${to - 36e5}`)),
      ]);
      const first = !charts;
      charts ||= start(q, series);
      charts.show(series, day ? 0 : +r, q);
      if (first && +params().get('to') > +params().get('from')) charts.zoom(+params().get('from'), +params().get('to'));
      read = Date.now();
    } catch {
      // The dot says that the server does not answer; the next try is a step away.
      read = Date.now() - REFRESH / 2;
    }
    busy = false;
  }
  function start(q, series) {
    const charts = mount(q, series, zoom => {
      setParams({ from: zoom && Math.round(zoom[0]), to: zoom && Math.round(zoom[1]) });
    });
    themed.push(charts.themed);
    return charts;
  }
  const press = () => $$('[data-r]', bar).forEach(b => b.setAttribute('aria-pressed', b.dataset.r === range()));
  bar.onclick = e => {
    if (e.target.id === 'zoomout') charts?.reset();
    if (!e.target.dataset.r) return;
    charts?.reset();
    setParams({ range: e.target.dataset.r === '30' ? '' : e.target.dataset.r });
    press();
    load();
  };
  press();
  return {
    start() { if (Date.now() - read > REFRESH) load(); },
    // tell takes in the newest detail, and reads the series when a step has passed.
    tell(q) {
      detail = q;
      if (Date.now() - read > REFRESH) load();
    },
  };
}

// ---- the page of a query ----
const KEEP = 128; // batches, as many as the server keeps
const KEEP_LINES = 1000; // the same of what functions printed

function detailPage() {
  const id = document.body.dataset.id, charts = chartsOf(id);
  let q = null, list = null, printed = null, lastBatch = null, state = '';
  charts.start();
  if ($('.printed')) $('.printed').scrollTop = $('.printed').scrollHeight; // the newest lines are at its end

  watch({ id }, async (_, e) => {
    beat(e.nowAtMs);
    if (e.gone) return;
    if (e.query) {
      if (q && q.runId !== e.query.runId) list = null;
      q = e.query;
    }
    q.nowAtMs = e.nowAtMs;
    if (!list) list = { query: id, triggerMs: q.triggerMs, batches: [] };
    const fresh = new Set(e.batches.map(b => b.batchId));
    list.batches = [...e.batches, ...list.batches.filter(b => !fresh.has(b.batchId))].slice(0, KEEP);
    patch($('#top'), top(q));
    patch($('#side'), side(q, list));
    patch($('#below'), below(q, list));
    print(e.logs);
    if (state && state !== q.state) said([q]);
    state = q.state;
    document.title = `${q.name}: ${STATES[q.state].word.toLowerCase()} · weir`;
    charts.tell(q);
    if (q.lastBatchId !== lastBatch) {
      lastBatch = q.lastBatchId;
      const text = await get(`/api/v1/queries/${encodeURIComponent(id)}/progress`, 'text').catch(() => null);
      if (text) patch($('#last'), progress(text));
      copying();
    }
  });
  copying();

  // print shows new lines, and stays at the end where the reader is there.
  function print(l) {
    if (l) {
      const first = l.lines[0]?.line, before = printed && printed.runId === l.runId ? printed.lines : [];
      const lines = l.lines.length ? [...before.filter(line => line.line < first), ...l.lines] : before;
      printed = { ...l, lines: lines.slice(-KEEP_LINES) };
    }
    if (!printed) return;
    const box = $('.printed'), atEnd = !box || box.scrollTop + box.clientHeight > box.scrollHeight - 4;
    patch($('#printed'), logs(printed, q.nowAtMs));
    if (l && atEnd && $('.printed')) $('.printed').scrollTop = $('.printed').scrollHeight;
  }

  function copying() {
    const button = $('.copy');
    if (!button || !navigator.clipboard) return;
    button.hidden = false;
    button.onclick = async () => {
      await navigator.clipboard.writeText($('pre', button.parentElement).textContent);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    };
  }
}

// ---- pages that stand still, but for the number of alerts ----
function stillPage() {
  if ($('#firing')) watch({}, () => {});
}

// ---- resources and alerts, which the server renders anew ----
function resourcesPage() {
  stillPage();
  setInterval(async () => {
    if (document.hidden) return;
    const text = await get('/' + document.body.dataset.page, 'text').catch(() => '');
    if (!text) return;
    const fresh = new DOMParser().parseFromString(text, 'text/html');
    patch($('#page'), fresh.querySelector('#page').innerHTML);
    beat(+fresh.body.dataset.at);
  }, 2000);
}

shell();
(({ fleet: fleetPage, query: detailPage, resources: resourcesPage, alerts: resourcesPage })[document.body.dataset.page] || stillPage)();
setInterval(() => { if (clock.heard) lively(); }, 1000);
document.documentElement.dataset.ready = '1';
