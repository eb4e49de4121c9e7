import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryChange } from '@holdfast/client/history-documents';
import type { Accusation } from '@holdfast/cluster/explore';
import { parseTime } from '@holdfast/platform';
import { findingPage } from './finding-pages.ts';

const change = (revision: number, second: number): HistoryChange => ({
  revision: String(revision),
  time: `2026-01-31T10:00:0${second}.000Z`,
  type: 'created',
  object: { group: '', resource: 'configmaps', namespace: 'default', name: `map-${revision}` },
  by: { user: 'operator', verb: 'create' },
});

const write = { verb: 'create', resource: 'configmaps', namespace: 'default', name: 'map-2', nth: 1 };

const accusationWith = (faultMs: number | undefined): Accusation =>
  ({
    plan: { kind: 'crash', moment: 'after', write },
    findings: [{ kind: 'left over', text: 'core/configmaps/default/<b> is left over', lines: ['+ 1 in place of 0'] }],
    result: { faultMs, history: [change(1, 1), change(2, 2), change(3, 5)] },
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
