// Walks through the pages in chromium. Called with a JSON object of addresses by fleet; prints a line of JSON for each
// check: { name, problems, notes }. Screenshots go to the directory WEIR_SHOTS, if it is set.
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const { urls, executable, only } = JSON.parse(process.argv[2]);
const shots = process.env.WEIR_SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

const browser = await chromium.launch({
  executablePath: executable,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});

// ---- what checks are made of ----
let problems, notes;
const must = (holds, text) => { if (!holds) problems.push(text); };
const same = (what, got, want) => must(Object.is(got, want), `${what} is ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
const note = text => notes.push(text);

async function check(name, options, body) {
  if (only && !new RegExp(only).test(name)) return;
  const start = Date.now();
  problems = [];
  notes = [];
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.on('page', page => {
    page.setDefaultTimeout(20000);
    page.on('console', m => { if (m.type() === 'error' || m.type() === 'warning') problems.push('console: ' + m.text()); });
    page.on('pageerror', e => problems.push('error: ' + e.stack));
    page.on('dialog', d => { problems.push('a dialog: ' + d.message()); d.dismiss(); });
  });
  try {
    await body(await context.newPage(), context);
  } catch (e) {
    problems.push(e.stack);
  }
  await context.close();
  note(`${((Date.now() - start) / 1000).toFixed(1)} s`);
  console.log(JSON.stringify({ name, problems, notes }));
}

// The environment stands still; every other page lives.
const ready = page => page.waitForSelector('#live.on, body:is([data-page="environment"], [data-page="login"], [data-page="run"], [data-page="runs"], [data-page="compare"], [data-page="week"])');
async function open(page, url) {
  await page.goto(url);
  await ready(page);
}
const queryOf = async (page, name) => new URL(await page.getAttribute(`#rows a:text-is("${name}")`, 'href'), page.url()).href;
const runOf = async (page, name) => {
  await page.goto(urls.all);
  return new URL(await page.getAttribute(`#earlier a:text-is("${name}")`, 'href'), page.url()).href;
};
const text = (page, selector) => page.$eval(selector, e => e.textContent);
const seconds = n => new Promise(done => setTimeout(done, n * 1000));
const noSideways = async page => {
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth ? '' :
    [...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth)
      .slice(0, 5).map(e => `${e.nodeName} ${e.className} ${e.textContent.slice(0, 40)}`).join(', ') || 'nothing in main');
  must(!wide, `the page is wider than its window of ${await page.evaluate(() => innerWidth)} px: ${wide}`);
};

// ---- every page, both widths, both themes ----
const pages = {
  'fleet-none': async () => urls.none,
  'fleet-one': async () => urls.one,
  'fleet-all': async () => urls.all,
  'fleet-500': async () => urls.many,
  'query-behind': page => queryOf(page, 'orders_enriched'),
  'query-failed': page => queryOf(page, 'cdc_customers'),
  'query-stalled': page => queryOf(page, 'shipments_join'),
  'query-idle': page => queryOf(page, 'refunds_audit'),
  'query-foreign': page => queryOf(page, 'page_views_1m'),
  alerts: async () => urls.all + '/alerts',
  compare: async () => urls.all + '/compare?query=00000000-0000-4000-8000-00000000abcd',
  'compare-choose': async () => urls.all + '/compare',
  runs: async () => urls.all + '/runs',
  'run-earlier': page => runOf(page, 'nightly_import'),
  login: async () => urls.locked + '/login',
  'alerts-none': async () => urls.none + '/alerts',
  resources: async () => urls.all + '/resources',
  week: async () => urls.all + '/week',
  environment: async () => urls.all + '/environment',
};
for (const [name, find] of Object.entries(pages)) {
  await check(name, {}, async page => {
    if (name.startsWith('query')) await page.goto(urls.all);
    await open(page, await find(page));
    if (await page.$('#charts:not(:has(.empty))')) await page.waitForSelector('.plot canvas');
    await page.evaluate(axe);
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: width > 1000 ? 900 : 844 });
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme });
        const found = await page.evaluate(() => axe.run({ resultTypes: ['violations'] }));
        for (const v of found.violations) {
          const nodes = v.nodes.slice(0, 3).map(n => n.html.slice(0, 160));
          problems.push(`${width} ${colorScheme}: axe: ${v.id}: ${v.help}: ${nodes.join(' | ')}`);
        }
        if (shots) await page.screenshot({ path: `${shots}/${name}-${width}-${colorScheme}.png` });
      }
      await noSideways(page);
    }
    await page.setViewportSize({ width: 360, height: 700 });
    await noSideways(page);
  });
}

