// Words, figures and small drawings of the pages: data in, text or HTML out. The server draws the same in words.go,
// figures.go and drawings.go; testdata/render.golden holds both to it.

// ---- states ----
export const STATES = {
  failed: { word: 'Failed', tone: 'bad', means: 'Ended with an error and will not start again by itself.' },
  stalled: { word: 'Stalled', tone: 'bad', means: 'Rows wait, but the running batch does not move.' },
  breach: { word: 'Too late', tone: 'bad', means: 'The oldest unread row is older than the objective.' },
  behind: { word: 'Behind', tone: 'warn', means: 'The backlog has been growing for at least a minute.' },
  lagging: { word: 'Lagging', tone: 'warn', means: 'Late by a constant amount; neither growing nor shrinking.' },
  catchingUp: { word: 'Catching up', tone: 'info', means: 'The backlog is shrinking.' },
  restarting: { word: 'Restarting', tone: 'info', means: 'Started again after a failure; no batch is done yet.' },
  starting: { word: 'Starting', tone: 'info', means: 'Too young to be judged.' },
  healthy: { word: 'Healthy', tone: 'good', means: 'Keeps up with what arrives.' },
  idle: { word: 'Idle', tone: 'calm', means: 'Nothing arrives; nothing is unread.' },
  stopped: { word: 'Stopped', tone: 'calm', means: 'Stopped by a person, or finished.' },
};
export const ORDER = Object.keys(STATES);
const NEEDS = new Set(['failed', 'stalled', 'breach', 'behind', 'lagging', 'restarting']);
export const needs = q => NEEDS.has(q.state) || q.notStartedAgain;
export const toneOf = q => q.notStartedAgain ? 'warn' : STATES[q.state].tone;
const LETTERS = {
  f: 'failed', s: 'stalled', x: 'breach', b: 'behind', l: 'lagging', c: 'catchingUp', r: 'restarting', t: 'starting', h: 'healthy',
  i: 'idle', o: 'stopped',
};

// ---- figures ----
const NB = '\u00a0', NNB = '\u202f', NONE = '–';

const half = x => Math.floor(x + .5);
export const fixed = (x, digits) => (half(x * 10 ** digits) / 10 ** digits).toFixed(digits);
const brief = x => fixed(x, 1).replace('.0', ''); // 3 s, not 3.0 s
const known = x => x != null && !Number.isNaN(x);

// parts is a number in figures of at most three digits, and its unit: kind is ms, rows or bytes.
export function parts(x, kind) {
  if (!known(x)) return [NONE, ''];
  if (kind === 'ms') return spell(Math.max(0, x));
  const names = kind === 'bytes' ? ['B', 'kB', 'MB', 'GB', 'TB'] : ['', 'k', 'M', 'G', 'T'];
  let v = x, i = 0;
  while (Math.abs(v) >= 999.5 && i < names.length - 1) { v /= 1000; i++; }
  if (v !== 0 && Math.abs(v) < .095 && kind !== 'bytes') return [fixed(v, 2), names[i]];
  const small = i > 0 ? Math.abs(v) < 99.95 : v !== 0 && Math.abs(v) < 9.95 && kind !== 'bytes';
  return [small ? brief(v) : fixed(v, 0), names[i]];
}

function spell(ms) {
  const s = ms / 1000;
  if (ms === 0) return ['0', 's'];
  if (ms < .095) return [fixed(ms, 2), 'ms'];
  if (ms < 999.5) return [ms < 9.95 ? brief(ms) : fixed(ms, 0), 'ms'];
  if (s < 59.5) return [s < 9.95 ? brief(s) : fixed(s, 0), 's'];
  if (s < 3570) return [s < 597 ? brief(s / 60) : fixed(s / 60, 0), 'min'];
  if (s < 172800) return [s < 35820 ? brief(s / 3600) : fixed(s / 3600, 0), 'h'];
  return [fixed(s / 86400, 0), 'd'];
}

const join = ([n, u]) => u ? n + NB + u : n;
const grouped = digits => digits.replace(/\B(?=(\d{3})+$)/g, NNB);
const two = (a, ua, b, ub) => `${a}${NB}${ua}` + (b ? ` ${b}${NB}${ub}` : '');

export const fmt = {
  int: x => known(x) ? grouped(fixed(x, 0)) : NONE,
  num: x => join(parts(x, 'rows')),
  bytes: x => join(parts(x, 'bytes')),
  short: x => join(parts(x, 'ms')),
  dur(x) { // for sentences: 6 min 12 s
    if (!known(x)) return NONE;
    const s = half(Math.max(0, x) / 1000);
    if (s < 60) return join(parts(x, 'ms'));
    if (s < 3600) return two(Math.floor(s / 60), 'min', s % 60, 's');
    if (s < 86400) return two(Math.floor(s / 3600), 'h', Math.floor(s / 60) % 60, 'min');
    return two(Math.floor(s / 86400), 'd', Math.floor(s / 3600) % 24, 'h');
  },
  pct: x => known(x) ? fixed(x * 100, 0) + NB + '%' : NONE,
  ratio: x => known(x) ? fixed(x, x >= 10 ? 0 : 1) + '×' : NONE,
  range(a, b) { // 3–5 min
    if (!known(b)) return 'over ' + fmt.short(a);
    const whole = ([n, u]) => u === 'min' ? [fixed(+n, 0), u] : [n, u];
    const lo = whole(parts(a, 'ms')), hi = whole(parts(b, 'ms'));
    if (lo[1] !== hi[1]) return `${join(lo)} – ${join(hi)}`;
    return lo[0] === hi[0] ? join(lo) : `${lo[0]}–${join(hi)}`;
  },
  clock: (ms, seconds = true) => new Date(ms).toISOString().slice(11, seconds ? 19 : 16),
  day: ms => new Date(ms).toISOString().slice(0, 10),
  stamp: ms => new Date(ms).toISOString().slice(0, 19).replace('T', ' ') + ' UTC',
};
export const none = `<span class="nil">${NONE}</span>`;

