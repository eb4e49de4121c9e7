import { DEFAULT_FEATURES, type Features, NODES, type Node, PODS, type Pod } from '@holdfast/api';
import { createApiServer } from '@holdfast/apiserver';
import {
  type ApiClient,
  type ApiHandler,
  type ApiRequest,
  createApiClient,
  createDirectTransport,
} from '@holdfast/client';
import { type ContainerRuntime, createKubelet, HOLLOW_PROBE_NETWORK, hollowNodeFacts } from '@holdfast/kubelet';
import { createHollowRuntime, type HollowProcessFact, type HollowRuntime } from '@holdfast/kubelet/hollow-runtime';
import {
  type Clock,
  createIds,
  createSeededRandom,
  createSilentLog,
  createSystemClock,
  type Service,
} from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { createMemoryStore } from '@holdfast/store/memory';
import { cuttable } from './cut-transport.ts';

export const clock: Clock = createSystemClock();
const random = createSeededRandom(1, 'kubelet-cluster');
const log = createSilentLog();

/** The requests of one node, in order. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

export interface KubeletCluster {
  readonly handle: ApiHandler;
  readonly admin: ApiClient;
  stop(): Promise<void>;
}

/** An API server alone: what only a test needs of scheduler and controllers it does by hand. */
export async function startApi(features: Partial<Features> = {}): Promise<KubeletCluster> {
  const server = createApiServer({
    store: createMemoryStore(),
    clock,
    ids: createIds(random),
    log,
    features: { ...DEFAULT_FEATURES, ...features },
    tokens: new Map([
      ['admin', { name: 'admin', uid: 'admin', groups: ['system:masters'] }],
      ['node-n1', { name: 'system:node:n1', uid: 'n1', groups: ['system:nodes'] }],
    ]),
  });
  await server.start();
  const transport = createDirectTransport(server.handle);
  const admin = createApiClient({ transport, token: 'admin', userAgent: 'test' });
  return { handle: server.handle, admin, stop: () => server.stop() };
}

export interface HollowNode {
  readonly kubelet: Service;
  readonly machine: HollowRuntime;
  readonly facts: HollowProcessFact[];
  readonly wire: WireRequest[];
  /** Cuts this node off from the API, or heals it. */
  cut(isCut: boolean): void;
  /** Ends this kubelet as a kill does and starts the next one on the same machine. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startHollowNode(
  handle: ApiHandler,
  wrap: (runtime: ContainerRuntime) => ContainerRuntime = (runtime) => runtime,
): Promise<HollowNode> {
  const facts: HollowProcessFact[] = [];
  const wire: WireRequest[] = [];
  const observe = (fact: HollowProcessFact): number => facts.push(fact);
  const machine = createHollowRuntime({ clock, random, nodeName: 'n1', observe });
  let isCut = false;
  const boot = async (): Promise<{ kubelet: Service; end: () => Promise<void> }> => {
    const runtime = wrap(machine.connect());
    const transport = cuttable(
      createDirectTransport(handle),
      () => isCut,
      (request) => void wire.push(recorded(request)),
    );
    const client = createApiClient({ transport, token: 'node-n1', userAgent: 'kubelet' });
    const node = hollowNodeFacts({ name: 'n1', address: '10.0.0.1' });
    const kubelet = createKubelet({
      client,
      runtime,
      network: HOLLOW_PROBE_NETWORK,
      node,
      clock,
      random,
      ids: createIds(random),
      log,
    });
    await kubelet.start();
    const end = async (): Promise<void> => {
      await runtime.close();
      await kubelet.stop();
    };
    return { kubelet, end };
  };
  let current = await boot();
  return {
    get kubelet() {
      return current.kubelet;
    },
    machine,
    facts,
    wire,
    cut: (cut) => {
      isCut = cut;
    },
    restart: async () => {
      await current.end();
      current = await boot();
    },
    stop: () => current.end(),
  };
}

function recorded({ method, path, body }: ApiRequest): WireRequest {
  return { method, path, body: typeof body === 'string' ? JSON.parse(body) : undefined };
}

export function podManifest(name: string, spec: Partial<Pod['spec']> = {}): Pod {
  const containers = [{ name: 'main', image: 'busybox:1.36', command: ['stay'], resources: {} }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { containers, nodeName: 'n1', ...spec },
    status: {},
  };
}

export const withCommand = (command: string[]): Pod['spec']['containers'] => [
  { name: 'main', image: 'busybox:1.36', command, resources: {} },
];

export const getPod = (client: ApiClient, name: string): Promise<Pod | undefined> =>
  client.find(PODS, { namespace: 'default', name });

export { eventually };

export const podWhere = (client: ApiClient, name: string, holds: (pod: Pod) => boolean, what: string): Promise<Pod> =>
  eventually(async () => {
    const pod = await getPod(client, name);
    return pod !== undefined && holds(pod) && pod;
  }, `pod ${name}: ${what}`);

export const running = (client: ApiClient, name: string): Promise<Pod> =>
  podWhere(client, name, (pod) => pod.status.phase === 'Running', 'runs');

export const gone = (client: ApiClient, name: string, uid: string | undefined): Promise<true> =>
  eventually(async () => (await getPod(client, name))?.metadata.uid !== uid, `pod ${name} (${uid}) is gone`);

export const nodeReady = (client: ApiClient, name = 'n1'): Promise<Node> =>
  eventually(async () => {
    const node = await client.find(NODES, { name });
    return node?.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true && node;
  }, `node ${name} is ready`);
