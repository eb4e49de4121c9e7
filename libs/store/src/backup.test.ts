import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BackupDamaged, BackupReader, backupLines, type StoreContent } from './backup.ts';

const CONTENT: StoreContent = {
  revision: 9,
  objects: [
    { key: 'core/configmaps/default/a', value: '{"data":{"t":"ä\\n\u2028"}}', revision: 7, createRevision: 2 },
    { key: 'core/secrets/default/b', value: '{}', revision: 9, createRevision: 9 },
  ],
};
const text = (): string => [...backupLines(CONTENT, '2026-11-23T00:00:00Z')].join('');

function read(given: string): StoreContent {
  const reader = new BackupReader();
  for (const line of given.split('\n').slice(0, -1)) reader.add(line);
  return reader.end();
}

test('a backup is read as it was written', () => {
  const { objects, revision } = read(text());
  assert.deepEqual({ objects, revision }, CONTENT);
  const empty = { objects: [], revision: 0 };
  const again = read([...backupLines(empty, 'now')].join(''));
  assert.deepEqual([again.objects, again.revision], [[], 0]);
});

test('whatever is changed, cut or added, it is refused', () => {
  const whole = text();
  const damaged = fc.oneof(
    fc.nat({ max: whole.length - 1 }).map((at) => whole.slice(0, at)),
    fc
      .tuple(fc.nat({ max: whole.length - 1 }), fc.constantFrom('x', '1', '\n', '"'))
      .filter(([at, other]) => whole[at] !== other)
      .map(([at, other]) => `${whole.slice(0, at)}${other}${whole.slice(at + 1)}`),
    fc.constant(`${whole}{}\n`),
  );
  fc.assert(
    fc.property(damaged, (given) => {
      assert.throws(() => read(given), BackupDamaged);
    }),
    { numRuns: 500 },
  );
});