export const median = values => {
  const sorted = values.filter(known).sort((a, b) => a - b);
  return sorted.length ? sorted[sorted.length >> 1] : null;
};

// ---- HTML ----
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
export const esc = s => String(s ?? '').replace(/[&<>"']/g, c => ENTITIES[c]);

// cell is a figure and its unit, each in its own column.
export function cell(x, kind) {
  const [n, u] = parts(x, kind);
  return n === NONE ? none : `<span class="n">${n}</span><span class="u">${u}</span>`;
}
export const time = (ms, text) =>
  `<time datetime="${new Date(ms).toISOString()}" title="${fmt.stamp(ms)}">${text}</time>`;
export const ago = (ms, now) => known(ms) ? time(ms, fmt.dur(now - ms) + ' ago') : NONE;
export const icon = id => `<svg class="i" aria-hidden="true"><use href="/assets/icons.svg#${id}"/></svg>`;
export const stateMark = (s, tone) =>
  `<span class="st ${tone}">${icon(s)}<span>${STATES[s].word}</span></span>`;
export const section = (id, title, note, body) => `<section id="${id}" aria-labelledby="h-${id}">` +
  `<h2 id="h-${id}">${title}${note ? ` <span>${note}</span>` : ''}</h2>${body}</section>`;

// ---- drawings ----
// bar is a share from 0 to 1 as a line.
export const bar = (share, classes = '', line = '') =>
  `<svg class="bar${classes}" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">` +
  `<rect${line && ` class="${line}"`} width="${fixed(100 * Math.min(1, Math.max(0, share)), 0)}" height="4"/></svg>`;

// path is a line through the values, or the area below it; nulls are gaps.
function path(values, max, size, close) {
  const [w, h] = size, dx = w / (values.length - 1);
  let d = '', start = null, x = 0;
  for (let i = 0; i <= values.length; i++) {
    const v = values[i];
    if (!known(v)) {
      if (start !== null && close) d += `L${x} ${h}L${start} ${h}Z`;
      start = null;
      continue;
    }
    x = +fixed(i * dx, 1);
    d += (start === null ? 'M' : 'L') + x + ' ' + fixed(h - 1 - Math.min(1, v / max) * (h - 2), 1);
    if (start === null) start = x;
  }
  return d;
}

// top is the end of a scale: above nearly all values, so that one spike does not flatten the rest.
function top(values) {
  const sorted = values.filter(known).sort((a, b) => a - b);
  if (!sorted.length) return 1;
  return Math.min(sorted.at(-1), 1.5 * sorted[Math.floor(sorted.length * .97)]) * 1.08 || 1;
}

const sparkSvg = ([w, h], body) =>
  `<svg class="sp" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" aria-hidden="true">${body}</svg>`;

const LEAST = 10; // points of a small chart: fewer show nothing

// sparkPair draws what arrives as an area and what is processed as a line, in one scale.
export function sparkPair(arriving, processed) {
  const all = [...arriving, ...processed], max = top(all) * 1.12, size = [72, 18];
  if (arriving.filter(known).length < LEAST && processed.filter(known).length < LEAST) return '';
  return sparkSvg(size, `<path class="sp-a" d="${path(arriving, max, size, true)}"/>` +
    `<path class="sp-l" d="${path(processed, max, size, false)}"/>`);
}

// spark draws a line, with its limit where that is near.
export function spark(values, limit) {
  const sorted = values.filter(known).sort((a, b) => a - b), size = [56, 18];
  if (sorted.length < LEAST) return '';
  let max = Math.max(top(values), sorted[sorted.length >> 1] * 1.7), mark = '';
  if (limit && limit < max * 2.5) {
    max = Math.max(max, limit * 1.15);
    mark = `<path class="sp-t" d="M0 ${fixed(17 - limit / max * 16, 1)}H56"/>`;
  }
  return sparkSvg(size, `${mark}<path class="sp-l" d="${path(values, max, size, false)}"/>`);
}

const TALL = { bad: 0, warn: 0, info: 3 };

// strip is the worst state of each half hour of a day.
export function strip(letters) {
  const tones = {};
  [...letters].forEach((letter, i) => {
    if (!LETTERS[letter]) return;
    const tone = STATES[LETTERS[letter]].tone, from = `M${i * 2} ${TALL[tone] ?? 6}`;
    tones[tone] = (tones[tone] || '') + from + 'h1.5V14h-1.5Z';
  });
  const paths = ['bad', 'warn', 'info', 'good', 'calm'].filter(t => tones[t])
    .map(t => `<path class="f-${t}" d="${tones[t]}"/>`);
  return `<svg class="strip" viewBox="0 0 96 14" width="96" height="14" aria-hidden="true">${paths.join('')}</svg>`;
}

// stripText is the strip in words.
export function stripText(letters) {
  const hours = {};
  for (const letter of letters) if (LETTERS[letter]) hours[LETTERS[letter]] = (hours[LETTERS[letter]] || 0) + .5;
  return ORDER.filter(s => hours[s]).map(s => `${STATES[s].word} ${hours[s]} h`).join(', ');
}
