// The parts of a query's page; the server draws the same in query.qtpl. Each part is a function from the query's
// detail, its batches or its series to HTML, so that live data replaces parts and not the page.
import {
  ago, bar, cell, esc, fixed, fmt, median, none, parts, section, stateMark, time, toneOf,
} from './words.js';

// PHASES are the phases of a batch in their order: the key of the API, its word, the same in short.
export const PHASES = [
  ['latestOffset', 'get offsets', 'offsets'], ['queryPlanning', 'plan', 'plan'], ['read', 'read', 'read'],
  ['compute', 'compute', 'compute'], ['stateCommit', 'state commit', 'state'], ['sinkWrite', 'sink write', 'sink'],
  ['logCommit', 'log commit', 'log'],
];
const PHASE_WORDS = Object.fromEntries(PHASES);
const NONE = '–';

const ended = q => ['failed', 'stopped'].includes(q.state);
const over = (q, ms) => q.freshnessSloMs != null && ms != null && ms > q.freshnessSloMs;

function every(q) {
  if (q.bounded) return 'until its input ends';
  return q.triggerMs ? 'every ' + fmt.dur(q.triggerMs) : 'as fast as possible';
}

export function head(q) {
  const sources = q.sources.map(s => s.description).join(' + '), badge = q.engine === 'weir' ? '' :
    `<span class="badge">${esc(q.engine)}, read from its event log</span>`;
  const from = sources || q.sink ? `<span>${esc(sources || NONE)} → ${esc(q.sink || NONE)}</span>` : '';
  return `<nav class="crumb" aria-label="Breadcrumb"><a href="/">Fleet</a>` +
    (q.application && `<span aria-hidden="true">/</span><span>${esc(q.application)}</span>`) +
    `</nav><h1>${esc(q.name)}</h1><p class="meta">${badge}${from}<span>${every(q)}</span>` +
    `<span>started ${ago(q.startedAtMs, q.nowAtMs)}</span>${q.tags.map(t => `<span>${esc(t)}</span>`).join('')}</p>`;
}

export function banner(q) {
  const v = q.verdict, lasts = q.nowAtMs - q.sinceAtMs;
  const since = lasts > 864e5 ? fmt.day(q.sinceAtMs) : fmt.clock(q.sinceAtMs) + ' UTC';
  const todo = v.todo.length ? `<ul>${v.todo.map(t => `<li>${esc(t)}</li>`).join('')}</ul>` : '';
  const eta = v.eta ? `<div class="b-eta"><h2>When is it over?</h2><p class="say">${esc(v.eta.word)}</p>` +
    `<p>${esc(v.eta.text)}</p></div>` : '';
  const why = v.why.map(t => `<p>${esc(t)}</p>`).join('');
  return `<section class="banner ${toneOf(q)}" aria-label="Verdict"><div class="b-state">` +
    `${stateMark(q.state, toneOf(q))}<p>${time(q.sinceAtMs, 'for ' + fmt.dur(lasts))} <br><span>since ${since}</span></p>` +
    `</div><div class="b-say"><p class="say">${esc(v.sentence)}</p>${why}${todo}</div>${eta}</section>`;
}

export function errorBox(q) {
  const e = q.error;
  if (!e) return '';
  const condition = e.condition ? `<code>${esc(e.condition)}</code>` : '';
  const message = e.message === e.headline ? '' :
    `<pre tabindex="0" aria-label="The whole message">${esc(e.message.replace(SESSION, ''))}</pre>`;
  const trace = e.trace && !e.trace.endsWith(e.message) ? '<details><summary>Stack trace</summary><pre tabindex="0" aria-label="Stack trace">' +
    `${esc(e.trace)}</pre></details>` : '';
  return `<section class="error" aria-label="Error"><p>${condition}${ago(e.atMs, q.nowAtMs)}</p>` +
    `<p class="msg">${esc(e.headline)}</p>${message}${trace}</section>`;
}
const SESSION = /\[session: [^\]]*\] \[userId: [^\]]*\] ?/g; // whose it is, which is no news here

// ---- figures ----
const figure = (name, [n, u], text, red) => `<div${red ? ' class="over"' : ''}><dt>${name}</dt>` +
  `<dd><b>${n}</b>${u && ` <span>${u}</span>`}</dd><dd class="sub">${text}</dd></div>`;