// ---- the keyboard ----
await check('keys of the fleet', {}, async page => {
  await open(page, urls.all);
  await page.keyboard.press('/');
  same('what / focuses', await page.evaluate(() => document.activeElement.id), 'q');
  await page.keyboard.type('orders_');
  same('rows that are found', await page.$$eval('#rows tr', r => r.length), 2);
  same('the count', await text(page, '#count'), '2 of 12');
  await page.keyboard.press('Escape');
  same('rows after Esc', await page.$$eval('#rows tr', r => r.length), 12);
  for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key);
  same('the row that j and k lead to', await text(page, '#rows tr.at .c-name a'), 'shipments_join');
  await seconds(2.5);
  same('the focus after two seconds of news', await page.evaluate(() => document.activeElement.textContent), 'shipments_join');
  await page.keyboard.press('?');
  must(await page.$eval('#help', d => d.open), '? does not open the help');
  await page.keyboard.press('Escape');
  must(!await page.$eval('#help', d => d.open), 'Esc does not close the help');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/queries/*');
  same('the query that Enter opens', await text(page, 'h1'), 'shipments_join');
  await ready(page);
  await page.keyboard.press('f');
  await page.waitForSelector('#fleet');
  await ready(page);
  await page.keyboard.press('e');
  await page.waitForSelector('text="/data/weir"');
  await page.keyboard.press('r');
  await page.waitForSelector('text=Python workers');
});

await check('two runs are compared', {}, async page => {
  await open(page, urls.all);
  await page.keyboard.press('c');
  await page.waitForURL('**/compare');
  same('what is chosen first', await page.$$eval('select[name=a] option', o => o.length > 10), true);
  await page.goto(urls.all + '/queries/00000000-0000-4000-8000-00000000abcd');
  await page.waitForSelector('#runs a:text-is("Compare")');
  await page.focus('#runs a:text-is("Compare")');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/compare?a=*');
  must(/^p95 of a batch .* slower: computing \+/.test(await text(page, 'h1')), await text(page, 'h1'));
  same('charts', await page.$$eval('.cmp path[d*="L"]', p => p.length >= 4), true);
  must((await page.getAttribute('.cmp', 'aria-label')).includes('A is between'), 'a chart has no sentence');
  must((await text(page, '#settings')).includes('spark.sql.shuffle.partitions') === false, 'settings that one run does not tell are compared');
  must((await text(page, '.diff .out')).startsWith('- '), 'the plans are not told apart');
  await page.selectOption('select[name=align]', 'end');
  await page.click('#choose .btn');
  await page.waitForURL('**align=end');
  must((await text(page, '#measures h2')).includes('last'), 'the runs are not aligned by their ends');
});

await check('what ended on an earlier server', {}, async page => {
  await open(page, await runOf(page, 'nightly_import'));
  same('the title', await page.title(), 'nightly_import: failed · weir');
  must((await text(page, '.error')).includes('DIVIDE_BY_ZERO'), 'the error is not there');
  must((await text(page, '#lacks')).includes("Spark's own progress"), 'what is not known is not said');
  must(await page.$$eval('#batches tbody tr', r => r.length) > 100, 'its batches are not there');
  same('what scripts of texts left', await page.evaluate(() => typeof globalThis.pwned), 'undefined');
});

