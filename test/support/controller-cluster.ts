import { createApiServer } from '@holdfast/apiserver';
import { createRelay } from '@holdfast/apiserver/relay';
import { createLocalBus } from '@holdfast/bus/local';
import { type ApiClient, createApiClient, createDirectTransport } from '@holdfast/client';
import {
  type ControllerManagerDeps,
  type ControllerManagerSettings,
  createControllerManager,
} from '@holdfast/controller-manager';
import { createIds, createSeededRandom, createSilentLog, createSystemClock, type Log } from '@holdfast/platform';
import { createMemoryStore } from '@holdfast/store/memory';

const ACCOUNTS: readonly string[] = ['system:serviceaccounts', 'system:authenticated'];
const USERS = new Map([
  ['admin', { name: 'admin', groups: ['system:masters', 'system:authenticated'] }],
  ['manager', { name: 'system:kube-controller-manager', groups: ['system:authenticated'] }],
  ['podGc', { name: 'system:serviceaccount:kube-system:pod-garbage-collector', groups: ACCOUNTS }],
]);

export interface TestCluster extends AsyncDisposable {
  /** A client with all permissions. */
  readonly admin: ApiClient;
  readonly manager: ApiClient;
  readonly podGc: ApiClient;
}

/** An API server with its relay and bus in this process, and controllers that work through it. No nodes. */
export async function startCluster(
  options: {
    readonly managers?: number;
    readonly log?: Log;
    readonly settings?: Partial<ControllerManagerSettings>;
    readonly metricsSource?: NonNullable<ControllerManagerDeps['metricsSource']>;
  } = {},
): Promise<TestCluster> {
  const clock = createSystemClock();
  const random = createSeededRandom(7, 'controllers');
  const machine = { clock, random, ids: createIds(random), log: options.log ?? createSilentLog() };
  const store = createMemoryStore();
  const bus = createLocalBus();
  const apiServer = createApiServer({ ...machine, store, tokens: USERS });
  const relay = createRelay({ store, bus, ...machine, knownState: apiServer.knownState });
  const transport = createDirectTransport(apiServer.handle);
  const clientOf = (token: string): ApiClient => createApiClient({ transport, token, userAgent: `test/${token}` });
  const clients = { manager: clientOf('manager'), podGc: clientOf('podGc') };
  const metrics = options.metricsSource === undefined ? {} : { metricsSource: options.metricsSource };
  const managers = Array.from({ length: options.managers ?? 1 }, () =>
    createControllerManager({ ...machine, ...metrics, bus, clients, settings: options.settings ?? {} }),
  );
  for (const service of [apiServer, relay, ...managers]) await service.start();
  return {
    admin: clientOf('admin'),
    ...clients,
    [Symbol.asyncDispose]: async () => {
      for (const service of [...managers, relay, apiServer]) await service.stop();
      await bus.close();
      await store.close();
    },
  };
}