function rate(x) {
  const [n, u] = parts(x, 'rows');
  return [n, x == null ? '' : (u && u + ' ') + 'rows/s'];
}

function freshness(q) {
  if (q.freshnessP95Ms != null) {
    const text = q.freshnessSloMs != null ? `objective ${fmt.dur(q.freshnessSloMs)}` : 'no objective set';
    return figure('Freshness p95', parts(q.freshnessP95Ms, 'ms'), text, over(q, q.freshnessP95Ms));
  }
  if (q.newestAgeMs == null) return figure('Freshness p95', [NONE, ''], 'not measured');
  return figure('Newest result', parts(q.newestAgeMs, 'ms'), 'old, by its event time', over(q, q.newestAgeMs));
}

function backlogText(q) {
  if (q.backlogRows != null) return `${fmt.num(q.backlogRows)} rows unread`;
  return q.backlogMs == null ? 'not measured' : 'oldest unread row';
}

export function figures(q) {
  const cap = q.capRows != null && q.triggerMs ? `cap ${fmt.num(q.capRows / q.triggerMs * 1000)} rows/s` :
    'committed, last 2 min';
  return '<dl class="figures big">' +
    figure('Arriving', rate(q.arrivalRowsPerSecond),
      q.arrivalRowsPerSecond != null ? 'at the source, last 2 min' : ended(q) ? 'not running' : 'not measured') +
    figure('Processed', rate(q.processedRowsPerSecond), ended(q) ? 'not running' : cap,
      q.shortPercent != null || q.state === 'stalled') +
    freshness(q) +
    figure('Backlog', parts(q.backlogMs, 'ms'), backlogText(q), over(q, q.backlogMs)) +
    headroom(q) + '</dl>';
}

function headroom(q) {
  const x = ended(q) ? null : q.headroomRatio;
  if (x != null) return figure('Headroom', [fmt.ratio(x), ''], 'of what arrives', x < 1 && q.shortPercent != null);
  const rests = !ended(q) && q.batchRatio != null && q.batchRatio < .05;
  return figure('Headroom', [NONE, ''], rests ? 'batches hardly run' : 'not known');
}

const QUIET = { idle: 'No batch is running: waiting for rows.', restarting: 'No batch is running yet.' };

function quiet(q) {
  if (ended(q)) return 'No batch is running.';
  if (QUIET[q.state]) return QUIET[q.state];
  if (q.engine !== 'weir') return 'Running batches are not visible in an event log.';
  if (q.nextTriggerInMs == null) return 'Between batches.';
  return `Between batches: next trigger in ${fmt.dur(q.nextTriggerInMs)}.`;
}

export function inFlight(q) {
  const f = q.inFlight;
  if (!f) return `<p class="flight quiet"><b>${quiet(q)}</b></p>`;
  const share = f.totalRows ? f.readRows / f.totalRows : null;
  const rows = share == null ? `${fmt.int(f.readRows)} rows read` :
    `${fmt.int(f.readRows)} of ${fmt.int(f.totalRows)} rows read`;
  const still = f.lastProgressAtMs == null ? '' : ` for ${fmt.dur(q.nowAtMs - f.lastProgressAtMs)}`;
  const waits = f.waitsFor ? `<span class="over">waits${still}: ${esc(f.waitsFor)}</span>` : '';
  return `<p class="flight${q.state === 'stalled' ? ' stuck' : ''}"><b>Batch ${fmt.int(f.batchId)} running</b>` +
    `<span>${fmt.dur(q.nowAtMs - f.startedAtMs)}${q.triggerMs ? ` of ${fmt.dur(q.triggerMs)}` : ''}</span>` +
    `<span>${PHASE_WORDS[f.phase]}</span>${share == null ? '' : bar(share, ' wide')}<span>${rows}</span>${waits}</p>`;
}

// ---- beside the charts ----
export function operators(q, list) {
  if (!q.operators.length) return '';
  const most = Math.max(...q.operators.map(o => o.shareRatio ?? 0)) || 1;
  return section('operators', 'Operators', 'share of time, ' + meanNote(list.batches.slice(0, SHOWN).length),
    `<ol class="plan">${q.operators.map(o => operator(o, most)).join('')}</ol>`);
}

