import {
  type ApiServer,
  type AuditOptions,
  createApiServer,
  createDirectNodes,
  type DirectNodes,
} from '@holdfast/apiserver';
import type { Encryption } from '@holdfast/apiserver/encryption-setting';
import { historyOptions } from '@holdfast/apiserver/history';
import type { HttpsServer } from '@holdfast/apiserver/https';
import { createRelay } from '@holdfast/apiserver/relay';
import type { Bus } from '@holdfast/bus';
import { type ApiClient, type ApiTransport, createApiClient, createDirectTransport } from '@holdfast/client';
import type { Offers } from '@holdfast/console';
import type { FrontProxyPki } from '@holdfast/pki/cluster-pki';
import { ADMIN_USER, type Credential } from '@holdfast/pki/credentials';
import { type Clock, invariant, type Service } from '@holdfast/platform';
import type { Store } from '@holdfast/store';
import type { StartConfig } from '../config.ts';
import { type ConsoleEntrance, createConsoleEntrance } from './console-entrance.ts';
import type { Entrance } from './entrance.ts';
import type { Machine } from './machine.ts';
import { createPlacementHandler, PlacementDesk } from './placement.ts';
import type { PlayTools } from './play.ts';
import { createSecret } from './secret.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface ApiFrontDeps {
  readonly machine: Machine;
  /** Absent: the cluster lives on the clock of its machine. */
  readonly time: VirtualTime | undefined;
  readonly config: StartConfig;
  readonly store: Store;
  readonly bus: Bus;
  readonly entrance: Entrance;
  readonly credentials: ReadonlyMap<string, Credential>;
  /** PEM; signs the tokens of service accounts. */
  readonly serviceAccountKey: string;
  /** PEM of the authority that signs client certificates. */
  readonly clientCa: string;
  readonly audit: AuditOptions | undefined;
  /** The directory of a history on disk. */
  readonly historyDirectory: string | undefined;
  /** Authenticates this server to aggregated API servers. */
  readonly frontProxy: FrontProxyPki;
  readonly encryption: Encryption;
  /** See `ApiServerDeps`. */
  readonly ownNodes: ReadonlySet<string>;
  /** Absent: the cluster was not started for faults. */
  readonly play: PlayTools | undefined;
}

/** The API server with its relay and its HTTPS port, and access for the components of this process. */
export interface ApiFront {
  readonly apiServer: ApiServer;
  readonly https: HttpsServer;
  readonly services: readonly Service[];
  /** Returns a client of this identity that calls the request pipeline directly: same authentication, no network. */
  readonly clientOf: (user: string, incarnation?: string, way?: ClientWay) => ApiClient;
  /** The connections to the kubelets, which register themselves. */
  readonly nodes: DirectNodes;
  /** Where the scheduler tells why pods wait. */
  readonly placement: PlacementDesk;
  /** Leads the administrator's browser into the console, once. */
  readonly consolePath: () => string | undefined;
}

/** What is between a client and the request pipeline. */
export interface ClientWay {
  readonly around: (transport: ApiTransport) => ApiTransport;
  readonly clock: Clock;
}

export function createApiFront(deps: ApiFrontDeps): ApiFront {
  const { machine, config, store, bus, entrance, credentials } = deps;
  const users = [...credentials.values()].map(
    ({ token, user, groups }) => [token, { name: user, uid: user, groups }] as const,
  );
  const nodes = createDirectNodes();
  const apiServer = createApiServer({
    answers: entrance.answers,
    ...machine,
    store: deps.encryption.around(store),
    keyServices: deps.encryption.keys,
    nodes: (reader) => nodes.gateway(reader),
    features: config.features,
    allowPrivileged: config.allowPrivileged,
    optionalPlugins: config.optionalPlugins,
    tokens: new Map(users),
    serviceAccounts: { signingKey: deps.serviceAccountKey },
    clientCa: deps.clientCa,
    audit: deps.audit,
    history: config.history === undefined ? undefined : historyOptions(config.history, deps.historyDirectory),
    frontProxy: deps.frontProxy,
    ownNodes: deps.ownNodes,
    // Without our controllers nothing makes the volumes of this class.
    defaultStorageClass: config.defaultStorageClass && !config.without.has('controllers'),
  });
  // The relay sees encrypted values in stored form and publishes only their keys.
  const relay = createRelay({ ...machine, store, bus, knownState: apiServer.knownState });
  const { https } = entrance;
  const { play, time } = deps;
  const served = time?.around(apiServer.handle) ?? apiServer.handle;
  const placement = new PlacementDesk();
  const withPlacement = createPlacementHandler({
    desk: placement,
    handle: time?.watches(served) ?? served,
  });
  const handle = play?.createPlayHandler({ ...play, handle: withPlacement }) ?? withPlacement;
  const console = config.without.has('console')
    ? undefined
    : createConsoleEntrance({
        ...machine,
        clock: time?.real ?? machine.clock,
        handle,
        secret: createSecret,
        offers: offersOf(deps),
      });
  const entry = console?.handle ?? handle;
  entrance.leadTo(time?.fromOutside(entry) ?? entry);
  const transport = createDirectTransport(served);
  const clientOf = (user: string, incarnation?: string, way?: ClientWay): ApiClient => {
    const credential = credentials.get(user);
    invariant(credential !== undefined, 'every component has a credential', { user });
    return createApiClient({
      transport: way?.around(transport) ?? transport,
      token: credential.token,
      userAgent: userAgentOf(user),
      incarnation,
      clock: way?.clock ?? machine.clock,
    });
  };
  const services = [...deps.encryption.services, apiServer, relay, ...apiServer.shareAuthors(bus.notes), https];
  return { apiServer, https, services, clientOf, nodes, placement, consolePath: consolePathOf(console, credentials) };
}

/** What the page of the console learns beside the API. */
function offersOf({ config: { play }, time }: ApiFrontDeps): Offers {
  if (time === undefined) return { play };
  return {
    play,
    // Read anew for each answer.
    get now() {
      return time.clock.now();
    },
  };
}

function consolePathOf(console: ConsoleEntrance | undefined, credentials: ApiFrontDeps['credentials']) {
  const token = credentials.get(ADMIN_USER)?.token;
  return () => (token === undefined ? undefined : console?.link(token, ADMIN_USER));
}

/** The first part becomes the field manager of the component (`metadata.managedFields`), as in Kubernetes. */
function userAgentOf(user: string): string {
  const component = user.startsWith('system:node:') ? 'kubelet' : (user.split(':').at(-1) ?? user);
  return `${component}/holdfast`;
}
