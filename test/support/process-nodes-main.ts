import { once } from 'node:events';
import { PODS } from '@holdfast/api';
import { startCluster } from '@holdfast/cluster';

/** A program with a cluster of process nodes: says when a pod runs that ignores the stop signal, and stops when it gets a line. */
const cluster = await startCluster({ processNodes: 2 });
const command = ['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'];
await cluster.client.create(PODS, {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'stubborn', namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'app', command: [...command, process.argv[2] ?? ''], resources: {} }] },
  status: {},
});
await cluster.until(async () => {
  const pod = await cluster.client.get(PODS, { namespace: 'default', name: 'stubborn' });
  return pod.status?.phase === 'Running';
});
process.stdout.write('running\n');
await once(process.stdin, 'data');
await cluster.stop();