function operator(o, most) {
  const typical = median(o.partitionMs), longest = Math.max(0, ...o.partitionMs);
  const shade = ms => fixed(9 * Math.min(1, typical ? ms / (typical * 3) : 0), 0);
  const heat = o.partitionMs.map((ms, i) => `<i class="v${shade(ms)}" title="partition ${i}: ${fmt.short(ms)}"></i>`);
  const uneven = typical ? longest / typical : 0;
  const skew = uneven > 3 ? ` · <b class="over">skewed ${fmt.ratio(uneven)}</b>` : '';
  const tasks = o.partitionMs.length ? `<div class="heat" role="img" aria-label="Time per partition, longest ` +
    `${fmt.short(longest)}, median ${fmt.short(typical)}">${heat.join('')}</div>` +
    `<p>longest task ${fmt.short(longest)}, median ${fmt.short(typical)}${skew}</p>` : '';
  return `<li><details><summary><span class="op"><b>${esc(o.name)}</b>` +
    `<span>${esc(o.text)}</span></span>${bar((o.shareRatio ?? 0) / most)}` +
    `<span class="n">${fmt.pct(o.shareRatio)}</span></summary>` +
    `<p>${fmt.short(o.timeMs)} for ${fmt.int(o.inputRows)} rows</p>${tasks}</details></li>`;
}

const mean = values => {
  const some = values.filter(v => v != null);
  return some.length ? some.reduce((a, v) => a + v, 0) / some.length : null;
};
const measured = list => PHASES.map((_, i) => mean(list.map(b => b.phases[i])));
const meanNote = n => n === 1 ? 'of one batch' : `mean of ${n} batches`;

// phaseWord tells that a phase holds those next to it where the engine does not tell them apart.
function phaseWord(i, times) {
  return PHASES[i][0] === 'compute' && times[2] == null && times[5] == null ? 'read, compute, write' : PHASES[i][1];
}

export function phases(list) {
  const recent = list.batches.slice(0, 12), times = measured(recent);
  const sum = times.reduce((a, ms) => a + (ms ?? 0), 0);
  const row = (ms, i) => ms == null ? '' : `<tr><th scope="row"><span class="sw p-${PHASES[i][0]}"></span>` +
    `${phaseWord(i, times)}</th><td class="num">${cell(ms, 'ms')}</td>` +
    `<td class="num share">${fmt.pct(sum ? ms / sum : null)}</td></tr>`;
  if (!recent.length) return '';
  return section('phases', 'Phases', meanNote(recent.length),
    '<table class="tight"><thead class="sr"><tr><th scope="col">Phase</th><th scope="col">Time</th>' +
    `<th scope="col">Share</th></tr></thead><tbody>${times.map(row).join('')}</tbody></table>`);
}

export function facts(q) {
  const row = (name, value) => value && `<tr><th scope="row">${name}</th><td class="num">${value}</td></tr>`;
  const limit = q.stateLimitBytes == null ? '' : ` of ${fmt.bytes(q.stateLimitBytes)}`;
  return section('facts', 'This query', '', '<table class="tight"><tbody>' +
    row('Last batch', q.lastBatchId == null ? '' : fmt.int(q.lastBatchId)) +
    row('Last commit', q.lastCommitAtMs == null ? '' : ago(q.lastCommitAtMs, q.nowAtMs)) +
    row('Trigger and batch time alone make a row wait', q.freshnessFloorMs == null ? '' : fmt.dur(q.freshnessFloorMs)) +
    row('Late rows allowed', q.watermarkDelayMs == null ? '' : fmt.dur(q.watermarkDelayMs)) +
    row('Late rows dropped',
      q.watermarkDelayMs == null ? '' : `${fmt.int(q.droppedRows)} of ${fmt.int(q.droppedOfRows)}`) +
    row('State', q.stateBytes == null ? '' : fmt.bytes(q.stateBytes) + limit) +
    row('Failures, 24 h', fmt.int(q.restartsLastDay)) +
    row('Id', `<code>${esc(q.id)}</code>`) + row('Run', `<code>${esc(q.runId)}</code>`) + '</tbody></table>');
}

// ---- below the charts ----
// against tells whether bars stand against the trigger: where batches take a small part of its interval there would be
// nothing to see.
const longest = list => Math.max(0, ...list.batches.map(b => b.batchMs ?? 0)) || 1;
const against = list => list.triggerMs > 0 && list.triggerMs <= 4 * longest(list);

