// Renders the cases of render.json as the page's script does, in the form of render.golden.
import { readFileSync } from 'node:fs';
import { fleetRow, fleetSummary, lacks } from '../assets/fleet.js';
import { queryPage } from '../assets/query.js';

const render = {
  row: d => fleetRow(d.row, d.nowAtMs, d.index),
  summary: d => fleetSummary(d),
  lacks: d => lacks(d.queries).map(key => 'hide-' + key).join(' '),
  query: d => queryPage(d.detail, d.batches, d.progress, d.series, d.logs),
};
const cases = JSON.parse(readFileSync(new URL('render.json', import.meta.url)));
process.stdout.write(cases.map(c => `== ${c.kind}: ${c.name}\n${render[c.kind](c.data)}\n`).join(''));
