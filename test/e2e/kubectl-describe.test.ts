import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, send } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
  await run('create', 'deployment', 'web', '--image=busybox', '--', 'sleep', '3600');
  await run('rollout', 'status', 'deployment', 'web', '--timeout=60s');
});
after(() => cluster[Symbol.asyncDispose]());

const described = (what: string, name: string, ...expected: readonly RegExp[]): Promise<string> =>
  waitFor(`describe ${what} ${name} shows all`, async () => {
    const text = await run('describe', what, name);
    for (const each of expected) assert.match(text, each);
    return text;
  });

test('describe pod shows node, containers, conditions, volumes, class and events', async () => {
  const name = await run('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[0].metadata.name}');
  await described(
    'pod',
    name,
    /^Name: +web-\S+\nNamespace: +default\nPriority: +0\nService Account: +default\nNode: +node-1\/\S+\nStart Time: /,
    /^Status: +Running\nIP: +\S+$/m,
    /^Controlled By: +ReplicaSet\/web-\S+$/m,
    /^ {2}busybox:\n {4}Container ID: +process:\/\/\S+\n {4}Image: +busybox\n/m,
    /^ {4}Command:\n {6}sleep\n {6}3600\n {4}State: +Running\n {6}Started: /m,
    /^ {2}PodReadyToStartContainers +True *\n {2}Initialized +True *\n {2}Ready +True *\n {2}ContainersReady +True *\n {2}PodScheduled +True *\n/m,
    /\/var\/run\/secrets\/kubernetes\.io\/serviceaccount from kube-api-access-\S+ \(ro\)/,
    /^QoS Class: +BestEffort$/m,
    /node\.kubernetes\.io\/not-ready:NoExecute op=Exists for 300s/,
    /Normal +Scheduled +\S+ +default-scheduler +Successfully assigned default\/web-\S+ to node-1/,
    /Normal +Pulled +\S+ +kubelet +Container image "busybox" already present on machine/,
    /Normal +Created +\S+ +kubelet +Created container: busybox/,
    /Normal +Started +\S+ +kubelet +Started container busybox/,
  );
});

test('describe pod shows why a pod waits and why a container fails', async () => {
  const overrides = JSON.stringify({ spec: { nodeSelector: { color: 'none' } } });
  await run('run', 'waiting', '--image=busybox', `--overrides=${overrides}`, '--command', '--', 'sleep', '3600');
  await described(
    'pod',
    'waiting',
    /^Status: +Pending$/m,
    /Warning +FailedScheduling +.*0\/1 nodes are available: 1 node\(s\) didn't match Pod's node affinity\/selector\./,
  );
  await run('run', 'failing', '--image=busybox', '--restart=Never', '--command', '--', 'sh', '-c', 'exit 3');
  await described(
    'pod',
    'failing',
    /^Status: +Failed$/m,
    /^ {4}State: +Terminated\n {6}Reason: +Error\n {6}Exit Code: +3\n/m,
  );
  assert.match(await run('get', 'pod', 'failing'), /^failing +0\/1 +Error +0 /m);
});

test('a container that repeatedly ends is shown with its restarts and CrashLoopBackOff', async () => {
  await run('run', 'crashing', '--image=busybox', '--command', '--', 'sh', '-c', 'exit 1');
  await waitFor('back-off', async () =>
    /^crashing +0\/1 +CrashLoopBackOff +[1-9]/m.test(await run('get', 'pod', 'crashing')),
  );
  await described(
    'pod',
    'crashing',
    /Reason: +CrashLoopBackOff\n/,
    /Last State: +Terminated\n/,
    /Warning +BackOff +.*Back-off restarting failed container crashing in pod crashing_default/,
  );
});

test('describe deployment and replicaset show counts, strategy, template, conditions and events', async () => {
  await described(
    'deployment',
    'web',
    /^Selector: +app=web\nReplicas: +1 desired \| 1 updated \| 1 total \| 1 available \| 0 unavailable\nStrategyType: +RollingUpdate\n/m,
    /^RollingUpdateStrategy: +25% max unavailable, 25% max surge$/m,
    /^ {2}Available +True +MinimumReplicasAvailable\n {2}Progressing +True +NewReplicaSetAvailable$/m,
    /^OldReplicaSets: +<none>\nNewReplicaSet: +web-\S+ \(1\/1 replicas created\)$/m,
    /Normal +ScalingReplicaSet +\S+ +deployment-controller +Scaled up replica set web-\S+ from 0 to 1/,
  );
  const name = await run('get', 'rs', '-l', 'app=web', '-o', 'jsonpath={.items[0].metadata.name}');
  await described(
    'rs',
    name,
    /^Controlled By: +Deployment\/web\nReplicas: +1 current \/ 1 desired\nPods Status: +1 Running \/ 0 Waiting \/ 0 Succeeded \/ 0 Failed$/m,
    /Normal +SuccessfulCreate +\S+ +replicaset-controller +Created pod: web-\S+/,
  );
});

test('describe statefulset and daemonset show their pods and their update strategy', async () => {
  const labels = { app: 'set' };
  const containers = [{ name: 'main', image: 'busybox', command: ['sleep', '3600'] }];
  const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers } };
  const set = (kind: string, more: object): object => ({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'set', namespace: 'default' },
    spec: { selector: { matchLabels: labels }, template, ...more },
  });
  await send(['create'], set('StatefulSet', { serviceName: 'set', replicas: 2 }));
  await described(
    'statefulset',
    'set',
    /^Replicas: +2 desired \| 2 total\nUpdate Strategy: +RollingUpdate\n {2}Partition: +0\nPods Status: +2 Running /m,
    /Normal +SuccessfulCreate +\S+ +statefulset-controller +create Pod set-1 in StatefulSet set successful/,
  );
  await run('delete', 'statefulset', 'set', '--cascade=foreground');
  await send(['create'], set('DaemonSet', {}));
  await described(
    'daemonset',
    'set',
    /^Desired Number of Nodes Scheduled: 1\nCurrent Number of Nodes Scheduled: 1\n/m,
    /^Number of Nodes Scheduled with Available Pods: 1$/m,
    /Normal +SuccessfulCreate +\S+ +daemonset-controller +Created pod: set-\S+/,
  );
});