function batchRow(b, list, scale) {
  let x = 0;
  const rects = b.phases.map((ms, i) => {
    const from = x, width = (ms ?? 0) / scale * 100;
    x += width;
    return ms ? `<rect class="p-${PHASES[i][0]}" x="${fixed(from, 1)}" width="${fixed(width, 1)}" height="8"/>` : '';
  }).join('');
  const due = against(list) ? `<path class="due" d="M${fixed(list.triggerMs / scale * 100, 1)} 0V8"/>` : '';
  return `<tr><td class="num">${fmt.int(b.batchId)}</td><td>${time(b.startedAtMs, fmt.clock(b.startedAtMs))}</td>` +
    `<td class="num">${fmt.int(b.inputRows)}</td><td class="cap">${b.capped ? 'cap' : ''}</td>` +
    `<td class="num">${cell(b.batchMs, 'ms')}</td><td class="ph"><svg class="phases" viewBox="0 0 100 8"` +
    ` preserveAspectRatio="none" aria-hidden="true">${rects}${due}</svg></td></tr>`;
}

const SHOWN = 12;

export function batches(list) {
  const all = list.batches, scale = against(list) ? Math.max(list.triggerMs, longest(list)) : longest(list);
  const rows = some => some.map(b => batchRow(b, list, scale)).join('');
  const other = against(list) ? `the ${fmt.dur(list.triggerMs)} trigger` : 'the longest shown';
  if (!all.length) return section('batches', 'Batches', '', '<p class="none">No batch in this run yet.</p>');
  const more = all.length > SHOWN ? `<details class="more"><summary>${all.length - SHOWN} more</summary>` +
    `<table class="grid">${BATCH_HEAD}<tbody>${rows(all.slice(SHOWN))}</tbody></table></details>` : '';
  return section('batches', 'Batches', `bar: batch time against ${other}`,
    `<table class="grid">${BATCH_HEAD}<tbody>${rows(all.slice(0, SHOWN))}</tbody></table>${more}`);
}
const BATCH_HEAD = '<thead><tr><th scope="col" class="num">Batch</th><th scope="col">Start, UTC</th>' +
  '<th scope="col" class="num">Rows</th><th scope="col" class="cap"><span class="sr">Hit the read cap</span></th>' +
  '<th scope="col" class="num">Time</th><th scope="col" class="ph">Phases</th></tr></thead>';

const MOST = 50; // partitions that are shown of a source

function waiting(s, q) {
  const some = [[s.behindRows, 'num', ' row'], [s.behindFiles, 'int', ' file'], [s.behindBytes, 'bytes', '']]
    .filter(([x]) => x != null).map(([x, f, unit]) => fmt[f](x) + (unit && x !== 1 ? unit + 's' : unit));
  if (!some.length) return 'How much waits is not known.';
  if (ended(q)) return `Unread when it ended: ${some.join(', ')}.`;
  const oldest = s.oldestAtMs == null ? '' : `, the oldest since ${fmt.dur(q.nowAtMs - s.oldestAtMs)}`;
  return `Unread: ${some.join(', ')}${oldest}.`;
}

// newest is how old the newest row of a partition is by its event time.
function newest(p, now) {
  const late = p.late ? ' over" title="older than the watermark: its rows are dropped' : '';
  return `<td class="num${late}">${p.newestAtMs == null ? none : time(p.newestAtMs, fmt.short(now - p.newestAtMs))}</td>`;
}

