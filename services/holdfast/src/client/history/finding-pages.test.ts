import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { HistoryChange } from '@holdfast/client/history-documents';
import type { Accusation } from '@holdfast/cluster/explore';
import { parseTime } from '@holdfast/platform';
import { findingPage, writeFindings } from './finding-pages.ts';
import { SHOWN_MAX } from './page.ts';

const change = (revision: number, second: number): HistoryChange => ({
  revision: String(revision),
  time: `2026-01-31T10:00:0${second}.000Z`,
  type: 'created',
  object: { group: '', resource: 'configmaps', namespace: 'default', name: `map-${revision}` },
  by: { user: 'operator', verb: 'create' },
});

const write = { verb: 'create', resource: 'configmaps', namespace: 'default', name: 'map-2', nth: 1 };

const HISTORY = [change(1, 1), change(2, 2), change(3, 5)];

const accusationWith = (faultMs: number | undefined, told: object = { history: HISTORY }): Accusation =>
  ({
    plan: { kind: 'crash', moment: 'after', write },
    findings: [{ kind: 'left over', text: 'core/configmaps/default/<b> is left over', lines: ['+ 1 in place of 0'] }],
    result: { faultMs, ...told },
  }) as unknown as Accusation;

test('the page of a finding has the fault as a red line between the changes around it', () => {
  const page = findingPage(accusationWith(parseTime('2026-01-31T10:00:03Z')));
  const x = [...page.matchAll(/<circle [^>]*cx="(\d+)"/g)].map(([, text]) => Number(text));
  const line = /<line class="fault-line" x1="(\d+)"[^>]*><title>(.*?)<\/title>/.exec(page);
  assert.equal(line?.[2], 'the operator is killed after write 1 &quot;create configmaps default/map-2&quot;');
  const at = Number(line?.[1]);
  assert.deepEqual(
    x.map((each) => each < at),
    [true, true, false],
  );
  assert.match(page, /class="fault-fact">The red line: the operator is killed after write 1/);
  assert.match(page, /default\/&lt;b&gt; is left over\./);
  assert.doesNotMatch(findingPage(accusationWith(undefined)), /<line class="fault-line"/);
});

test('a fault that lies before the changes that are shown is told, not drawn at the edge', () => {
  const many = Array.from({ length: SHOWN_MAX }, (_, i) => change(i + 2, 5));
  const at = (second: number): string =>
    findingPage(accusationWith(parseTime(`2026-01-31T10:00:0${second}Z`), { history: [change(1, 1), ...many] }));
  assert.doesNotMatch(at(3), /<line class="fault-line"/);
  assert.match(at(3), /not among the changes that are shown\. It came at 2026-01-31T10:00:03Z: the operator is killed/);
  assert.match(at(6), /<line class="fault-line"/);
});

test('a page whose history could not be read says why, and has no line', () => {
  const told = { history: [], historyFailure: 'the history was refused: <gone>' };
  const page = findingPage(accusationWith(parseTime('2026-01-31T10:00:03Z'), told));
  assert.match(page, /The history of this run could not be read: the history was refused: &lt;gone&gt;/);
  assert.doesNotMatch(page, /<line class="fault-line"/);
});

test('the pages of an exploration replace those of an earlier one, and nothing else in the folder', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-findings-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const others = ['finding-1.html.old', 'finding-x.html', 'my-finding-2.html', 'report.txt'];
  for (const name of ['finding-1.html', 'finding-12.html', ...others])
    writeFileSync(path.join(folder, name), 'earlier');
  const said: string[] = [];
  await writeFindings(folder, [accusationWith(undefined)], (sentence) => void said.push(sentence));
  assert.deepEqual(readdirSync(folder).sort(), ['finding-1.html', ...others].sort());
  assert.deepEqual(said, [`the history of finding 1 is in ${path.join(folder, 'finding-1.html')}`]);
});