await check('comparisons without scripts', { javaScriptEnabled: false }, async page => {
  await page.goto(urls.all + '/compare?query=00000000-0000-4000-8000-00000000abcd');
  must(/slower/.test(await text(page, 'h1')), await text(page, 'h1'));
  must(await page.isVisible('.cmp'), 'the charts are not seen');
  must(await page.$$eval('#measures tbody tr', r => r.length) > 8, 'the table has too few rows');
  await page.click('#choose .btn');
  await page.waitForURL('**/compare?a=*');
});

await check('the week without scripts', { javaScriptEnabled: false }, async page => {
  await page.goto(urls.all);
  await page.locator('nav a', { hasText: 'Week' }).click();
  same('days', await page.locator('thead th').count(), 10);
  const row = page.locator('tr', { hasText: 'nightly_import' });
  must((await row.textContent()).includes('Failed'), 'the failed query is not told of');
  must(await row.locator('.f-bad').count() > 0, 'its hours are not red');
  must(/Behind \d h/.test(await page.locator('tr', { hasText: 'orders_enriched' }).textContent()), 'what runs is not told of');
});

await check('alerts are silenced on their page', {}, async page => {
  await open(page, urls.all);
  await page.keyboard.press('a');
  await page.waitForURL('**/alerts');
  await ready(page);
  const row = page.locator('tr.hot', { hasText: 'cdc_customers' }).first();
  await row.waitFor();
  must(/alerts are firing\.$/.test(await text(page, 'h1')), await text(page, 'h1'));
  await row.getByRole('button', { name: /query failed of cdc_customers$/ }).press('Enter');
  await page.waitForSelector('h2:has-text("Silences") ~ table td:has-text("query failed")');
  same('the address after it', new URL(page.url()).pathname, '/alerts');
  must(await page.locator('tr:has-text("silent")', { hasText: 'cdc_customers' }).count() > 0, 'the alert is not shown as silent');
  await ready(page);
  await page.click('details.more summary');
  await page.fill('input[name=query]', 'orders*');
  await seconds(2.5);
  same('what was typed, after news', await page.inputValue('input[name=query]'), 'orders*');
  must(await page.$eval('details.more', d => d.open), 'the form closed itself');
  await page.keyboard.press('Enter');
  await page.waitForSelector('td:has-text("orders*")');
  for (let n = await page.locator('button:text-is("End")').count(); n > 0; n--) {
    await page.locator('button:text-is("End")').first().click();
    await page.waitForFunction(left => [...document.querySelectorAll('button')].filter(b => b.textContent === 'End').length === left, n - 1);
  }
  same('what scripts of texts left', await page.evaluate(() => typeof globalThis.pwned), 'undefined');
});

await check('alerts that fire are counted beside their link', {}, async (page, context) => {
  // Alerts begin and end while the check runs: the number is compared with the API of the same moment.
  const agrees = silences => page.waitForFunction(async silences => {
    const told = await (await fetch('/api/v1/alerts')).json();
    const firing = told.alerts.filter(a => a.state === 'firing').length;
    const mark = document.querySelector('#firing:not([hidden])');
    return told.silences.length === silences && firing > 0 && mark && +mark.children[0].textContent === firing;
  }, silences);
  await page.goto(urls.all + '/environment'); // a page that stands still otherwise
  await agrees(0);
  must(/^Alerts(\d+), (1 alert fires|\1 alerts fire)$/.test(await text(page, 'nav a[href="/alerts"]')), 'what is read aloud: ' + await text(page, 'nav a[href="/alerts"]'));
  const alerts = await context.newPage();
  await open(alerts, urls.all + '/alerts');
  await alerts.locator('tr.hot').first().getByRole('button').press('Enter'); // silenced
  await agrees(1);
  await alerts.locator('button:text-is("End")').first().click();
  await agrees(0);
});

await check('logging in and out', {}, async page => {
  await page.goto(urls.locked + '/queries/x');
  same('the page instead', new URL(page.url()).pathname, '/login');
  await page.fill('input[name=token]', 't0ken');
  page.removeAllListeners('console'); // the page that was wanted is not there
  await page.keyboard.press('Enter');
  await page.waitForURL('**/queries/x');
  await page.keyboard.press('f');
  await page.waitForSelector('#live.on');
  same('what scripts see of the cookie', await page.evaluate(() => document.cookie), '');
  await page.click('text="Log out"');
  await page.waitForURL('**/login');
});