function partitions(s, now) {
  const behind = p => p.behindRows ?? 0;
  const all = [...s.partitions].sort((a, b) => b.late - a.late || behind(b) - behind(a));
  const timed = all.some(p => p.newestAtMs != null), late = all.filter(p => p.late).length;
  const most = Math.max(1, ...all.map(behind)), typical = median(s.partitions.map(behind));
  const row = p => `<tr><td>${esc(p.partition)}</td>${timed ? newest(p, now) : ''}` +
    `<td class="num m0">${fmt.int(p.committedOffset)}</td>` +
    `<td class="num m0">${fmt.int(p.latestOffset)}</td><td class="num">${fmt.int(p.behindRows)}</td>` +
    `<td class="wide">${bar(behind(p) / most, ' wide', typical && behind(p) > 3 * typical ? 'full' : '')}</td></tr>`;
  const rest = all.length > MOST ? `<p class="none">${all.length - MOST} more with fewer unread rows.</p>` : '';
  const dropped = late === 1 ? '1 partition is older than the watermark: its rows are dropped.' :
    `${late} partitions are older than the watermark: their rows are dropped.`;
  return `<table class="grid"><thead><tr><th scope="col">Partition</th>` +
    `${timed ? '<th scope="col" class="num">Newest event, ago</th>' : ''}<th scope="col" class="num m0">Committed` +
    '</th><th scope="col" class="num m0">Latest</th><th scope="col" class="num">Unread</th>' +
    '<th scope="col" class="wide"><span class="sr">Share</span></th></tr></thead>' +
    `<tbody>${all.slice(0, MOST).map(row).join('')}</tbody></table>` +
    `${late ? `<p class="over">${dropped}</p>` : ''}${rest}`;
}

export function sources(q) {
  const one = s => `<div class="source"><h3>${esc(s.description)}</h3><p>${waiting(s, q)}</p>` +
    `${s.partitions.length ? partitions(s, q.nowAtMs) : ''}</div>`;
  const body = q.sources.map(one).join('') || '<p class="none">Not known yet.</p>';
  return section('sources', 'Sources', 'most unread first', body);
}

// when is the time of something, with its day when that is not today's.
const when = (ms, now) => now - ms > 432e5 ? `${fmt.day(ms).slice(5)} ${fmt.clock(ms, false)}` : fmt.clock(ms);

export function alerts(q) {
  const items = q.alerts.map(a => `<li>${time(a.firedAtMs, when(a.firedAtMs, q.nowAtMs))}` +
    `<span><b>${esc(a.rule)}</b> ${esc(a.text)}</span></li>`);
  return items.length ? section('alerts', 'Alerts', 'that fire, UTC', `<ol class="log">${items.join('')}</ol>`) : '';
}

export function events(q) {
  const items = q.events.slice(0, 30)
    .map(e => `<li>${time(e.atMs, when(e.atMs, q.nowAtMs))}<span>${esc(e.text)}</span></li>`);
  return section('events', 'Events', 'UTC', `<ol class="log">${items.join('')}</ol>`);
}

const SHOWN_LINES = 200;

export function logs(l, now) {
  if (!l.lines.length) return '';
  const shown = l.lines.slice(-SHOWN_LINES), earlier = l.lines.length - shown.length;
  const rest = line => line.cutBytes ? `<span>… and ${fmt.bytes(line.cutBytes)} more</span>` : '';
  const row = line => `<tr${line.stream === 'stderr' ? ' class="err"' : ''}><td>${time(line.atMs, when(line.atMs, now))}` +
    `</td><td class="num">${line.batchId == null ? NONE : fmt.int(line.batchId)}</td><td>${line.stream}</td>` +
    `<td class="text"><pre>${esc(line.text)}</pre>${rest(line)}</td></tr>`;
  const missing = (earlier ? `${fmt.int(earlier)} earlier lines are in /api/v1/queries/${esc(l.query)}/logs. ` : '') +
    (l.droppedLines ? `${fmt.int(l.droppedLines)} lines before them are not kept any more.` : '');
  return section('logs', 'Logs', 'what Python functions printed, UTC',
    (missing && `<p class="none">${missing}</p>`) + '<div class="printed" tabindex="0" role="region" ' +
    'aria-labelledby="h-logs"><table class="grid"><thead><tr><th scope="col">Time</th><th scope="col" class="num">' +
    'Batch</th><th scope="col">Stream</th><th scope="col">Text</th></tr></thead>' +
    `<tbody>${shown.map(row).join('')}</tbody></table></div>`);
}

// indent sets a JSON text out in lines and changes nothing in its tokens: 4.0 stays 4.0.
export function indent(text) {
  let out = '', depth = 0, quoted = false;
  const line = () => '\n' + '  '.repeat(depth);
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      out += c;
      if (c === '\\') out += text[++i] ?? '';
      else if (c === '"') quoted = false;
    } else if (c === '"') { quoted = true; out += c; }
    else if ('{['.includes(c) && '}]'.includes(text[i + 1])) out += c + text[++i];
    else if ('{['.includes(c)) { depth++; out += c + line(); }
    else if ('}]'.includes(c)) { depth--; out += line() + c; }
    else if (c === ',') out += c + line();
    else if (c === ':') out += ': ';
    else out += c;
  }
  return out;
}

