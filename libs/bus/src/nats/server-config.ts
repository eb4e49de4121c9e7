import { unreachable } from '@holdfast/platform';
import { NATS_MAX_PAYLOAD_BYTES } from '../limits.ts';
import { HEARTBEAT_SUBJECT, nodePodsPattern, subjectToken } from '../subjects.ts';
import { consumerNamesOf, nodeUserName } from './consumer-names.ts';
import { STREAM } from './jetstream-api.ts';
import { inboxPrefixOf } from './nats-bus.ts';
import { RESTART_SUBJECT, STREAM_SUBJECTS, SYSTEM_SUBJECTS, wireFilter } from './wire.ts';

/** Who connects to NATS. Only apiservers publish; a node reads nothing but the pods bound to it. */
export type NatsRole =
  | { readonly kind: 'apiserver' | 'scheduler' | 'controller-manager' }
  | { readonly kind: 'node'; readonly nodeName: string };

export interface NatsUser {
  readonly role: NatsRole;
  readonly password: string;
}

export interface NatsServerConfig {
  readonly host: string;
  readonly port: number;
  /** HTTP port for health checks from the same machine: it tells everybody about everybody. Absent = none. */
  readonly monitoringPort?: number;
  readonly storeDir: string;
  readonly users: readonly NatsUser[];
  /** Then nobody is served in the clear. `clientCaFile`: nor without a certificate of that authority. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string; readonly clientCaFile?: string };
}

export function natsUserName(role: NatsRole): string {
  return role.kind === 'node' ? nodeUserName(role.nodeName) : role.kind;
}

/** Configuration of a NATS server (2.9 or later) that gives every role exactly what it needs. JSON is valid there. */
export function natsServerConfig(config: NatsServerConfig): string {
  const { host, port, monitoringPort, tls } = config;
  const sections = {
    server_name: 'holdfast',
    host,
    port,
    ...(monitoringPort === undefined ? {} : { http: `127.0.0.1:${monitoringPort}` }),
    max_payload: NATS_MAX_PAYLOAD_BYTES,
    ping_interval: '10s',
    ping_max: 2,
    write_deadline: '5s',
    jetstream: { store_dir: config.storeDir },
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

/** The server's own default of half a second is short for a machine that is busy with its start. */
const TLS_HANDSHAKE_SECONDS = 5;

interface Permissions {
  readonly publish: { readonly allow: readonly string[] };
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

/** The server refuses a consumer whose filter is another one than the request's subject says. */
function consumersOf(name: string, filter: string): string {
  return `$JS.API.CONSUMER.CREATE.${STREAM}.${name}.${filter}`;
}

/** A fixed set of names, which bounds the consumers that a stolen credential can create. The server takes the name of the subject, not of the body. */
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
