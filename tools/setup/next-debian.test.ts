import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { unpackFirstThatStarts, type WantedFile } from './next-debian.ts';

/** Packages whose program is this script, or which cannot be had. */
function choose(t: TestContext, scripts: { readonly forky?: string; readonly trixie?: string }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-next-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const target = path.join(folder, 'server');
  const wanted = { packageName: 'server', file: 'server', target, byHand: 'Install it.' };
  const unpacked: string[] = [];
  const printed: string[] = [];
  const unpack = ({ suite }: WantedFile): void => {
    unpacked.push(suite);
    const script = scripts[suite];
    if (script === undefined) throw new Error('the mirror does not answer\nmore');
    writeFileSync(target, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  const run = (): void =>
    unpackFirstThatStarts(
      [
        { ...wanted, suite: 'forky' },
        { ...wanted, suite: 'trixie' },
      ],
      { unpack, print: (line) => void printed.push(line) },
    );
  return { run, target, unpacked, printed };
}

test('of two releases the first one whose program starts is taken, and one line says why it is the later', (t) => {
  const good = choose(t, { forky: 'exit 0' });
  good.run();
  assert.deepEqual([good.unpacked, good.printed], [['forky'], []]);
  const old = choose(t, { forky: 'echo "GLIBC_2.50 not found" >&2; echo more >&2; exit 1', trixie: 'exit 0' });
  old.run();
  assert.deepEqual(old.unpacked, ['forky', 'trixie']);
  assert.deepEqual(old.printed, ['server of Debian forky is not used: it cannot start here: GLIBC_2.50 not found\n']);
  const absent = choose(t, { trixie: 'exit 0' });
  absent.run();
  assert.deepEqual(absent.printed, ['server of Debian forky is not used: the mirror does not answer\n']);
});

test('where none starts, nothing stays that a later set-up would take, and the manual step is named', (t) => {
  const none = choose(t, { forky: 'exit 1', trixie: 'echo no >&2; exit 1' });
  assert.throws(none.run, /^Error: server of Debian trixie: it cannot start here: no\. Install it\.$/);
  assert.equal(existsSync(none.target), false);
});
