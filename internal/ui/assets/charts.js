// Charts over time with one cursor, drawn by uPlot.
import { specs, charts as boxes } from './query.js';
import { esc, fmt, time } from './words.js';

const NB = '\u00a0';
const $ = (selector, root = document) => root.querySelector(selector);

// ---- colours ----
const INKS = ['text', 'text-2', 'text-3', 'field', 'line', 'line-2', 'surface', 'blue', 'blue-soft', 'ink', 'purple',
  'bad', 'shade', 'p-latestOffset', 'p-queryPlanning', 'p-read', 'p-compute', 'p-stateCommit', 'p-sinkWrite',
  'p-logCommit'];
const ink = {};

// readInk gives a canvas the colours of the page's theme.
function readInk() {
  const probe = document.body.appendChild(document.createElement('i'));
  for (const key of INKS) {
    probe.style.color = `var(--${key})`;
    ink[key] = getComputedStyle(probe).color;
  }
  probe.remove();
}
const inked = key => () => ink[key];

// ---- scales ----
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 2e4, 3e4, 6e4, 12e4, 18e4, 3e5, 6e5, 9e5,
  18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5];

// scale is the end of an axis and the distance of its ticks.
function scale(max, unit) {
  if (!(max > 0)) return unit === 'ms' ? [1000, 500] : [1, .5];
  const want = max / 3.4;
  let step = unit === 'ms' && STEPS.find(s => s >= want);
  if (!step) {
    const power = 10 ** Math.floor(Math.log10(want));
    step = power * [1, 2, 2.5, 5, 10].find(m => m * power >= want);
  }
  return [Math.ceil(max / step - 1e-9) * step, step];
}
const format = { ms: fmt.short, bytes: fmt.bytes, rows: fmt.num };
const trimmed = text => text.replace(/\.0(?=\D|$)/, '');