await check('keys of charts', {}, async page => {
  await page.goto(urls.all);
  await open(page, await queryOf(page, 'orders_enriched'));
  await page.waitForSelector('.plot canvas');
  await page.focus('#c-backlog .plot');
  await page.keyboard.press('ArrowLeft');
  must(/ago$/.test(await text(page, '#cursor')), `the cursor's time: ${await text(page, '#cursor')}`);
  const value = await text(page, '#c-rates [data-v="0"]');
  await page.keyboard.press('Shift+ArrowLeft');
  await page.keyboard.press('Shift+ArrowLeft');
  must(value !== await text(page, '#c-rates [data-v="0"]'), 'the values of other charts do not follow the cursor');
  await page.keyboard.press('+');
  must(await page.isVisible('#zoomout'), '+ does not zoom');
  must(/^\?from=\d+&to=\d+$/.test(new URL(page.url()).search), `the zoom is not in the address: ${page.url()}`);
  await page.reload();
  await page.waitForSelector('#zoomout:visible');
  await page.focus('#c-backlog .plot');
  await page.keyboard.press('0');
  must(!await page.isVisible('#zoomout'), '0 does not zoom out');
  await page.keyboard.press('Escape');
  must(/UTC$/.test(await text(page, '#cursor')), 'Esc does not hide the cursor');
  must((await page.getAttribute('#c-backlog .plot', 'aria-label')).includes('at the end, between'), 'a chart has no sentence');
  await page.click('#c-backlog .tbl');
  must(await page.$$eval('#c-backlog .ctable tbody tr', r => r.length) > 10, 'the table of a chart has no rows');
  await page.click('.range [data-r="day"]');
  same('the range in the address', new URL(page.url()).search, '?range=day');
  await page.reload();
  await page.waitForSelector('.plot canvas');
  same('the range after a reload', await page.getAttribute('[data-r="day"]', 'aria-pressed'), 'true');
});

// ---- what charts show ----
const UNITS = { '': 1, k: 1e3, M: 1e6, G: 1e9, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, ms: 1, s: 1e3, min: 6e4, h: 36e5, d: 864e5 };

// figure is a number that a legend or a table writes, null for a dash.
function figure(words) {
  const [, n, unit] = words.match(/^([\d.]+)[\s\u00a0]?(\S*)/) ?? [];
  return n === undefined ? null : n * UNITS[unit];
}

// agrees tells whether a figure, of two digits at least, is a number of the API.
const agrees = (got, want) => got === null || want === null ? got === want : Math.abs(got - want) <= .06 * Math.abs(want) + .1;

const COLUMNS = {
  rates: ['arrivalRowsPerSecond', 'processedRowsPerSecond'], backlog: ['backlogMs'],
  fresh: ['freshnessP50Ms', 'freshnessP95Ms', 'freshnessP99Ms'],
};

// underCursor compares every legend with what the API has of the moment that the cursor names.
async function underCursor(page) {
  const shown = await page.evaluate(ids => ({
    clock: document.querySelector('#cursor b').textContent,
    figures: ids.map(id => [id, [...document.querySelectorAll(`#c-${id} [data-v]`)].map(e => e.textContent)]),
  }), Object.keys(COLUMNS));
  const s = await page.evaluate(() =>
    fetch('/api/v1/series?query=' + location.pathname.split('/').pop()).then(r => r.json()));
  const clock = i => new Date(s.fromAtMs + (i + 1) * s.stepSeconds * 1000).toISOString().slice(11, 19);
  const i = s.columns.backlogMs.findIndex((_, k) => clock(k) === shown.clock);
  must(i >= 0, `the API has nothing at ${shown.clock}`);
  for (const [id, figures] of shown.figures) {
    figures.forEach((words, k) => {
      const want = s.columns[COLUMNS[id][k]][i];
      must(agrees(figure(words), want), `${COLUMNS[id][k]} at ${shown.clock} is written ${words}, the API has ${want}`);
    });
  }
  return i;
}

