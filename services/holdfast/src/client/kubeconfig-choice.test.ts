import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { ClusterHome, newRecord } from '../local/cluster-home.ts';
import { kubeconfigFile, type Wish } from './kubeconfig-choice.ts';

const NOTHING = { kubeconfig: undefined, name: undefined };

test('the flag overrides KUBECONFIG; several files are refused', () => {
  assert.equal(kubeconfigFile({ ...NOTHING, kubeconfig: 'a' }, { KUBECONFIG: 'b' }), 'a');
  assert.equal(kubeconfigFile(NOTHING, { KUBECONFIG: 'b' }), 'b');
  const several = { KUBECONFIG: ['a', 'b'].join(path.delimiter) };
  assert.throws(() => kubeconfigFile(NOTHING, several), /several files/);
});

test('without a file the only cluster of `up` is meant; of several one has to be named', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-choice-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const env = { XDG_STATE_HOME: path.join(folder, 'state') };
  const choose = (wish: Partial<Wish> = {}): string => kubeconfigFile({ ...NOTHING, ...wish }, env, folder);
  const recorded = (name: string): ClusterHome => {
    const home = new ClusterHome(name, env);
    home.write(newRecord(name, 0, '/'));
    return home;
  };
  const made = (name: string): string => {
    const home = recorded(name);
    mkdirSync(home.dataDirectory);
    writeFileSync(home.kubeconfig, '');
    return home.kubeconfig;
  };
  assert.throws(() => choose(), /there is no cluster here/);
  assert.throws(() => choose({ name: 'one' }), /there is no cluster "one"/);
  recorded('one');
  for (const wish of [{}, { name: 'one' }])
    assert.throws(() => choose(wish), {
      message: /"one" has no kubeconfig yet/,
      nextStep: /holdfast status --name one/,
    });
  const one = made('one');
  assert.equal(choose(), one);
  const two = made('two');
  assert.throws(() => choose(), /several clusters of `up`: one, two/);
  assert.equal(choose({ name: 'two' }), two);
  assert.throws(() => choose({ kubeconfig: 'a', name: 'two' }), /both name a cluster/);
  const own = path.join(folder, '.holdfast/kubeconfig');
  mkdirSync(path.dirname(own));
  writeFileSync(own, '');
  assert.equal(choose(), own);
});
