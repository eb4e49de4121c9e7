import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, attempt } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
});
after(() => cluster[Symbol.asyncDispose]());

test('auth whoami and can-i answer for the administrator and for others', async () => {
  assert.match(
    await run('auth', 'whoami'),
    /^ATTRIBUTE +VALUE\nUsername +admin\n[\s\S]*Groups +\[system:masters system:authenticated\]\n$/,
  );
  assert.equal(await run('auth', 'can-i', 'delete', 'nodes'), 'yes\n');
  const stranger = await attempt('auth', 'can-i', 'delete', 'nodes', '--as=stranger');
  assert.deepEqual([stranger.code, stranger.stdout], [1, 'no\n']);
  assert.match(
    await run('auth', 'can-i', '--list'),
    /^Resources +Non-Resource URLs +Resource Names +Verbs\n\*\.\* +\[\] +\[\] +\[\*\]\n/,
  );
});

test('a Role and its binding grant a service account exactly their rights', async () => {
  assert.equal(await run('create', 'serviceaccount', 'reader'), 'serviceaccount/reader created\n');
  const role = await run('create', 'role', 'pod-reader', '--verb=get,list', '--resource=pods,deployments.apps');
  assert.equal(role, 'role.rbac.authorization.k8s.io/pod-reader created\n');
  const binding = await run('create', 'rolebinding', 'readers', '--role=pod-reader', '--serviceaccount=default:reader');
  assert.equal(binding, 'rolebinding.rbac.authorization.k8s.io/readers created\n');
  const can = async (...args: readonly string[]): Promise<string> =>
    (await attempt('auth', 'can-i', ...args, '--as=system:serviceaccount:default:reader')).stdout.trim();
  assert.deepEqual(
    [
      await can('list', 'pods'),
      await can('get', 'deployments.apps'),
      await can('delete', 'pods'),
      await can('list', 'pods', '-n', 'kube-system'),
    ],
    ['yes', 'yes', 'no', 'no'],
  );
  assert.match(await run('describe', 'role', 'pod-reader'), / {2}deployments\.apps +\[\] +\[\] +\[get list\]\n/);
  assert.match(
    await run('describe', 'rolebinding', 'readers'),
    / {2}Kind: +Role\n {2}Name: +pod-reader\n[\s\S]*ServiceAccount +reader +default\n/,
  );
});

test('a token from create token authenticates its service account', async () => {
  await run('create', 'serviceaccount', 'speaker');
  const token = (await run('create', 'token', 'speaker', '--duration=10m')).trim();
  // An administrator's client certificate would win over the token: this one has no other credential.
  const bearer = ['--client-certificate=', '--client-key=', `--token=${token}`, '--server', cluster.ready.url];
  const anonymous = ['--kubeconfig=/dev/null', '--insecure-skip-tls-verify'];
  const who = await attempt('auth', 'whoami', ...anonymous, ...bearer);
  assert.match(who.stdout, /Username +system:serviceaccount:default:speaker\n/, who.stderr);
  const forbidden = await attempt('get', 'pods', ...anonymous, ...bearer);
  assert.equal(
    forbidden.stderr,
    'Error from server (Forbidden): pods is forbidden: User "system:serviceaccount:default:speaker" cannot list resource "pods" in API group "" in the namespace "default"\n',
  );
  const missing = await attempt('create', 'token', 'nobody');
  assert.match(missing.stderr, /serviceaccounts "nobody" not found/);
});

test('cluster roles and their bindings apply in every namespace', async () => {
  await run('create', 'clusterrole', 'node-reader', '--verb=get,list,watch', '--resource=nodes');
  await run('create', 'clusterrolebinding', 'node-readers', '--clusterrole=node-reader', '--group=watchers');
  const can = (verb: string): ReturnType<typeof attempt> =>
    attempt('auth', 'can-i', verb, 'nodes', '--as=somebody', '--as-group=watchers');
  assert.equal((await can('list')).stdout.trim(), 'yes');
  assert.equal((await can('delete')).stdout.trim(), 'no');
  await run('delete', 'clusterrolebinding', 'node-readers');
  await waitFor('the right is gone', async () => (await can('list')).stdout.trim() === 'no');
});

