import { createApiServer } from '@holdfast/apiserver';
import { createRelay } from '@holdfast/apiserver/relay';
import { createLocalBus } from '@holdfast/bus/local';
import {
  type ApiClient,
  type ApiHandler,
  type ApiResponse,
  createApiClient,
  createDirectTransport,
} from '@holdfast/client';
import { createControllerManager } from '@holdfast/controller-manager';
import { type ContainerRuntime, createKubelet, HOLLOW_PROBE_NETWORK, hollowNodeFacts } from '@holdfast/kubelet';
import { createHollowRuntime, type HollowProcessFact, type HollowRuntime } from '@holdfast/kubelet/hollow-runtime';
import { createIds, createSeededRandom, createSilentLog, createSystemClock, type Service } from '@holdfast/platform';
import { createScheduler } from '@holdfast/scheduler';
import { createMemoryStore } from '@holdfast/store/memory';
import { cuttable } from './cut-transport.ts';

const clock = createSystemClock();

export interface WireCall {
  /** The user of its credential. */
  readonly who: string;
  readonly method: string;
  readonly path: string;
}

export interface WholeNode {
  readonly machine: HollowRuntime;
  /** The starts and ends of processes, whatever the API has. */
  readonly facts: readonly HollowProcessFact[];
  /** Cuts this node off from the API, or heals it. */
  cut(isCut: boolean): void;
}

export interface WholeCluster extends AsyncDisposable {
  readonly admin: ApiClient;
  readonly nodes: Readonly<Record<string, WholeNode>>;
  /** Every request of every component. */
  readonly calls: readonly WireCall[];
  /** Requests that were refused for lack of permission. */
  readonly forbidden: readonly WireCall[];
}

export interface WholeClusterOptions {
  /** Instead of hollow machines. */
  readonly runtimeOf?: (node: string) => ContainerRuntime;
  readonly selfFencing?: 'exclusive' | 'all';
}

/** All of the control plane in this process, as it ships, with hollow nodes of these names. */
export async function startWholeCluster(
  nodeLabels: Readonly<Record<string, Readonly<Record<string, string>>>>,
  { runtimeOf, selfFencing }: WholeClusterOptions = {},
): Promise<WholeCluster> {
  const store = createMemoryStore();
  const bus = createLocalBus();
  const machineOf = (name: string) => {
    const random = createSeededRandom(11, name);
    return { clock, random, ids: createIds(random), log: createSilentLog() };
  };
  const server = createApiServer({ ...machineOf('apiserver'), store, tokens: usersOf(Object.keys(nodeLabels)) });
  const relay = createRelay({ store, bus, ...machineOf('relay'), knownState: server.knownState });
  const calls: WireCall[] = [];
  const forbidden: WireCall[] = [];
  const clientOf = (who: string, isCut = () => false): ApiClient => {
    const handle: ApiHandler = async (request) => {
      const answer = await server.handle(request);
      if (answer.status === 403 && LACKS_RIGHT.test(textOf(answer)))
        forbidden.push({ who, method: request.method, path: request.path });
      return answer;
    };
    const transport = cuttable(createDirectTransport(handle), isCut, ({ method, path }) =>
      calls.push({ who, method, path }),
    );
    return createApiClient({ transport, token: who, userAgent: `test/${who}` });
  };
  const clients = { manager: clientOf('manager'), podGc: clientOf('podGc') };
  const services: Service[] = [
    server,
    relay,
    createControllerManager({ ...machineOf('manager'), bus, clients }),
    createScheduler({ ...machineOf('scheduler'), bus, client: clientOf('scheduler') }),
  ];
  const nodes: Record<string, WholeNode> = {};
  for (const [name, labels] of Object.entries(nodeLabels)) {
    const facts: HollowProcessFact[] = [];
    let isCut = false;
    const machine = createHollowRuntime({ ...machineOf(name), nodeName: name, observe: (fact) => facts.push(fact) });
    const node = hollowNodeFacts({ name, address: '10.0.0.1', labels });
    const client = clientOf(`node-${name}`, () => isCut);
    const runtime = runtimeOf?.(name) ?? machine.connect();
    const parts = { client, runtime, node, network: HOLLOW_PROBE_NETWORK, selfFencing };
    services.push(createKubelet({ ...machineOf(`kubelet ${name}`), ...parts }));
    nodes[name] = { machine, facts, cut: (cut) => (isCut = cut) };
  }
  for (const service of services) await service.start();
  return {
    admin: clientOf('admin'),
    nodes,
    calls,
    forbidden,
    [Symbol.asyncDispose]: async () => {
      for (const service of services.toReversed()) await service.stop();
      await bus.close();
      await store.close();
    },
  };
}

/** Admission refuses with other messages, for example in a terminating namespace. */
const LACKS_RIGHT = /User \\"[^"]*\\" cannot /;
const textOf = ({ body }: ApiResponse): string => (body.kind === 'json' ? Buffer.from(body.bytes()).toString() : '');

interface TestUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
}

export function usersOf(nodeNames: readonly string[]): ReadonlyMap<string, TestUser> {
  const authenticated = 'system:authenticated';
  const account = 'system:serviceaccount:kube-system:pod-garbage-collector';
  const users = new Map<string, TestUser>([
    ['admin', { name: 'admin', groups: ['system:masters', authenticated] }],
    ['manager', { name: 'system:kube-controller-manager', groups: [authenticated] }],
    ['scheduler', { name: 'system:kube-scheduler', groups: [authenticated] }],
    ['podGc', { name: account, groups: ['system:serviceaccounts', authenticated] }],
  ]);
  for (const name of nodeNames) {
    users.set(`node-${name}`, { name: `system:node:${name}`, uid: name, groups: ['system:nodes', authenticated] });
  }
  return users;
}