// keyed marks the keys of a JSON text of one token a line.
const keyed = text => text.split('\n').map(line => {
  const at = line.search(/\S/), end = line.indexOf('&quot;:');
  if (!line.startsWith('&quot;', at) || end < 0) return line;
  return `${line.slice(0, at)}<span class="k">${line.slice(at, end + 6)}</span>${line.slice(end + 6)}`;
}).join('\n');

export function progress(text) {
  let body = '<p class="none">No batch in this run yet.</p>';
  if (text && text !== 'null') {
    body = '<div class="code"><button type="button" class="btn copy" hidden>Copy</button>' +
      `<pre tabindex="0" aria-label="Progress JSON">${keyed(esc(indent(text)))}</pre></div>`;
  }
  return section('progress', 'Last progress', 'exactly as a Spark listener receives it', body);
}

// ---- charts ----
const RANGES = [['15', '15 min'], ['30', '30 min'], ['60', '1 h'], ['day', '24 h']];

// specs say what each chart draws: columns as [column, label, colour, options], lines as [value, label, colour]. A
// chart of which nothing is known is left out.
export function specs(q, columns) {
  const cap = q.capRows != null && q.triggerMs ? q.capRows / q.triggerMs * 1000 : null;
  const beyond = q.watermarkDelayMs == null ? 'behind the newest row' :
    `beyond the ${fmt.dur(q.watermarkDelayMs)} allowed`;
  return [
    { id: 'rates', title: 'Does it keep up?', unit: 'rows', axis: 'rows/s', refs: [[cap, 'read cap', 'text-3']],
      cols: [['arrivalRowsPerSecond', 'arriving', 'blue', { fill: true }],
        ['processedRowsPerSecond', 'processed', 'ink', { dash: [5, 3] }]] },
    { id: 'backlog', title: 'How far behind is it?', unit: 'ms', axis: 'age of the oldest unread row',
      cols: [['backlogMs', 'backlog', 'blue', { fill: true }]], refs: [[q.freshnessSloMs, 'objective', 'bad']],
      extra: ['backlogRows', 'rows', 'unread'] },
    { id: 'fresh', title: 'How fresh is the result?', unit: 'ms', axis: 'source to commit', band: [3, 1], main: 1,
      cols: [['freshnessP50Ms', 'p50', 'blue', { dash: [2, 2], width: 1 }], ['freshnessP95Ms', 'p95', 'ink', {}],
        ['freshnessP99Ms', 'p99', 'blue', { width: 1 }]],
      refs: [[q.freshnessSloMs, 'objective', 'bad'], [q.freshnessFloorMs, 'by design', 'text-3']] },
    { id: 'phases', title: 'Where does batch time go?', unit: 'ms', axis: 'longest batch', stack: true,
      cols: PHASES.map(([key, , short]) => [`phase${key[0].toUpperCase()}${key.slice(1)}Ms`, short, 'p-' + key, {}])
        .filter(c => some(columns[c[0]])),
      refs: [[q.triggerMs || null, 'trigger', 'text-3']] },
    { id: 'wm', title: 'How far does event time trail?', unit: 'ms', axis: beyond,
      cols: [['watermarkLagMs', 'watermark lag', 'purple', {}]], refs: [] },
    { id: 'state', title: 'How big is the state?', unit: 'bytes', axis: 'bytes',
      cols: [['stateBytes', 'state', 'blue', {}]], refs: [[q.stateLimitBytes, 'limit', 'bad']] },
  ].filter(s => s.cols.some(c => some(columns[c[0]])));
}
const some = column => Boolean(column?.some(v => v != null));

function legend(s) {
  const mark = ([, , colour, o]) => s.stack ? `<rect class="k-${colour}" width="8" height="8" x="3" rx="1.5"/>` :
    `<path class="k-${colour}" d="M0 4H14" stroke-width="${o.width ?? 2}"` +
    `${o.dash ? ` stroke-dasharray="${o.dash.join(' ')}"` : ''}/>`;
  const items = s.cols.map((c, i) => '<span class="lg"><svg width="14" height="8" aria-hidden="true">' +
    `${mark(c)}</svg>${c[1]}<b data-v="${i}"></b></span>`);
  if (s.extra) items.push(`<span class="lg">${s.extra[2]}<b data-x></b></span>`);
  return items.join('');
}

