import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { parseTime } from '@holdfast/platform';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

const PLAY = '/holdfast.io/play/v1';
let cluster: HoldfastProcess;
const { run, attempt, follow } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--play', '--clock=virtual']);
});
after(() => cluster?.[Symbol.asyncDispose]());

const post = async (what: string, body: object): Promise<string> => {
  const file = path.join(cluster.dataDir, 'body.json');
  writeFileSync(file, JSON.stringify(body));
  return run('create', '--raw', `${PLAY}/${what}`, '-f', file);
};

const advance = (duration: string): Promise<string> => post('advance', { duration });

const now = async (): Promise<number> => {
  const { clock } = JSON.parse(await run('get', '--raw', PLAY)) as { readonly clock: { readonly now: string } };
  return parseTime(clock.now) ?? 0;
};

/** The kubeconfig without its credential: another one is used in its place. */
function keyless(): string {
  const file = path.join(cluster.dataDir, 'keyless');
  writeFileSync(file, readFileSync(cluster.ready.kubeconfig, 'utf8').replaceAll(/^ +token: .*$/gm, ''));
  return file;
}

const podsOf = async (app: string, path: string): Promise<string> =>
  run('get', 'pods', '-l', `app=${app}`, '-o', `jsonpath={.items[*]${path}}`);

test('time stands still until it is advanced: a deployment starts, and a lost node is replaced, in no time', async () => {
  const began = await now();
  await run('create', 'deployment', 'web', '--image=nginx', '--replicas=3');
  await advance('10s');
  assert.equal(await now(), began + 10_000);
  assert.equal(await podsOf('web', '.status.phase'), 'Running Running Running');
  await post('faults', { do: 'kubelet-down', target: 'hollow-1' });
  for (let minutes = 0; minutes < 7; minutes++) await advance('1m');
  assert.equal(await now(), began + 430_000);
  const ready = await run('get', 'node', 'hollow-1', '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}');
  assert.equal(ready, 'Unknown');
  const nodes = (await podsOf('web', '.spec.nodeName')).split(' ').filter((name) => name !== 'hollow-1');
  assert.ok(nodes.length >= 3, nodes.join(' '));
  assert.match(await run('get', 'deployment', 'web'), /\b3\/3\b/);
});

test('what people hold lives on: a watch outlasts hours that pass, a token ends when its time has passed', async () => {
  await using watch = follow('get', 'configmaps', '--watch-only', '-o', 'name');
  const begins = `/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=1`;
  await run('get', '--raw', begins); // It ends by the clock of this machine.
  const token = (await run('create', 'token', 'default', '--duration=2h')).trim();
  const whoami = () => attempt('auth', 'whoami', '--token', token, '--kubeconfig', keyless());
  let count = 0;
  await waitFor('the watch', async () => {
    await run('create', 'configmap', `seen-${++count}`);
    return watch.printed.includes('configmap/seen');
  });
  await advance('1h');
  assert.match((await whoami()).stdout, /system:serviceaccount:default:default/);
  await advance('1h');
  await advance('1m');
  await run('create', 'configmap', 'late');
  await waitFor('the change', () => watch.printed.includes('configmap/late'));
  assert.notEqual((await whoami()).code, 0);
  const signedIn = await run('get', '--raw', '/ui/');
  assert.match(signedIn, /<html/);
});

test('the cluster stops at once, although nobody advances its time any more', async () => {
  await run('delete', 'deployment', 'web', '--wait=false');
  const code = await cluster.stop();
  assert.equal(code, 0);
});

test('a cluster on the clock of its machine says so', async () => {
  const plain = await HoldfastProcess.start(['--memory', '--nodes', '0', '--play']);
  try {
    const theirs = createKubectl(() => plain.ready.kubeconfig);
    const { clock } = JSON.parse(await theirs.run('get', '--raw', PLAY)) as {
      readonly clock: { readonly kind: string };
    };
    assert.equal(clock.kind, 'real');
    const file = path.join(plain.dataDir, 'body.json');
    writeFileSync(file, JSON.stringify({ duration: '1m' }));
    await assert.rejects(theirs.run('create', '--raw', `${PLAY}/advance`, '-f', file), /clock of its machine/);
  } finally {
    await plain[Symbol.asyncDispose]();
  }
});
