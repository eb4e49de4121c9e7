import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { ClusterHome, newRecord } from './cluster-home.ts';
import { mayHavePods } from './left-pods.ts';
import { identityOf } from './process-identity.ts';

const NOW = identityOf(process.pid) ?? { pid: 0, began: '' };
const EARLIER = { ...NOW, began: NOW.began.replace(/.*\//, 'another-boot/') };

function makeHome(t: TestContext): ClusterHome {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-left-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const home = new ClusterHome('one', { XDG_STATE_HOME: folder });
  mkdirSync(path.join(home.dataDirectory, 'nodes'), { recursive: true });
  return home;
}

for (const [says, flags, env, chosen, expected] of [
  ['processes are gone after another boot', [], {}, undefined, false],
  ['also when `auto` has chosen them', ['--runtime=auto'], {}, 'process', false],
  ['containers stay', ['--runtime=docker'], {}, undefined, true],
  ['containers that `auto` has chosen stay', ['--runtime=auto'], {}, 'cri', true],
  ['a choice that is not known may be containers', ['--runtime=auto'], {}, undefined, true],
  ['an endpoint is one of containers', ['--container-runtime-endpoint=unix:///a'], {}, undefined, true],
  ['the environment counts', [], { HOLDFAST_RUNTIME: 'docker' }, undefined, true],
  ['a flag counts more than the environment', ['--runtime=process'], { HOLDFAST_RUNTIME: 'docker' }, undefined, false],
] as const) {
  test(`pods that a killed server left: ${says}`, (t) => {
    const home = makeHome(t);
    if (chosen !== undefined) writeFileSync(path.join(home.dataDirectory, 'runtime'), `${chosen}\n`);
    const record = { ...newRecord('one', 0, '/'), flags };
    assert.equal(mayHavePods(home, { ...record, process: EARLIER }, env), expected);
    assert.equal(mayHavePods(home, { ...record, process: NOW }, env), true, 'in the same boot there may be some');
    assert.equal(mayHavePods(home, record, env), false, 'it was stopped');
  });
}
