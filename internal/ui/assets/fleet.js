// The rows of the fleet and the sentence above them; the server draws the same in fleet.qtpl.
import {
  bar, cell, esc, fmt, needs, none, parts, spark, sparkPair, stateMark, strip, stripText, time, toneOf,
} from './words.js';

const late = letters => [...letters].filter(c => 'fsxblr'.includes(c)).length;

// COLUMNS have a key, a head, its second line, the value they sort by and the direction a first click sorts in.
export const COLUMNS = [
  ['health', 'State', 'since', q => q.healthScore, -1],
  ['name', 'Query', 'application', q => q.name, 1],
  ['fresh', 'Freshness', 'p95', q => q.freshnessP95Ms, -1],
  ['backlog', 'Backlog', 'oldest unread', q => q.backlogMs, -1],
  ['eta', 'Over in', 'estimate', q => q.etaHighMs ?? q.etaLowMs ?? (q.shortPercent != null ? 1e12 : null), -1],
  ['arrive', 'Arriving', 'rows/s', q => q.arrivalRowsPerSecond, -1],
  ['process', 'Processed', 'rows/s', q => q.processedRowsPerSecond, -1],
  ['busy', 'Busy', '% of capacity', q => q.busyRatio, -1],
  ['size', 'State', 'bytes', q => q.stateBytes, -1],
  ['commit', 'Last batch', 'ago', q => q.lastCommitAtMs == null ? null : -q.lastCommitAtMs, 1],
  ['strip', 'Last 24 h', 'worst per ½ h', q => late(q.stateStrip), -1],
  ['why', 'Why', '', q => q.reason, 1],
];

const less = (a, b) => a < b ? -1 : a > b ? 1 : 0;
const backlog = q => q.backlogMs ?? 0;

// sortRows puts rows without a value last; among equals the one further behind comes first, then names decide.
export function sortRows(rows, key, direction) {
  const value = COLUMNS.find(c => c[0] === key)[3], absent = x => x == null || x === '';
  const ties = (a, b) => key === 'health' && less(backlog(b), backlog(a)) || less(a.name, b.name) || less(a.id, b.id);
  return [...rows].sort((a, b) => {
    const x = value(a), y = value(b);
    if (absent(x) || absent(y)) return absent(x) - absent(y) || ties(a, b);
    return less(x, y) * direction || ties(a, b);
  });
}