// mount draws the charts of a query into #charts and keeps them by range, zoom and theme. zooms is told of what a
// person zoomed to, and of null when that is over.
export function mount(detail, series, zooms) {
  readInk();
  const host = $('#charts');
  let q = detail, data = series, plots = [], x = [], home = [0, 0], shown = [0, 0], minutes = 30, quiet = false;

  const end = () => data.toAtMs / 1000;
  // Of a query that is younger than the range the charts begin where it does, two minutes back at least.
  const begun = () => {
    const columns = Object.values(data.columns), i = x.findIndex((_, k) => columns.some(c => c[k] != null));
    return i < 0 ? x[0] : x[i] - data.stepSeconds;
  };
  const from = m => Math.max(m ? end() - m * 60 : x[0], Math.min(begun(), end() - 120));
  const zoomed = () => shown[0] !== home[0] || shown[1] !== home[1];

  function columns(s) {
    const drawn = s.cols.map(c => data.columns[c[0]] ?? x.map(() => null));
    if (!s.stack) return { drawn, lines: drawn };
    const total = x.map((_, i) => drawn.reduce((sum, c) => c[i] == null ? sum : (sum ?? 0) + c[i], null));
    return { drawn, lines: [total] };
  }

  function build() {
    plots.forEach(p => p.u.destroy());
    host.innerHTML = boxes(q, data.columns);
    plots = $('.empty', host) ? [] : specs(q, data.columns).map(plot);
  }

  function plot(s) {
    const el = $('#c-' + s.id), box = $('.plot', el), p = { s, el, box, f: format[s.unit], ...columns(s) };
    const font = '11px ' + getComputedStyle(document.body).fontFamily;
    const axis = { stroke: inked('text-3'), font };
    const drawn = ([, label, colour, o]) => ({
      label, stroke: inked(colour), width: o.width ?? 1.75, dash: o.dash, fill: o.fill && inked(colour + '-soft'),
      spanGaps: false, points: { show: true, size: 4, width: 0, fill: inked(colour), filter: lonely },
    });
    const series = s.stack ? [{ stroke: 'transparent', points: { show: false } }] : s.cols.map(drawn);
    p.u = new uPlot({
      width: box.clientWidth, height: box.clientHeight, padding: [8, 18, 0, 0], legend: { show: false },
      tzDate: t => uPlot.tzDate(new Date(t * 1e3), 'Etc/UTC'),
      cursor: { sync: { key: 'weir', setSeries: false }, y: false, drag: { x: true, y: false, setScale: false },
        points: { size: 6, width: 1.5, fill: inked('surface') }, focus: { prox: -1 } },
      scales: { x: { time: true, range: () => shown }, y: { range: u => height(u, p) } },
      axes: [
        { ...axis, size: 24, gap: 5, space: 56, grid: { show: false },
          ticks: { stroke: inked('line'), size: 4, width: 1 },
          values: (u, v, i, space, step) => v.map(t => fmt.clock(t * 1000, step < 60)) },
        { ...axis, size: 56, gap: 8, space: 30, grid: { stroke: inked('line-2'), width: 1 }, ticks: { show: false },
          splits: u => Array.from({ length: Math.round(p.top / p.step) + 1 }, (_, i) => p.step * i),
          values: (u, v) => v.map(t => t ? trimmed(p.f(t)) : '0') },
      ],
      series: [{}, ...series],
      bands: s.band && [{ series: s.band, fill: inked('blue-soft') }],
      hooks: { drawClear: [u => under(u, data)], draw: [u => over(u, p), zone], setCursor: [u => point(u, p)],
        setSelect: [u => select(u)] },
    }, [x, ...p.lines], box);
    p.u.over.addEventListener('dblclick', reset);
    box.onkeydown = e => keys(e, p);
    $('.tbl', el).onclick = e => toggle(e.target, p);
    return p;
  }

  const visible = (v, i) => v != null && x[i] >= shown[0] && x[i] <= shown[1];

  // height ends the scale above nearly all that is visible; a line stretches it only when it is near.
  function height(u, p) {
    const seen = p.lines.flatMap(c => c.filter(visible)).sort((a, b) => a - b);
    let max = seen.length ? Math.min(seen.at(-1), 1.5 * seen[Math.floor(seen.length * .99)]) : 0;
    for (const [v] of p.s.refs) if (v && (v < max * 2.2 || max === 0)) max = Math.max(max, v * 1.04);
    [p.top, p.step] = scale(max * 1.02, p.s.unit);
    return [0, p.top];
  }

  const newest = p => {
    for (let i = x.length - 1; i >= 0; i--) if (x[i] <= shown[1] && p.lines.some(c => c[i] != null)) return i;
    return x.length - 1;
  };

  // values writes those of a moment into the legend.
  function values(p, i) {
    p.s.cols.forEach((_, k) => { $(`[data-v="${k}"]`, p.el).textContent = p.f(p.drawn[k][i]); });
    const extra = p.s.extra && $('[data-x]', p.el);
    if (extra) extra.textContent = fmt.num(data.columns[p.s.extra[0]][i]) + NB + p.s.extra[1];
  }
  function point(u, p) {
    values(p, u.cursor.idx ?? newest(p));
    if (p === plots[0]) says(u.cursor.idx);
  }
  function says(i) {
    const day = data.stepSeconds > 60 ? t => fmt.day(t * 1000).slice(5) + ' ' : () => '';
    const clock = t => day(t) + fmt.clock(t * 1000, false);
    $('#cursor').innerHTML = i == null ? `<b>${clock(shown[0])}–${clock(shown[1])}</b> UTC` :
      `<b>${fmt.clock(x[i] * 1000)}</b> UTC, ${fmt.dur(data.toAtMs - x[i] * 1000)} ago`;
  }

  function select(u) {
    if (quiet || u.select.width < 6) return;
    range(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'));
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  function range(a, b) {
    if (b - a < data.stepSeconds * 4) return;
    shown = [a, b];
    quiet = true;
    plots.forEach(p => p.u.setScale('x', { min: a, max: b }));
    quiet = false;
    describe();
    $('#zoomout').hidden = !zoomed();
    zooms(zoomed() ? shown : null);
  }
  function reset() { range(...home); }

  // describe says what each chart shows, for those who do not see it.
  function describe() {
    for (const p of plots) {
      values(p, newest(p));
      const main = p.s.main ?? 0, seen = p.lines[main].filter(visible);
      const name = p.s.stack ? 'Longest batch' : p.s.cols[main][1];
      const text = seen.length ? `${name}: ${p.f(seen.at(-1))} at the end, between ${p.f(Math.min(...seen))} and ` +
        `${p.f(Math.max(...seen))}. Arrow keys move the time cursor.` : 'No data in this range.';
      p.box.setAttribute('aria-label', `${p.s.title} ${text}`);
    }
    says(null);
    const marks = data.marks.filter(m => m.atMs / 1000 > shown[0] && m.atMs / 1000 <= shown[1]).slice(-3);
    $('#marks').innerHTML = marks.map(m =>
      `<span>${time(m.atMs, fmt.clock(m.atMs, false))} ${esc(m.text)}</span>`).join('');
  }

  function keys(e, p) {
    const i = p.u.cursor.idx ?? newest(p), width = shown[1] - shown[0], step = e.shiftKey ? 10 : 1;
    const go = k => {
      const at = x[Math.max(0, Math.min(x.length - 1, k))];
      plots.forEach(o => o.u.setCursor({ left: o.u.valToPos(at, 'x'), top: 10 }));
    };
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === 'ArrowLeft') go(i - step);
    else if (e.key === 'ArrowRight') go(i + step);
    else if ('+='.includes(e.key)) range(Math.max(x[0], x[i] - width / 4), Math.min(end(), x[i] + width / 4));
    else if (e.key === '-' || e.key === '0') reset();
    else if (e.key === 'Escape') plots.forEach(o => o.u.setCursor({ left: -10, top: -10 }));
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  // toggle shows a chart as a table, thirty rows of what is visible.
  function toggle(button, p) {
    const table = $('.ctable', p.el), opens = table.hidden, rows = [];
    table.hidden = !opens;
    p.box.hidden = opens;
    button.setAttribute('aria-expanded', opens);
    button.textContent = opens ? 'Chart' : 'Table';
    if (!opens) return;
    const every = Math.max(1, Math.round((shown[1] - shown[0]) / data.stepSeconds / 30));
    for (let i = x.length - 1; i >= 0 && x[i] >= shown[0]; i -= every) {
      if (x[i] > shown[1]) continue;
      const cells = p.drawn.map(c => `<td class="num">${p.f(c[i])}</td>`);
      rows.push(`<tr><td>${fmt.clock(x[i] * 1000)}</td>${cells.join('')}</tr>`);
    }
    const heads = p.s.cols.map(c => `<th scope="col" class="num">${c[1]}</th>`).join('');
    table.innerHTML = `<table class="grid"><thead><tr><th scope="col">UTC</th>${heads}</tr></thead>` +
      `<tbody>${rows.join('')}</tbody></table>`;
    table.tabIndex = 0;
  }

  // ---- what uPlot does not draw ----
  const inView = (t, u) => t > u.scales.x.min && t <= u.scales.x.max;

  // over draws phases, lines, marks and the places where values were cut off.
  function over(u, p) {
    const { ctx, bbox: area } = u, dpr = devicePixelRatio || 1;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top - 8 * dpr, area.width, area.height + 8 * dpr);
    ctx.clip();
    if (p.s.stack) stack(u, p, dpr);
    lines(u, p, dpr);
    for (const m of data.marks) if (inView(m.atMs / 1000, u)) mark(u, m.atMs / 1000, dpr);
    for (const c of p.lines) {
      c.forEach((v, i) => { if (v > p.top && inView(x[i], u)) triangle(u, x[i], 'text', -1, dpr); });
    }
    ctx.restore();
  }

  function stack(u, p, dpr) {
    const { ctx, bbox: area } = u, span = u.scales.x.max - u.scales.x.min;
    const w = Math.max(1, Math.min(14 * dpr, area.width * data.stepSeconds / span * .82));
    x.forEach((t, i) => {
      if (t < u.scales.x.min || p.lines[0][i] == null) return;
      const left = Math.round(u.valToPos(t - data.stepSeconds / 2, 'x', true) - w / 2);
      let sum = 0;
      p.drawn.forEach((c, k) => {
        const bottom = u.valToPos(sum, 'y', true);
        sum += c[i] ?? 0;
        const y = u.valToPos(sum, 'y', true);
        ctx.fillStyle = ink[p.s.cols[k][2]];
        ctx.fillRect(left, y, w, Math.max(0, bottom - y));
      });
    });
  }

  function lines(u, p, dpr) {
    const { ctx, bbox: area } = u, taken = [];
    ctx.font = `${11 * dpr}px ${getComputedStyle(document.body).fontFamily}`;
    for (const [v, label, colour] of p.s.refs) {
      if (!v || v > p.top) continue;
      const y = Math.round(u.valToPos(v, 'y', true)) + .5;
      ctx.strokeStyle = ink[colour];
      ctx.lineWidth = dpr;
      ctx.setLineDash([4 * dpr, 3 * dpr]);
      ctx.beginPath();
      ctx.moveTo(area.left, y);
      ctx.lineTo(area.left + area.width, y);
      ctx.stroke();
      ctx.setLineDash([]);
      if (taken.some(t => Math.abs(t - y) < 14 * dpr)) continue;
      taken.push(y);
      const text = `${label} ${trimmed(p.f(v))}${p.s.unit === 'rows' ? NB + 'rows/s' : ''}`;
      const below = y - area.top < 16 * dpr, behind = ctx.measureText(text).width + 6 * dpr;
      ctx.globalAlpha = .82;
      ctx.fillStyle = ink.surface;
      ctx.fillRect(area.left + 3 * dpr, below ? y + 2 * dpr : y - 15 * dpr, behind, 13 * dpr);
      ctx.globalAlpha = 1;
      ctx.fillStyle = ink[colour === 'bad' ? 'bad' : 'text-2'];
      ctx.textAlign = 'left';
      ctx.textBaseline = 'middle';
      ctx.fillText(text, area.left + 6 * dpr, below ? y + 9 * dpr : y - 8 * dpr);
    }
  }

  function mark(u, t, dpr) {
    const { ctx, bbox: area } = u, left = Math.round(u.valToPos(t, 'x', true)) + .5;
    ctx.strokeStyle = ink.field;
    ctx.lineWidth = dpr;
    ctx.beginPath();
    ctx.moveTo(left, area.top);
    ctx.lineTo(left, area.top + area.height);
    ctx.stroke();
    triangle(u, t, 'text-3', 1, dpr);
  }

  // triangle stands on the upper edge and points down for a mark, up for a value beyond the scale.
  function triangle(u, t, colour, down, dpr) {
    const { ctx, bbox: area } = u, left = u.valToPos(t, 'x', true), w = 3.5 * dpr;
    const base = down > 0 ? area.top - 6 * dpr : area.top + 5 * dpr;
    ctx.fillStyle = ink[colour];
    ctx.beginPath();
    ctx.moveTo(left - w, base);
    ctx.lineTo(left + w, base);
    ctx.lineTo(left, area.top);
    ctx.fill();
  }

  // ---- what changes ----
  function take(series) {
    data = series;
    const n = data.columns.arrivalRowsPerSecond.length;
    x = Array.from({ length: n }, (_, i) => data.fromAtMs / 1000 + (i + 1) * data.stepSeconds);
  }
  const size = new ResizeObserver(() => plots.forEach(({ u, box }) => {
    const width = box.clientWidth, height = box.clientHeight;
    if (width && width !== u.width) u.setSize({ width, height });
  }));
  size.observe(host);

  const api = {
    // show draws other data; of the last so many minutes, 0 for all.
    show(series, m, newDetail = q) {
      const same = series.stepSeconds === data.stepSeconds && m === minutes, keep = same && zoomed();
      const before = specs(q, data.columns).map(s => s.id + s.cols.length).join();
      q = newDetail;
      take(series);
      minutes = m;
      home = [from(m), end()];
      if (!keep) shown = home;
      const list = specs(q, data.columns);
      if (!plots.length || before !== list.map(s => s.id + s.cols.length).join()) build();
      plots.forEach((p, i) => {
        p.s = list[i];
        Object.assign(p, columns(p.s));
        p.u.setData([x, ...p.lines], true);
      });
      if (plots.length && !plots.some(p => p.u.cursor.idx != null)) describe();
      $('#zoomout').hidden = !zoomed();
    },
    zoom: range, reset,
    themed() { readInk(); plots.forEach(p => p.u.redraw(false, true)); },
  };
  take(series);
  return api;
}

// lonely are the places of values between gaps, through which no line goes.
function lonely(u, k) {
  const v = u.data[k];
  return v.map((_, i) => i).filter(i => v[i] != null && v[i - 1] == null && v[i + 1] == null);
}

// zone names that of the axis.
function zone({ ctx, bbox: area }) {
  const dpr = devicePixelRatio || 1;
  ctx.save();
  ctx.font = `${11 * dpr}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.fillStyle = ink['text-3'];
  ctx.textAlign = 'right';
  ctx.textBaseline = 'top';
  ctx.fillText('UTC', area.left - 24 * dpr, area.top + area.height + 7 * dpr);
  ctx.restore();
}

// under shades the time in which the query did not run.
function under(u, data) {
  const { ctx, bbox: area } = u, dpr = devicePixelRatio || 1;
  for (const d of data.downtime) {
    const a = Math.max(area.left, u.valToPos(d.fromAtMs / 1000, 'x', true));
    const b = Math.min(area.left + area.width, u.valToPos(d.toAtMs / 1000, 'x', true));
    if (b - a < 2) continue;
    ctx.save();
    ctx.fillStyle = ink.shade;
    ctx.fillRect(a, area.top, b - a, area.height);
    if (b - a > 70 * dpr) {
      ctx.fillStyle = ink['text-3'];
      ctx.font = `${11 * dpr}px ${getComputedStyle(document.body).fontFamily}`;
      ctx.textAlign = 'right';
      ctx.textBaseline = 'top';
      ctx.fillText(d.kind, b - 6 * dpr, area.top + 5 * dpr);
    }
    ctx.restore();
  }
}