const chart = s => `<figure class="chart" id="c-${s.id}"><figcaption><h3>${s.title}</h3>` +
  `<span class="axis">${s.axis}</span><button type="button" class="tbl" aria-expanded="false">Table</button>` +
  `</figcaption><div class="legend">${legend(s)}</div>` +
  `<div class="plot" tabindex="0" role="img" aria-label="${s.title}"></div>` +
  '<div class="ctable" hidden></div></figure>';

export function charts(q, columns) {
  const list = specs(q, columns), drawn = list.some(s => s.cols.some(c => columns[c[0]]?.some(v => v)));
  if (drawn) return list.map(chart).join('');
  const [head, text] = noRows(q);
  return `<div class="empty flat"><h2>${head}</h2><p>${text}</p></div>`;
}

// noRows says why there is no chart.
function noRows(q) {
  const age = q.nowAtMs - q.startedAtMs;
  if (ended(q) && age < 36e5) return ['Nothing to draw', 'The query ended before there was anything to draw.'];
  if (ended(q)) return ['No rows in this range', 'The query has ended; a longer range may show its run.'];
  if (age < 2e4 || q.processedRowsPerSecond > 0 || q.arrivalRowsPerSecond > 0)
    return ['Nothing to draw yet', 'Charts have a value for each ten seconds.'];
  return ['No rows in this range', 'Nothing arrived, so there is nothing to draw. weir asks the source every second.'];
}

export function chartsShell(q, series) {
  const button = ([key, word]) =>
    `<button type="button" data-r="${key}" aria-pressed="${key === '30'}">${word}</button>`;
  return '<div class="range"><h2 class="sr">Charts</h2><div role="group" aria-label="Time range">' +
    `${RANGES.map(button).join('')}</div><button type="button" class="btn" id="zoomout" hidden>Reset zoom</button>` +
    '<p class="marks" id="marks"></p><p id="cursor"></p></div>' +
    `<div class="charts" id="charts">${charts(q, series.columns)}</div><div class="nojs">${plain(series)}</div>`;
}

// plain is the last half hour as a table, a row a minute, for pages without script.
function plain(s) {
  const c = s.columns, per = Math.max(1, half(60 / s.stepSeconds)), n = c.arrivalRowsPerSecond.length, rows = [];
  for (let i = n - 1; i >= 0 && rows.length < 30; i -= per) {
    rows.push(`<tr><td>${fmt.clock(s.fromAtMs + (i + 1) * s.stepSeconds * 1000)}</td>` +
      `<td class="num">${fmt.num(c.arrivalRowsPerSecond[i])}</td>` +
      `<td class="num">${fmt.num(c.processedRowsPerSecond[i])}</td>` +
      `<td class="num">${fmt.short(c.backlogMs[i])}</td><td class="num">${fmt.short(c.batchMs[i])}</td></tr>`);
  }
  return '<table class="grid"><caption>Last 30 minutes</caption><thead><tr><th scope="col">UTC</th><th scope="col"' +
    ' class="num">Arriving rows/s</th><th scope="col" class="num">Processed rows/s</th><th scope="col" class="num">' +
    `Backlog</th><th scope="col" class="num">Batch</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}
const half = x => Math.floor(x + .5);

// The parts of the page, which live data replaces one by one.
export const top = q =>
  `<header class="head">${head(q)}</header>${banner(q)}${errorBox(q)}${figures(q)}${inFlight(q)}`;
export const side = (q, list) => operators(q, list) + phases(list) + facts(q);
export const below = (q, list) => `${batches(list)}${alerts(q)}<div class="duo">${sources(q)}${events(q)}</div>`;

export function queryPage(q, list, text, series, printed) {
  return `<div class="part" id="top">${top(q)}</div>` +
    `<div class="cols"><div class="main">${chartsShell(q, series)}</div>` +
    `<aside id="side" aria-label="Where time goes">${side(q, list)}</aside></div>` +
    `<div class="part" id="below">${below(q, list)}</div>` +
    `<div class="part" id="printed">${logs(printed, q.nowAtMs)}</div><div class="part" id="last">${progress(text)}</div>`;
}