export const link = q => '/queries/' + encodeURIComponent(q.id)
  .replace(/[!'()*]/g, c => '%' + c.charCodeAt(0).toString(16).toUpperCase());

function eta(q) {
  if (q.etaLowMs != null) return fmt.range(q.etaLowMs, q.etaHighMs);
  if (q.shortPercent != null) return 'short ' + fmt.pct(q.shortPercent / 100);
  return q.state === 'lagging' ? 'steady' : '';
}

const over = (q, ms) => q.freshnessSloMs != null && ms != null && ms > q.freshnessSloMs;
const td = (key, html, classes = '') => `<td role="cell" class="c-${key}${classes}">${html}</td>`;
const num = (key, html, red) => td(key, html, red ? ' num over' : ' num');

function busy(share) {
  if (share == null) return none;
  return bar(share, '', share >= 1 ? 'full' : share > .85 ? 'high' : '') +
    `<span class="n">${fmt.int(share * 100)}</span>`;
}

function size(q) {
  const grows = q.stateGrowthBytesPerHour > 1e8;
  const title = grows ? ` title="grows ${fmt.bytes(q.stateGrowthBytesPerHour)} an hour"` : '';
  return cell(q.stateBytes, 'bytes') + `<span class="up"${title}>${grows ? '↗' : ''}</span>`;
}

// fleetRow is one query; index is its place in the table.
export function fleetRow(q, now, index) {
  const tone = toneOf(q), hot = tone === 'bad' || tone === 'warn';
  const badge = q.engine === 'weir' ? '' :
    `<span class="badge" title="Watched through its event log">${esc(q.engine)}</span>`;
  const why = `<span title="${esc(q.reason)}">${esc(q.reason)}</span>`;
  return `<tr role="row" class="${hot ? 'hot ' + tone : ''}" data-id="${esc(q.id)}" aria-rowindex="${index + 2}">` +
    td('health', stateMark(q.state, tone) + time(q.sinceAtMs, fmt.short(now - q.sinceAtMs))) +
    td('name', `<a href="${link(q)}">${esc(q.name)}</a>${badge}<span class="app">${esc(q.application)}</span>`) +
    num('fresh', spark(q.freshnessSparkMs, q.freshnessSloMs) + cell(q.freshnessP95Ms, 'ms'),
      over(q, q.freshnessP95Ms)) +
    num('backlog', cell(q.backlogMs, 'ms'), over(q, q.backlogMs)) +
    num('eta', eta(q)) +
    num('arrive', cell(q.arrivalRowsPerSecond, 'rows')) +
    num('process', sparkPair(q.arrivalSparkRowsPerSecond, q.processedSparkRowsPerSecond) +
      cell(q.processedRowsPerSecond, 'rows')) +
    num('busy', busy(q.busyRatio)) +
    num('size', size(q)) +
    num('commit', q.lastCommitAtMs == null ? none : time(q.lastCommitAtMs, cell(now - q.lastCommitAtMs, 'ms'))) +
    td('strip', strip(q.stateStrip) + `<span class="sr">${stripText(q.stateStrip)}</span>`) +
    td('why', why, hot || tone === 'info' ? '' : ' dim') + '</tr>';
}

// lacks is the columns that no query has a value for: they are left out.
export function lacks(rows) {
  const fresh = rows.some(q => q.freshnessP95Ms != null || q.freshnessSparkMs.some(v => v != null));
  return [...(fresh ? [] : ['fresh']), ...(rows.some(q => q.stateBytes != null) ? [] : ['size'])];
}

// ---- the sentence above ----
const SAY = {
  failed: 'has been down', stalled: 'has not moved', breach: 'has been too late', behind: 'has been falling behind',
  lagging: 'has lagged', restarting: 'has been restarting',
};
const stop = text => /[.!?…]$/.test(text) ? text : text + '.';
const anchor = q => `<a href="${link(q)}">${esc(q.name)}</a>`;

// verdict is the fleet in one sentence.
export function verdict(rows) {
  const n = rows.length, bad = rows.filter(needs).length;
  const running = rows.filter(q => q.state !== 'stopped').length;
  if (!n) return 'No queries yet.';
  if (bad) return n === 1 ? `${rows[0].name} needs attention.` : `${bad} of ${n} queries need attention.`;
  if (!running) return n === 1 ? `${rows[0].name} has stopped.` : 'No query is running.';
  const young = { catchingUp: 'is catching up', starting: 'has just started' };
  if (n === 1) return `${rows[0].name} ${young[rows[0].state] || 'keeps up'}.`;
  if (rows.some(q => young[q.state])) return 'No query needs attention.';
  return running === n ? `All ${n} queries keep up.` : `${running} of ${n} queries run, and keep up.`;
}

function because(rows, now) {
  const bad = sortRows(rows.filter(needs), 'health', -1);
  if (!rows.length) return 'Start one and it appears here within a second.';
  if (bad.length) {
    const lasts = q => `${anchor(q)} ${q.notStartedAgain ? 'has been missing' : SAY[q.state]} for ${fmt.dur(now - q.sinceAtMs)}`;
    return bad.slice(0, 2).map(lasts).join('; ') + (bad.length > 2 ? `; ${bad.length - 2} more below.` : '.');
  }
  if (rows.length === 1 && rows[0].reason) return esc(stop(rows[0].reason));
  const catching = rows.filter(q => q.state === 'catchingUp').length;
  if (catching) return catching === 1 ? '1 query is catching up.' : `${catching} queries are catching up.`;
  const starting = rows.filter(q => q.state === 'starting').length;
  if (starting) return starting === 1 ? '1 query has just started.' : `${starting} queries have just started.`;
  return rows.some(q => q.state !== 'stopped') ? 'Nothing is growing, stuck or late.' : 'None has failed.';
}

const figure = (name, value, unit, text, red) => `<div${red ? ' class="over"' : ''}><dt>${name}</dt>` +
  `<dd><b>${value}</b>${unit && ` <span>${unit}</span>`}</dd><dd class="sub">${text}</dd></div>`;

function rate(x) {
  const [n, u] = parts(x, 'rows');
  return [n, x == null ? '' : (u && u + ' ') + 'rows/s'];
}

// fleetSummary is the verdict, the two worst queries and four figures.
export function fleetSummary(f) {
  const rows = f.queries, now = f.nowAtMs;
  const head = `<div class="verdict"><h1>${esc(verdict(rows))}</h1><p>${because(rows, now)}</p></div>`;
  if (!rows.length) return head;
  let worst = null, sampled = false;
  for (const q of rows) {
    sampled ||= q.backlogMs != null;
    if (q.state !== 'stopped' && q.backlogMs > (worst ? worst.backlogMs : 0)) worst = q;
  }
  const furthest = worst ? worst.backlogMs : sampled ? 0 : null;
  const aims = rows.filter(q => q.freshnessSloMs != null && !['stopped', 'failed'].includes(q.state));
  const slo = aims.length, red = aims.filter(q => over(q, q.freshnessP95Ms) || over(q, q.backlogMs)).length;
  return head + '<dl class="figures">' +
    figure('Arriving', ...rate(f.totals.arrivalRowsPerSecond), 'all sources') +
    figure('Processed', ...rate(f.totals.processedRowsPerSecond), 'last 2 min') +
    figure('Furthest behind', ...parts(furthest, 'ms'),
      worst ? anchor(worst) : sampled ? 'nothing unread' : 'not measured') +
    figure('Over objective', slo ? red : '–', slo ? `of ${slo}` : '', slo ? 'freshness' : 'none is set', red > 0) +
    '</dl>';
}
