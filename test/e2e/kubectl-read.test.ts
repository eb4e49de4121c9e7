import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, attempt, send, follow } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
  await run('create', 'deployment', 'web', '--image=busybox', '--replicas=2', '--', 'sleep', '3600');
  await run('rollout', 'status', 'deployment', 'web', '--timeout=60s');
});
after(() => cluster[Symbol.asyncDispose]());

const lines = (text: string): readonly string[] => text.trimEnd().split('\n');

test('get prints a table, wide, names, JSON, YAML, JSONPath, templates and custom columns', async () => {
  const [header = '', ...rows] = lines(await run('get', 'pods'));
  assert.match(header, /^NAME +READY +STATUS +RESTARTS +AGE$/);
  assert.equal(rows.length, 2);
  assert.match(
    await run('get', 'deploy', 'web', '-o', 'wide'),
    /CONTAINERS +IMAGES +SELECTOR\nweb .*busybox +busybox +app=web\n/,
  );
  assert.equal(await run('get', 'deploy', 'web', '-o', 'name'), 'deployment.apps/web\n');
  const json = JSON.parse(await run('get', 'pods', '-o', 'json')) as { kind: string; items: { kind: string }[] };
  assert.deepEqual([json.kind, json.items.map((each) => each.kind)], ['List', ['Pod', 'Pod']]);
  assert.match(await run('get', 'deploy', 'web', '-o', 'yaml'), /^apiVersion: apps\/v1\nkind: Deployment\nmetadata:\n/);
  assert.equal(await run('get', 'deploy', 'web', '-o', 'jsonpath={.spec.replicas}'), '2');
  assert.equal(await run('get', 'deploy', 'web', '-o', 'go-template={{.spec.replicas}}'), '2');
  assert.match(
    await run('get', 'deploy', '-o', 'custom-columns=WHO:.metadata.name,N:.spec.replicas'),
    /^WHO +N\nweb +2\n$/,
  );
});

test('get selects by labels and fields, sorts, shows labels and label columns', async () => {
  assert.equal(lines(await run('get', 'pods', '-l', 'app=web', '-o', 'name')).length, 2);
  assert.equal(
    (await attempt('get', 'pods', '-l', 'app notin (web)')).stderr,
    'No resources found in default namespace.\n',
  );
  assert.equal(lines(await run('get', 'pods', '--field-selector=status.phase=Running', '-o', 'name')).length, 2);
  assert.equal(await run('get', 'pods', '--field-selector=spec.nodeName=elsewhere', '-o', 'name'), '');
  assert.match(await run('get', 'pods', '--show-labels'), / +LABELS\nweb-\S+ .* app=web,pod-template-hash=/);
  assert.match(await run('get', 'pods', '-L', 'app'), / +APP\nweb-\S+ .* web\n/);
  const sorted = lines(await run('get', 'pods', '--sort-by=.metadata.name', '-o', 'name'));
  assert.deepEqual(sorted, sorted.toSorted());
  const unknown = await attempt('get', 'pods', '--field-selector=spec.color=red');
  assert.match(unknown.stderr, /^Error from server \(BadRequest\): .*field label not supported: spec.color/);
});

test('get all shows the objects of a Deployment, under the names of the kinds', async () => {
  const all = await run('get', 'all');
  for (const name of [/^pod\/web-/m, /^deployment.apps\/web /m, /^replicaset.apps\/web-/m]) assert.match(all, name);
});

test('get -w --output-watch-events prints ADDED, MODIFIED and DELETED', async () => {
  await run('create', 'configmap', 'watched', '--from-literal=a=1');
  await using watch = follow('get', 'cm', 'watched', '-w', '--output-watch-events');
  const printed = (event: RegExp): Promise<unknown> => waitFor(String(event), () => event.test(watch.printed));
  await printed(/^EVENT +NAME +DATA +AGE\nADDED +watched +1 /m);
  await run('patch', 'cm', 'watched', '-p', '{"data":{"b":"2"}}');
  await printed(/^MODIFIED +watched +2 /m);
  await run('delete', 'cm', 'watched');
  await printed(/^DELETED +watched +2 /m);
});

test('get -w of a selection reports an object that leaves it as deleted', async () => {
  await run('create', 'configmap', 'roaming');
  await using watch = follow('get', 'cm', '-l', 'at=home', '-w', '--output-watch-events', '--no-headers');
  await run('label', 'cm', 'roaming', 'at=home');
  await waitFor('it enters', () => /^ADDED +roaming /m.test(watch.printed));
  await run('label', 'cm', 'roaming', 'at=sea', '--overwrite');
  await waitFor('it leaves', () => /^DELETED +roaming /m.test(watch.printed));
});