await check('values under the cursor', {}, async page => {
  await page.goto(urls.all);
  await open(page, await queryOf(page, 'orders_enriched'));
  await page.waitForSelector('.plot canvas');
  const box = await page.locator('#c-rates .u-over').boundingBox();
  const at = async share => { await page.mouse.move(box.x + box.width * share, box.y + box.height / 2); };
  for (const share of [.3, .6, .9]) {
    await at(share);
    await underCursor(page);
  }
  await page.mouse.move(0, 0);
  await page.focus('#c-fresh .plot');
  await page.keyboard.press('Shift+ArrowLeft');
  const one = await underCursor(page);
  await page.keyboard.press('ArrowLeft');
  same('a step to the left', await underCursor(page), one - 1);
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Escape');
  // A drag zooms to what was dragged over; the table then has that and nothing else.
  await at(.4);
  const from = await text(page, '#cursor b');
  await page.mouse.down();
  await at(.5);
  await at(.7);
  const to = await text(page, '#cursor b');
  await page.mouse.up();
  await page.waitForSelector('#zoomout:visible');
  await page.click('#c-rates .tbl');
  const rows = await page.$$eval('#c-rates .ctable tbody tr', r => r.map(e => [...e.children].map(c => c.textContent)));
  must(rows.length >= 20, `the table of a zoomed chart has ${rows.length} rows`);
  must(rows.every(r => r[0] >= from && r[0] <= to) || from > to, `a row is not between ${from} and ${to}`);
  must(rows.every(r => figure(r[1]) > 1000), 'a row of the table has no figure');
  await page.dblclick('#c-backlog .u-over');
  must(!await page.isVisible('#zoomout'), 'a double click does not zoom out');
});

// inked counts the pixels of a chart that have the colour of a mark of its key, between two shares of its width.
const inked = (page, chart, mark, from, to) => page.evaluate(([chart, mark, from, to]) => {
  const el = document.querySelector(chart), canvas = el.querySelector('canvas'), over = el.querySelector('.u-over');
  const path = el.querySelector(mark), style = getComputedStyle(path);
  const [r, g, b] = (path.tagName === 'rect' ? style.fill : style.stroke).match(/[\d.]+/g).map(Number);
  const scale = canvas.width / canvas.clientWidth, left = (over.offsetLeft + over.clientWidth * from) * scale;
  const width = over.clientWidth * (to - from) * scale;
  const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
  const pixels = copy.getContext('2d', { willReadFrequently: true });
  pixels.drawImage(canvas, 0, 0);
  const d = pixels.getImageData(left, over.offsetTop * scale, width, over.clientHeight * scale).data;
  let n = 0;
  for (let i = 0; i < d.length; i += 4) {
    if (d[i + 3] > 200 && Math.abs(d[i] - r) + Math.abs(d[i + 1] - g) + Math.abs(d[i + 2] - b) < 24) n++;
  }
  return n;
}, [chart, mark, from, to]);

await check('the key is that of the lines', {}, async page => {
  await page.goto(urls.all);
  await open(page, await queryOf(page, 'orders_enriched'));
  await page.waitForSelector('.plot canvas');
  const marks = await page.$$eval('#c-rates .lg path', p => p.map(e => [getComputedStyle(e).stroke, e.getAttribute('stroke-dasharray')]));
  same('lines of the first chart', marks.length, 2);
  must(marks[0][0] !== marks[1][0] && marks[0][1] !== marks[1][1], `lines are told apart by colour and dashes: ${marks}`);
  for (const i of [1, 2]) {
    const n = await inked(page, '#c-rates', `.lg:nth-child(${i}) path`, 0, 1);
    must(n > 100, `the line of mark ${i} has ${n} pixels`);
  }
});