test('configmaps and secrets are created from literals and described', async () => {
  await run('create', 'configmap', 'colors', '--from-literal=sky=blue', '--from-literal=grass=green');
  // kubectl walks the entries in no particular order.
  const described = await run('describe', 'cm', 'colors');
  assert.match(described, /\nData\n====\n(grass|sky):\n/);
  for (const entry of ['grass:\n----\ngreen\n', 'sky:\n----\nblue\n']) assert.ok(described.includes(entry), described);
  await run('create', 'secret', 'generic', 'code', '--from-literal=word=sesame');
  assert.match(await run('get', 'secret', 'code'), /^NAME +TYPE +DATA +AGE\ncode +Opaque +1 +/);
  assert.match(await run('describe', 'secret', 'code'), /word: {2}6 bytes\n/);
  assert.equal(await run('get', 'secret', 'code', '-o', 'go-template={{.data.word | base64decode}}'), 'sesame');
  await run('create', 'secret', 'tls', 'bad', '--cert=/dev/null', '--key=/dev/null').then(
    () => assert.fail('an empty pair is no pair'),
    (error: unknown) => assert.match(String(error), /tls/),
  );
});

test('a namespace is described, filled and deleted with its content', async () => {
  assert.equal(await run('create', 'namespace', 'team'), 'namespace/team created\n');
  assert.match(
    await run('describe', 'ns', 'team'),
    /^Name: +team\nLabels: +kubernetes\.io\/metadata\.name=team\n[\s\S]*Status: +Active\n/,
  );
  await waitFor('its service account', async () =>
    (await run('get', 'sa', '-n', 'team', '-o', 'name')).includes('serviceaccount/default'),
  );
  await run('create', 'configmap', 'inside', '-n', 'team');
  assert.equal(await run('delete', 'namespace', 'team'), 'namespace "team" deleted\n');
  assert.equal((await attempt('get', 'cm', 'inside', '-n', 'team')).code, 1);
  const late = await attempt('create', 'configmap', 'late', '-n', 'team');
  assert.match(late.stderr, /namespaces "team" not found/);
});

test('a Service is exposed from a Deployment with its selector and port', async () => {
  await run('create', 'deployment', 'shop', '--image=busybox', '--replicas=0', '--', 'sleep', '1');
  assert.equal(await run('expose', 'deployment', 'shop', '--port=80', '--target-port=8080'), 'service/shop exposed\n');
  assert.match(
    await run('get', 'service', 'shop'),
    /^NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE\nshop +ClusterIP +\S+ +<none> +80\/TCP +/,
  );
  assert.match(await run('describe', 'service', 'shop'), /Selector: +app=shop\n[\s\S]*TargetPort: +8080\/TCP\n/);
});

test('quotas, limits, budgets, priority classes and ingresses are created by their short commands', async () => {
  assert.equal(
    await run('create', 'quota', 'small', '--hard=pods=2,requests.cpu=1', '-n', 'kube-public'),
    'resourcequota/small created\n',
  );
  assert.equal(await run('get', 'quota', 'small', '-n', 'kube-public', '-o', 'jsonpath={.spec.hard.pods}'), '2');
  const budget = await run('create', 'pdb', 'two', '--selector=app=two', '--min-available=2');
  assert.equal(budget, 'poddisruptionbudget.policy/two created\n');
  assert.match(
    await run('get', 'pdb', 'two'),
    /^NAME +MIN AVAILABLE +MAX UNAVAILABLE +ALLOWED DISRUPTIONS +AGE\ntwo +2 +N\/A +0 +/,
  );
  await run('create', 'priorityclass', 'urgent', '--value=1000', '--description=first');
  assert.match(await run('get', 'priorityclass', 'urgent'), /^urgent +1000 +false +/m);
  const ingress = await run('create', 'ingress', 'front', '--rule=shop.example.com/*=shop:80');
  assert.equal(ingress, 'ingress.networking.k8s.io/front created\n');
  assert.match(await run('get', 'ingress', 'front'), /^front +<none> +shop\.example\.com +80 +/m);
});