test('a chunked list equals the list without chunks', async () => {
  const names = Array.from({ length: 23 }, (_, index) => `page-${String(index).padStart(2, '0')}`);
  const object = (name: string): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', labels: { book: 'one' } },
  });
  await send(['create'], ...names.map(object));
  for (const chunk of ['0', '5', '500']) {
    const listed = lines(await run('get', 'cm', '-l', 'book=one', `--chunk-size=${chunk}`, '-o', 'name'));
    assert.deepEqual(
      listed,
      names.map((name) => `configmap/${name}`),
    );
  }
  const traced = await attempt('get', 'cm', '-l', 'book=one', '--chunk-size=5', '-v=6', '-o', 'name');
  assert.equal(traced.stderr.match(/limit=5/g)?.length, 5);
});

test('events of an object are found by kubectl events --for and by field selectors', async () => {
  assert.match(
    await run('events', '--for', 'deployment/web'),
    /Normal +ScalingReplicaSet +Deployment\/web +Scaled up replica set web-\S+ from 0 to 2/,
  );
  const [pod = ''] = lines(await run('get', 'pods', '-o', 'jsonpath={.items[0].metadata.name}'));
  const reasons = ['Scheduled', 'Pulled', 'Created', 'Started'];
  const selected = await waitFor('the events of the pod', async () => {
    const table = await run('get', 'events', '--field-selector', `involvedObject.name=${pod},involvedObject.kind=Pod`);
    // Scheduler and kubelet write theirs when they come to it.
    return reasons.every((reason) => table.includes(reason)) && table;
  });
  assert.match(selected, /^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n/);
  for (const reason of reasons) assert.match(selected, new RegExp(`Normal +${reason} +pod/${pod} `));
});

test('explain shows types and fields, and reports a missing field', async () => {
  assert.match(
    await run('explain', 'deployment.spec.replicas'),
    /^GROUP: +apps\nKIND: +Deployment\nVERSION: +v1\n\nFIELD: replicas <integer>\n/,
  );
  assert.match(
    await run('explain', 'pod.spec.containers'),
    /FIELD: containers <\[\]Container>[\s\S]*\n {2}name\t<string> -required-\n/,
  );
  assert.match(await run('explain', 'pod', '--recursive'), /\n {6}livenessProbe\t<Probe>\n/);
  const unknown = await attempt('explain', 'deployment.spec.color');
  assert.equal(unknown.code, 1);
  assert.equal(unknown.stderr, 'error: field "color" does not exist\n');
});

test('api-resources and api-versions list the served resources', async () => {
  const resources = await run('api-resources');
  assert.match(resources, /^deployments +deploy +apps\/v1 +true +Deployment$/m);
  assert.match(resources, /^nodes +no +v1 +false +Node$/m);
  assert.match(
    await run('api-resources', '-o', 'wide'),
    /^pods +po +v1 +true +Pod +create,delete,deletecollection,get,list,patch,update,watch +all$/m,
  );
  assert.equal(
    lines(await run('api-resources', '--api-group=batch', '-o', 'name')).join(),
    'cronjobs.batch,jobs.batch',
  );
  const versions = lines(await run('api-versions'));
  for (const version of ['apps/v1', 'batch/v1', 'policy/v1', 'v1']) assert.ok(versions.includes(version), version);
});

test('cluster-info, version and the health paths answer', async () => {
  assert.match(await run('cluster-info'), /Kubernetes control plane.* is running at .*https:\/\/127\.0\.0\.1:\d+/);
  assert.match(await run('version'), /^Server Version: v1\.32\./m);
  assert.match(await run('get', '--raw', '/readyz?verbose'), /^\[\+\]ping ok\n[\s\S]*readyz check passed\n$/);
  assert.match(await run('get', '--raw', '/livez?verbose'), /livez check passed\n$/);
  assert.equal(await run('get', '--raw', '/healthz'), 'ok');
});

test('an unknown kind and an unknown object are reported differently', async () => {
  assert.equal((await attempt('get', 'gizmos')).stderr, 'error: the server doesn\'t have a resource type "gizmos"\n');
  assert.equal(
    (await attempt('get', 'cm', 'nobody')).stderr,
    'Error from server (NotFound): configmaps "nobody" not found\n',
  );
  assert.deepEqual(await attempt('get', 'cm', 'nobody', '--ignore-not-found'), { code: 0, stdout: '', stderr: '' });
});