await check('a gap is a gap', {}, async page => {
  await page.goto(urls.all);
  await open(page, await queryOf(page, 'shipments_join'));
  await page.waitForSelector('#c-phases .plot canvas');
  // No batch was committed for the last six minutes of thirty; longer ago there were some.
  const before = await inked(page, '#c-phases', '.lg:nth-child(4) rect', .3, .7);
  const stalled = await inked(page, '#c-phases', '.lg:nth-child(4) rect', .85, .99);
  must(before > 50, `the phase has ${before} pixels while batches run`);
  same('pixels of the phase while none is committed', stalled, 0);
  const box = await page.locator('#c-phases .u-over').boundingBox();
  await page.mouse.move(box.x + box.width * .92, box.y + 10);
  const figures = await page.$$eval('#c-phases [data-v]', e => e.map(v => v.textContent));
  must(figures.every(f => f === '–'), `in the gap the key says ${figures}`);
  must(figure(await text(page, '#c-backlog [data-v="0"]')) > 6e4, 'the backlog of the same moment is not there');
  await page.click('#c-phases .tbl');
  const first = await page.$$eval('#c-phases .ctable tbody tr:first-child td.num', e => e.map(v => v.textContent));
  must(first.length > 3 && first.every(f => f === '–'), `the newest row of the table says ${first}`);
});

// ---- the fleet ----
await check('the view is in the address', {}, async page => {
  await open(page, urls.all);
  await page.click('.chip[data-s="behind"]');
  await page.click('.chip[data-s="failed"]');
  await page.click('th[data-k="name"] button');
  await page.selectOption('#groupby select', 'app');
  await page.click('#cols summary');
  await page.uncheck('#cols-list [value="strip"]');
  const search = new URL(page.url()).search;
  same('the address', decodeURIComponent(search), '?state=behind,failed&sort=name&dir=1&group=app&hide=strip');
  const rows = () => page.$$eval('#rows tr', r => r.map(x => x.querySelector('a, th').textContent));
  const want = JSON.stringify(['platform 1 query · 1 needs attention', 'cdc_customers', 'shop 1 query · 1 needs attention',
    'orders_enriched']);
  same('the rows', JSON.stringify(await rows()), want);
  await page.reload();
  await ready(page);
  same('the rows after a reload', JSON.stringify(await rows()), want);
  must(!await page.isVisible('td.c-strip'), 'the hidden column is there');
  same('the sorted column', await page.getAttribute('th[data-k="name"]', 'aria-sort'), 'ascending');
  await page.fill('#q', 'nothing like it');
  must(await page.isVisible('#nomatch'), 'nobody says that nothing matches');
  await page.click('#nomatch button');
  same('rows after clearing', await page.$$eval('#rows tr:not(.group)', r => r.length), 12);
});

await check('five hundred queries', {}, async page => {
  await open(page, urls.many);
  await page.waitForFunction(() => document.querySelectorAll('#rows tr').length < 120);
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
  const done = await page.evaluate(() => performance.getEntriesByType('navigation')[0].responseEnd);
  note(`500 queries: first paint after ${paint.toFixed(0)} ms, the page had come after ${done.toFixed(0)} ms`);
  const height = await page.evaluate(() => document.querySelector('#rows').getBoundingClientRect().height);
  must(Math.abs(height - 500 * 30) < 2, `the rows are ${height} px high, want 15000`);
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.waitForFunction(() => document.querySelector('#rows tr:last-child')?.getAttribute('aria-rowindex') === '501');
  must(await page.$$eval('#rows tr', r => r.length) < 120, 'too many rows are in the document');
  await page.evaluate(() => scrollTo(0, 0));
  for (let i = 0; i < 60; i++) await page.keyboard.press('j');
  same('the row that j leads to', await page.getAttribute('#rows tr.at', 'aria-rowindex'), '61');
  must(await page.evaluate(() => {
    const at = document.querySelector('#rows tr.at').getBoundingClientRect();
    return at.top > 0 && at.bottom < innerHeight;
  }), 'the row that j leads to is out of sight');
  await page.fill('#q', 'query_4');
  same('rows that are found', await page.$$eval('#rows tr', r => r.length), 100);
});

