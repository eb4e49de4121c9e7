import {
  type ApiServer,
  createApiServer,
  createDirectNodes,
  type DirectNodes,
  type SharedStates,
} from '@holdfast/apiserver';
import { historyOptions } from '@holdfast/apiserver/history';
import { createRelay } from '@holdfast/apiserver/relay';
import type { Bus } from '@holdfast/bus';
import { createLocalBus } from '@holdfast/bus/local';
import { type ApiClient, type ApiHandler, createApiClient, createDirectTransport } from '@holdfast/client';
import { createControllerManager } from '@holdfast/controller-manager';
import {
  CERTIFICATE_CONTROLLER_USER,
  CONTROLLER_MANAGER_USER,
  POD_GC_USER,
  SCHEDULER_USER,
} from '@holdfast/pki/credentials';
import { opened, Running, type Service } from '@holdfast/platform';
import { createScheduler } from '@holdfast/scheduler';
import type { Store } from '@holdfast/store';
import { CLUSTER_HISTORY } from './history.ts';
import { tokenSignerOf } from './keys.ts';
import type { Machine } from './machines.ts';
import { type ClusterConfig, nodeNames } from './options.ts';
import { type ClusterKeys, clientAuthorities } from './state.ts';
import type { ClusterUsers } from './users.ts';

export interface ControlPlaneDeps {
  readonly config: ClusterConfig;
  readonly machineOf: (name: string) => Machine;
  readonly store: Store;
  readonly users: ClusterUsers;
  readonly keys: ClusterKeys;
  /** The store has what an API server of this version writes at its start. */
  readonly hasSystemObjects: boolean;
  readonly sharedStates: SharedStates | undefined;
  /** Sees every request of a component and of a user, for example to know when all are answered. */
  readonly around: (handle: ApiHandler) => ApiHandler;
  /** Around the client of a component that decides. */
  readonly aroundClient: (client: ApiClient, user: string) => ApiClient;
  /** Resolves when nothing happens any more before time passes. */
  readonly rest: () => Promise<void>;
  /** Creates the nodes of this control plane. */
  readonly nodesOf: (plane: NodePlane) => readonly Service[];
}

/** What the nodes of a control plane need of it. */
export interface NodePlane {
  readonly bus: Bus;
  readonly nodes: DirectNodes;
  readonly clientOf: (user: string) => ApiClient;
}

/** The components of a cluster over one store. They end together, and others can start on a copy of the store. */
export interface ControlPlane extends Service {
  readonly handle: ApiHandler;
  readonly apiServer: ApiServer;
  readonly store: Store;
}

/** Composes the shipping classes in this process. The components call the request pipeline directly. */
export function createControlPlane(deps: ControlPlaneDeps): ControlPlane {
  const { config, machineOf, store, users, keys } = deps;
  const bus = createLocalBus();
  const nodes = createDirectNodes();
  const apiServer = createApiServer({
    ...machineOf('apiserver'),
    store,
    nodes: (reader) => nodes.gateway(reader),
    features: config.features,
    tokens: users.tokens,
    serviceAccounts: {
      signingKey: tokenSignerOf(keys),
      ...(keys.serviceAccountIssuer === undefined ? {} : { issuer: keys.serviceAccountIssuer }),
    },
    serviceAccountAdmission: !config.without.has('serviceAccountAdmission'),
    clientCa: clientAuthorities(keys),
    hasSystemObjects: deps.hasSystemObjects,
    sharedStates: deps.sharedStates,
    ownNodes: new Set(nodeNames(config)),
    defaultStorageClass: false,
    history: historyOptions(CLUSTER_HISTORY, undefined),
    ...(config.serviceNetwork === undefined ? {} : { serviceNetwork: config.serviceNetwork }),
  });
  const relay = createRelay({ ...machineOf('relay'), store, bus, knownState: apiServer.knownState });
  const handle = deps.around(apiServer.handle);
  const transport = createDirectTransport(handle);
  const clientOf = (user: string): ApiClient => {
    const { clock } = machineOf(user);
    return createApiClient({ transport, token: users.tokenOf(user), userAgent: userAgentOf(user), clock });
  };
  const decidingClientOf = (user: string): ApiClient => deps.aroundClient(clientOf(user), user);
  const running = new Running(machineOf('lifecycle'));
  const start = async (): Promise<void> => {
    running.add(opened('store', () => store.close()));
    running.add(opened('bus', () => bus.close()));
    // The relay makes sense only once the API server serves.
    await running.start(apiServer);
    await running.start(relay);
    // One after the other: what one writes does not depend on how fast the lists of another come.
    for (const decider of createDeciders(deps, bus, decidingClientOf)) {
      await running.start(decider);
      await deps.rest();
    }
    const machines = deps.nodesOf({ bus, nodes, clientOf });
    running.add(...machines);
    await Promise.all(machines.map((machine) => machine.start()));
  };
  return {
    name: 'control plane',
    handle,
    apiServer,
    store,
    start: () => running.begin(start),
    stop: () => running.stop(),
  };
}

function createDeciders(
  { config, machineOf, keys: { pki } }: ControlPlaneDeps,
  bus: Bus,
  clientOf: NodePlane['clientOf'],
): readonly Service[] {
  const scheduler = (): Service =>
    createScheduler({
      ...machineOf('scheduler'),
      bus,
      client: clientOf(SCHEDULER_USER),
      podPriority: config.features.podPriority,
      leaderElection: false,
    });
  const controllers = (): Service =>
    createControllerManager({
      ...machineOf('controller-manager'),
      bus,
      clients: {
        manager: clientOf(CONTROLLER_MANAGER_USER),
        podGc: clientOf(POD_GC_USER),
        certificates: clientOf(CERTIFICATE_CONTROLLER_USER),
      },
      settings: {
        leaderElection: false,
        controllers: config.controllers,
        ...(config.nodeMonitorGraceSeconds === undefined
          ? {}
          : { nodeMonitorGraceSeconds: config.nodeMonitorGraceSeconds }),
        rootCa: pki.caCertificate,
        signingAuthority: { certificate: pki.caCertificate, key: pki.caKey },
      },
    });
  return [
    ...(config.without.has('controllers') ? [] : [controllers()]),
    ...(config.without.has('scheduler') ? [] : [scheduler()]),
  ];
}

/** The first part becomes the field manager of the component, as in Kubernetes. */
function userAgentOf(user: string): string {
  const component = user.startsWith('system:node:') ? 'kubelet' : (user.split(':').at(-1) ?? user);
  return `${component}/holdfast`;
}
