import { unreachable } from '@holdfast/platform';
import { NATS_MAX_PAYLOAD_BYTES } from '../limits.ts';
import { HEARTBEAT_SUBJECT, nodePodsPattern, subjectToken } from '../subjects.ts';
import { consumerNamesOf, nodeUserName } from './consumer-names.ts';
import { STREAM } from './jetstream-api.ts';
import { inboxPrefixOf } from './nats-bus.ts';
import { RESTART_SUBJECT, STREAM_SUBJECTS, SYSTEM_SUBJECTS, wireFilter } from './wire.ts';

/** The users of NATS. Only API servers publish. A node reads only the pods bound to it. */
export type NatsRole =
  | { readonly kind: 'apiserver' | 'scheduler' | 'controller-manager' }
  /** The API servers' access to the log that is their store. */
  | { readonly kind: 'store' }
  | { readonly kind: 'node'; readonly nodeName: string };

export interface NatsUser {
  readonly role: NatsRole;
  readonly password: string;
}

export interface NatsServerConfig {
  readonly host: string;
  readonly port: number;
  /** HTTP port for health checks. It has no access control. Absent means no port. */
  readonly monitoringPort?: number;
  /** Default: this machine only. */
  readonly monitoringHost?: string;
  /** Present: the server is one of several that replicate streams, and syncs to disk before it acknowledges. */
  readonly cluster?: NatsClusterConfig;
  readonly storeDir: string;
  readonly users: readonly NatsUser[];
  /**
   * With this set, the server refuses clients without TLS. With `clientCaFile` it also requires a client certificate of
   * that authority.
   */
  readonly tls?: { readonly certFile: string; readonly keyFile: string; readonly clientCaFile?: string };
}

export interface NatsClusterConfig {
  /** Unique in the cluster. */
  readonly serverName: string;
  /** Where the other servers connect. */
  readonly host: string;
  readonly port: number;
  /** `host:port` of every server, this one included. */
  readonly routes: readonly string[];
  readonly caFile: string;
}

export function natsUserName(role: NatsRole): string {
  return role.kind === 'node' ? nodeUserName(role.nodeName) : role.kind;
}

/**
 * Composes the configuration of a NATS server (2.9 or later) that gives each role exactly the permissions it needs.
 * JSON is valid there.
 */
export function natsServerConfig(config: NatsServerConfig): string {
  const { host, port, monitoringPort, monitoringHost = '127.0.0.1', tls, cluster } = config;
  const sections = {
    server_name: cluster?.serverName ?? 'holdfast',
    host,
    port,
    ...(monitoringPort === undefined ? {} : { http: `${monitoringHost}:${monitoringPort}` }),
    max_payload: NATS_MAX_PAYLOAD_BYTES,
    ping_interval: '10s',
    ping_max: 2,
    write_deadline: '5s',
    jetstream: { store_dir: config.storeDir, ...(cluster === undefined ? {} : { sync_interval: 'always' }) },
    ...(cluster === undefined ? {} : { cluster: clusterSection(cluster, tls) }),
    ...(tls === undefined ? {} : { tls: tlsSection(tls) }),
    authorization: {
      users: config.users.map(({ role, password }) => ({
        user: natsUserName(role),
        password,
        permissions: permissionsOf(role),
      })),
    },
  };
  return `${JSON.stringify(sections, undefined, 2)}\n`;
}

function tlsSection({ certFile, keyFile, clientCaFile }: NonNullable<NatsServerConfig['tls']>): object {
  const own = { cert_file: certFile, key_file: keyFile, timeout: TLS_HANDSHAKE_SECONDS };
  return clientCaFile === undefined ? own : { ...own, ca_file: clientCaFile, verify: true };
}

/** Servers authenticate each other by certificates of the cluster's authority. */
function clusterSection({ host, port, routes, caFile }: NatsClusterConfig, tls: NatsServerConfig['tls']): object {
  return {
    name: 'holdfast',
    host,
    port,
    routes: routes.map((route) => `nats-route://${route}`),
    no_advertise: true,
    ...(tls === undefined ? {} : { tls: { ...tlsSection(tls), ca_file: caFile } }),
  };
}

/** The server's default of half a second is too short for a busy machine that is starting. */
const TLS_HANDSHAKE_SECONDS = 5;

/** What subjects and streams of the log begin with (`@holdfast/store/log`). */
const LOG_NAME = 'HOLDFAST';

interface Permissions {
  readonly publish: { readonly allow: readonly string[]; readonly deny?: readonly string[] };
  readonly subscribe: { readonly allow: readonly string[] };
}

function permissionsOf(role: NatsRole): Permissions {
  const inbox = `${inboxPrefixOf(natsUserName(role))}.>`;
  const flowControl = `$JS.FC.${STREAM}.>`;
  switch (role.kind) {
    case 'apiserver':
      return {
        publish: {
          allow: [...STREAM_SUBJECTS, SYSTEM_SUBJECTS, ...streamOperations(), consumersOf('*', '>'), flowControl],
        },
        subscribe: { allow: [inbox, SYSTEM_SUBJECTS] },
      };
    case 'store':
      return {
        publish: {
          allow: [
            `${LOG_NAME}.>`,
            '$JS.API.STREAM.NAMES',
            '$JS.API.STREAM.*.*',
            '$JS.API.STREAM.MSG.GET.*',
            '$JS.API.CONSUMER.CREATE.*.*',
            '$JS.FC.>',
          ],
          deny: [...streamOperations(), `$JS.API.STREAM.MSG.GET.${STREAM}`, consumersOf('*', '>')],
        },
        subscribe: { allow: [inbox] },
      };
    case 'scheduler':
    case 'controller-manager':
      return {
        publish: { allow: [consumersOf('*', '>'), flowControl] },
        subscribe: { allow: [inbox, HEARTBEAT_SUBJECT, RESTART_SUBJECT] },
      };
    case 'node':
      return {
        publish: { allow: [...nodeConsumers(role), flowControl] },
        subscribe: { allow: [inbox, HEARTBEAT_SUBJECT, RESTART_SUBJECT] },
      };
    default:
      return unreachable(role);
  }
}

/** The server refuses a consumer whose filter differs from the one in the subject of the request. */
function consumersOf(name: string, filter: string): string {
  return `$JS.API.CONSUMER.CREATE.${STREAM}.${name}.${filter}`;
}

/**
 * A fixed set of names bounds the consumers that a stolen credential can create. The server takes the name from the
 * subject, not from the body.
 */
function nodeConsumers(role: NatsRole & { readonly kind: 'node' }): readonly string[] {
  const names = consumerNamesOf(natsUserName(role)) ?? [];
  return names.flatMap((name) => [
    consumersOf(name, ownPods(role.nodeName)),
    `$JS.API.CONSUMER.INFO.${STREAM}.${name}`,
    `$JS.API.CONSUMER.DELETE.${STREAM}.${name}`,
  ]);
}

function ownPods(nodeName: string): string {
  return wireFilter([nodePodsPattern(nodeName)]) ?? subjectToken(nodeName);
}

function streamOperations(): readonly string[] {
  return ['CREATE', 'UPDATE', 'INFO', 'PURGE', 'DELETE'].map((operation) => `$JS.API.STREAM.${operation}.${STREAM}`);
}