await check('rows keep their places under the pointer', {}, async page => {
  await open(page, urls.all);
  await page.click('th[data-k="backlog"] button');
  const order = () => page.$$eval('#rows tr', r => r.map(x => x.dataset.id).join());
  await page.hover('#rows tr:nth-child(4)');
  const before = await order();
  await seconds(7);
  same('the order after seven seconds', await order(), before);
});

// ---- live ----
await check('states that change are said, and nothing else', {}, async page => {
  await open(page, urls.changing);
  const before = await text(page, '#asof');
  await page.waitForFunction(t => document.querySelector('#asof').textContent !== t, before);
  const live = await page.$$eval('[aria-live]:not([aria-live=off])', e => e.map(x => x.id).join());
  same('what is read aloud', live, 'said');
  await page.waitForFunction(() => document.querySelector('#said').textContent);
  same('what is said', await text(page, '#said'), 'soon_to_fail: Failed.');
  must(/needs? attention/.test(await text(page, 'h1')), 'the verdict does not follow');
  await page.waitForSelector('.chip[data-s="failed"]');
});

await check('the dot tells that the server is away', {}, async page => {
  page.removeAllListeners('console'); // the browser writes that it cannot connect
  await open(page, urls.leaving);
  await page.waitForSelector('#live.late');
  must((await text(page, '#live')).startsWith('Not live, as of'), await text(page, '#live'));
  await page.waitForSelector('#live.on');
});

await check('one stream for all tabs', {}, async (first, context) => {
  const count = page => {
    page.streams = 0;
    page.on('request', r => { if (r.url().includes('/api/v1/stream')) page.streams++; });
  };
  count(first);
  await open(first, urls.all);
  const second = await context.newPage();
  count(second);
  await open(second, await queryOf(first, 'payments_dedup'));
  const third = await context.newPage();
  count(third);
  await open(third, urls.all);
  same('streams of the second tab', second.streams, 0);
  same('streams of the third tab', third.streams, 0);
  for (const page of [first, second, third]) {
    const before = await text(page, '#asof');
    await page.waitForFunction(t => document.querySelector('#asof').textContent !== t, before);
  }
  await first.close(); // another one takes over
  for (const page of [second, third]) {
    const before = await text(page, '#asof');
    await page.waitForFunction(t => document.querySelector('#asof').textContent !== t, before);
  }
  same('streams after the first tab is gone', Math.sign(second.streams) + Math.sign(third.streams), 1);
});

