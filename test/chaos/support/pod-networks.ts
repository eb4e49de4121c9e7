import assert from 'node:assert/strict';
import path from 'node:path';
import { DEPLOYMENTS, type Deployment, type Service as KubeService, PODS, type Pod, SERVICES } from '@holdfast/api';
import { kubectl } from '../../support/kubectl.ts';
import { waitFor } from '../../support/wait.ts';
import type { ComposeCluster } from './compose-cluster.ts';

/** Gives nodes of compose the rights that addresses of pods need. */
export const NETWORK_FILE = path.resolve(import.meta.dirname, '../../../docker-compose.network.yml');

const NAMESPACE = 'default';
const NAME = 'greeters';
const NODES = 3;
const DEADLINE_MS = 120_000;

/** All replicas listen on the same port, which only root may have on a machine. */
const GREETER = `require('node:http').createServer((_, answer) => {
  answer.end(process.env.NODE_NAME);
}).listen(80);`;

/**
 * Asks the service by its name until a pod of every node has answered, each at least once, and the API at the address of its
 * service. It ends well only then.
 */
const ASKER = `const heard = new Set();
const wait = () => new Promise((resolve) => setTimeout(resolve, 100));
const ask = (module, options) => new Promise((resolve) => {
  const request = module.get({ agent: false, timeout: 2000, ...options }, (answer) => {
    let said = '';
    answer.on('data', (chunk) => (said += chunk)).on('end', () => resolve(said));
  });
  request.on('timeout', () => request.destroy()).on('error', (error) => { last = error.message; resolve(''); });
});
let last = '';
(async () => {
  const giveUpAt = Date.now() + ${(DEADLINE_MS * 3) / 4};
  while (heard.size < ${NODES}) {
    const name = await ask(require('node:http'), { host: '${NAME}' });
    if (name !== '') heard.add(name);
    else await wait();
    if (Date.now() > giveUpAt) throw new Error('heard only ' + [...heard] + ': ' + last);
  }
  const api = { host: 'kubernetes.default.svc', path: '/version', ca: require('node:fs').readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/ca.crt') };
  while (!(await ask(require('node:https'), api)).includes('gitVersion')) {
    if (Date.now() > giveUpAt) throw new Error('the API did not answer: ' + last);
    await wait();
  }
  console.log('heard', [...heard].sort().join(' '));
})();`;

const labels = { app: NAME };

const greeters: Deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: NAME, namespace: NAMESPACE },
  status: {},
  spec: {
    replicas: NODES,
    selector: { matchLabels: labels },
    strategy: {},
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 1,
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: labels },
          },
        ],
        containers: [
          {
            name: 'main',
            image: 'greeter',
            resources: {},
            command: ['node', '-e', GREETER],
            env: [{ name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
          },
        ],
      },
    },
  },
};

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: NAME, namespace: NAMESPACE },
  spec: { selector: labels, ports: [{ port: 80 }] },
} as unknown as KubeService;

const asker = (name: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: NAMESPACE },
  status: {},
  spec: {
    restartPolicy: 'Never',
    containers: [{ name: 'main', image: 'asker', resources: {}, command: ['node', '-e', ASKER] }],
  },
});

export async function createGreeters({ admin }: ComposeCluster): Promise<void> {
  await admin.create(DEPLOYMENTS, greeters);
  await admin.create(SERVICES, service);
}

/** From one pod, by name: a pod of every node, at the address of their service, and the API at the address of its own. */
export async function assertServicesReachPods({ admin, kubeconfig }: ComposeCluster, name: string): Promise<void> {
  await admin.create(PODS, asker(name));
  const phase = async (): Promise<string | undefined> =>
    (await admin.get(PODS, { namespace: NAMESPACE, name })).status?.phase;
  const hasEnded = async (): Promise<boolean> => ['Succeeded', 'Failed'].includes((await phase()) ?? '');
  await waitFor('the asking pod to end', hasEnded, DEADLINE_MS);
  const said = await kubectl(kubeconfig, ['--namespace', NAMESPACE, 'logs', name]);
  assert.equal(said.trim(), 'heard node-1 node-2 node-3');
}

/** Each has an address of its own, in the part of its node. */
export async function assertOwnAddresses({ admin }: ComposeCluster): Promise<void> {
  const pods = (await admin.list(PODS, { namespace: NAMESPACE, labelSelector: `app=${NAME}` })).items;
  const addresses = pods.map(({ status }) => status?.podIP ?? '');
  assert.equal(new Set(addresses).size, NODES);
  assert.deepEqual(
    addresses.filter((address) => !address.startsWith('10.244.')),
    [],
  );
}