await check('a hidden tab rests', {}, async page => {
  await open(page, urls.all);
  const hide = hidden => page.evaluate(h => {
    Object.defineProperty(document, 'hidden', { value: h, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await hide(true);
  await seconds(1);
  const before = await text(page, '#asof');
  await seconds(2.5);
  same('the time of a hidden tab', await text(page, '#asof'), before);
  await hide(false);
  await page.waitForFunction(t => document.querySelector('#asof').textContent !== t, before);
});

await check('what was opened stays open', {}, async page => {
  await page.goto(urls.all);
  await open(page, await queryOf(page, 'geo_pings'));
  await page.click('details.more summary');
  const batch = await text(page, '#batches td');
  await page.waitForFunction(t => document.querySelector('#batches td').textContent !== t, batch);
  must(await page.$eval('details.more', d => d.open), 'the list of batches closed itself');
});

await check('what functions printed last is seen first', {}, async page => {
  await page.goto(urls.all);
  await open(page, await queryOf(page, 'geo_pings'));
  const seen = () => page.evaluate(() => {
    const box = document.querySelector('.printed'), { top, bottom } = box.getBoundingClientRect();
    return [...box.querySelectorAll('pre')].filter(e => {
      const r = e.getBoundingClientRect();
      return r.top >= top && r.bottom <= bottom + 1;
    }).map(e => e.textContent);
  });
  same('the last line that is seen', (await seen()).at(-1), 'line 199');
  await page.evaluate(() => document.querySelector('.printed').scrollTo(0, 0));
  const before = await text(page, '#asof');
  await page.waitForFunction(t => document.querySelector('#asof').textContent !== t, before);
  must((await seen()).includes('line 0'), 'the reader is taken away from what is read');
});

// ---- theme, first paint, size ----
await check('the theme is kept', { colorScheme: 'light' }, async (page, context) => {
  await open(page, urls.all);
  const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await colour();
  await page.keyboard.press('t');
  const dark = await colour();
  must(light !== dark, 't does not change colours');
  const html = await (await context.request.get(urls.all)).text();
  must(html.includes('data-theme="dark"'), 'the server does not know the theme');
  await page.reload();
  same('the colour after a reload', await colour(), dark);
});

await check('nothing jumps', {}, async page => {
  await page.addInitScript(() => {
    globalThis.shift = 0;
    new PerformanceObserver(list => { for (const e of list.getEntries()) globalThis.shift += e.value; })
      .observe({ type: 'layout-shift', buffered: true });
  });
  await open(page, urls.all);
  const behind = await queryOf(page, 'orders_enriched');
  for (const url of [urls.all, behind, urls.one]) {
    await open(page, url);
    await seconds(2.5);
    const shift = await page.evaluate(() => globalThis.shift);
    must(shift < 0.02, `${url}: things moved by ${shift}`);
    note(`${new URL(url).pathname}: layout shift ${shift.toFixed(4)}`);
  }
});

await check('pages are small', {}, async page => {
  await open(page, urls.all + '/queries/00000000-0000-4000-8000-00000000abcd');
  await page.waitForSelector('.plot canvas');
  const files = await page.evaluate(() => performance.getEntriesByType('resource')
    .filter(e => e.name.includes('/assets/')).map(e => [e.name, e.encodedBodySize]));
  const html = gzipSync(await page.evaluate(() => fetch(location.href).then(r => r.text()))).length;
  const sum = [...new Map(files).values()].reduce((a, b) => a + b, html);
  must(sum < 100e3, `a query's page has ${sum} bytes`);
  note(`a query's page has ${(sum / 1000).toFixed(1)} kB compressed`);
});

// ---- without script, and with hostile texts ----
await check('without script', { javaScriptEnabled: false }, async page => {
  await page.goto(urls.all);
  same('rows', await page.locator('#rows tr').count(), 12);
  must(!await page.locator('#tools').isVisible(), 'tools that do nothing are there');
  must((await page.locator('#live').textContent()).startsWith('As of'), 'the page says that it is live');
  await noSidewaysWithout(page);
  await page.locator('#rows a').first().click();
  must(await page.locator('.nojs table').isVisible(), 'no table stands for the charts');
  must(!await page.locator('.charts').isVisible(), 'empty charts are there');
  must(await page.locator('section.error').isVisible(), 'the error is not there');
  await noSidewaysWithout(page);
  await page.locator('nav a', { hasText: 'Alerts' }).click();
  await page.locator('tr.hot button').first().click();
  must(await page.locator('text=silent').first().isVisible(), 'no alert is silent');
  await page.locator('button', { hasText: /^End$/ }).first().click();
  must(await page.locator('h1').isVisible(), 'the page did not come back');
  await noSidewaysWithout(page);
});
async function noSidewaysWithout(page) {
  const box = await page.locator('body').boundingBox();
  must(box.width <= 1440, `the page is ${box.width} px wide`);
}

await check('hostile texts do nothing', {}, async page => {
  await open(page, urls.hostile);
  const allowed = await page.evaluate(() => !document.querySelector('img, iframe, object, embed, svg[onload], [onerror]'));
  must(allowed, 'a text became an element');
  const names = await page.$$eval('#rows .c-name a', a => a.map(x => [x.textContent, x.href]));
  must(names.length >= 20, `${names.length} queries`);
  for (const [name, href] of names) {
    await open(page, href);
    same('the name', (await text(page, 'h1')).trim(), name.trim());
    must(await page.evaluate(() => !document.querySelector('main img, main iframe, main script, [onerror], [onload]')),
      `${name} became an element`);
  }
  same('what scripts of texts left', await page.evaluate(() => typeof globalThis.pwned), 'undefined');
});

await browser.close();
