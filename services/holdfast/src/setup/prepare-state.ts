import { X509Certificate } from 'node:crypto';
import { chmodSync, chownSync, statSync } from 'node:fs';
import path from 'node:path';
import { type NatsRole, natsServerConfig, natsUserName } from '@holdfast/bus/nats';
import { API_SERVER_CLIENT } from '@holdfast/client';
import type { ClusterPki, FrontProxyPki } from '@holdfast/pki/cluster-pki';
import {
  ADMIN_USER,
  CERTIFICATE_CONTROLLER_USER,
  CONTROLLER_MANAGER_USER,
  type Credential,
  FENCER_USER,
  formatTokenFile,
  nodeUser,
  POD_GC_USER,
  PROMETHEUS_USER,
  PROXY_USER,
  SCHEDULER_USER,
} from '@holdfast/pki/credentials';
import { isSignedBy } from '@holdfast/pki/flaw';
import { COMPOSE_CONTEXT, formatKubeconfig } from '@holdfast/pki/kubeconfig';
import { STANDARD_SERVER_NAMES } from '@holdfast/pki/names';
import { invariant } from '@holdfast/platform';
import { DataDirectory, stillFits } from '../embedded/data-directory.ts';
import { withFailuresExplained } from '../embedded/data-directory-failure.ts';
import type { SetupConfig } from './config.ts';
import { writeObservers } from './observers.ts';
import { redisConfig } from './redis-config.ts';
import { completeSecrets } from './secrets.ts';
import { StateFolder } from './state-folder.ts';

export const REDIS_PORT = 6379;
export const NATS_PORT = 4222;
export const NATS_MONITORING_PORT = 8222;
const NATS_ROUTES_PORT = 6222;
const ROOT_UID = 0;
const PASSABLE_FOLDER = 0o711;

interface Material {
  readonly config: SetupConfig;
  readonly pki: ClusterPki;
  readonly credentials: ReadonlyMap<string, Credential>;
  readonly secrets: Readonly<Record<string, string>>;
}

/**
 * Writes everything that the containers of a distributed cluster need before they start, each in its own folder, and
 * the user's kubeconfig. A repeated run changes nothing in use: it adds what a longer list of nodes needs and renews
 * certificates before they expire.
 */
export function prepareState(config: SetupConfig, nowMs: number): Promise<void> {
  const directory = { path: path.resolve(config.stateDirectory), flag: '--state-dir' };
  return withFailuresExplained(directory, () => prepare(config, nowMs));
}

async function prepare(config: SetupConfig, nowMs: number): Promise<void> {
  const directory = new DataDirectory(config.stateDirectory, { ephemeral: false, shared: true });
  const dnsNames = [...STANDARD_SERVER_NAMES.dnsNames, ...config.apiServers];
  const pki = await directory.certificates({ ...STANDARD_SERVER_NAMES, dnsNames }, nowMs);
  const credentials = directory.credentials(config.nodes);
  const own = new StateFolder(path.join(config.stateDirectory, 'secrets'), ROOT_UID);
  const roles = [...busRoles(config), STORE_ROLE].map(natsUserName);
  const names = [REDIS_SECRET, REDIS_OPERATOR_SECRET, STORAGE_SECRET, ...roles];
  const secrets = completeSecrets(own.read('passwords.json'), names);
  own.write('passwords.json', `${JSON.stringify(secrets, undefined, 2)}\n`);
  const material: Material = { config, pki, credentials, secrets };
  await writeServers(material, nowMs);
  for (const server of config.storeServers) await writeLogServer(material, server, nowMs);
  writeApiServer(material, directory.serviceAccountKey());
  writeFrontProxy(material, await directory.frontProxy(nowMs));
  await writeCertificate(material, { ...API_SERVER_CERTIFICATE, nowMs });
  const { componentUid } = config;
  writeComponent(material, {
    folder: 'scheduler',
    uid: componentUid,
    user: SCHEDULER_USER,
    role: { kind: 'scheduler' },
  });
  await writeServerCertificate(material, 'scheduler', componentUid, nowMs);
  const manager = { folder: 'controller-manager', uid: componentUid, user: CONTROLLER_MANAGER_USER } as const;
  writeComponent(material, { ...manager, role: { kind: 'controller-manager' } });
  writeControllerIdentities(material);
  writeFencer(material);
  const caCertificate = pki.caCertificate;
  writeObservers(config, { caCertificate, token: tokenOf(material, PROMETHEUS_USER) });
  await writeStorageServer(material, nowMs);
  await writeConsole(material, nowMs);
  for (const nodeName of config.nodes) {
    const role: NatsRole = { kind: 'node', nodeName };
    writeComponent(material, { folder: nodeName, uid: ROOT_UID, user: nodeUser(nodeName), role });
    writeProxyIdentity(material, nodeName);
    await writeCertificate(material, {
      folder: nodeName,
      file: 'kubelet',
      uid: ROOT_UID,
      subject: { user: nodeUser(nodeName), group: NODES_GROUP, purpose: 'server' },
      dnsNames: [nodeName],
      nowMs,
    });
  }
  writeKubeconfig(material, directory);
}

const REDIS_SECRET = 'redis';
const REDIS_OPERATOR_SECRET = 'redis-operator';
const STORAGE_SECRET = 'storage';
const STORE_ROLE: NatsRole = { kind: 'store' };

function busRoles(config: SetupConfig): readonly NatsRole[] {
  const nodes = config.nodes.map((nodeName): NatsRole => ({ kind: 'node', nodeName }));
  return [{ kind: 'apiserver' }, { kind: 'scheduler' }, { kind: 'controller-manager' }, ...nodes];
}

async function writeServers(material: Material, nowMs: number): Promise<void> {
  const { config, pki } = material;
  const redis = new StateFolder(path.join(config.stateDirectory, 'redis'), config.redisUid);
  const password = secretOf(material, REDIS_SECRET);
  const operatorPassword = secretOf(material, REDIS_OPERATOR_SECRET);
  const tls = { certFile: '/etc/redis/server.crt', keyFile: '/etc/redis/server.key', caFile: '/etc/redis/ca.crt' };
  redis.write('redis.conf', redisConfig({ port: REDIS_PORT, directory: '/data', password, operatorPassword, tls }));
  redis.write('ca.crt', pki.caCertificate);
  await writeServerCertificate(material, 'redis', config.redisUid, nowMs);
  const nats = new StateFolder(path.join(config.stateDirectory, 'nats'), ROOT_UID);
  const users = busRoles(config).map((role) => ({ role, password: secretOf(material, natsUserName(role)) }));
  nats.write(
    'nats.conf',
    natsServerConfig({
      host: '0.0.0.0',
      port: NATS_PORT,
      monitoringPort: NATS_MONITORING_PORT,
      storeDir: '/data',
      users,
      tls: { certFile: '/etc/holdfast/server.crt', keyFile: '/etc/holdfast/server.key' },
    }),
  );
  await writeServerCertificate(material, 'nats', ROOT_UID, nowMs);
}

/** One of the NATS servers that hold the log, and the bus. Their equals and their monitoring are on one network only. */
async function writeLogServer(material: Material, server: string, nowMs: number): Promise<void> {
  const { config, pki } = material;
  const folder = new StateFolder(path.join(config.stateDirectory, server), ROOT_UID);
  const users = [...busRoles(config), STORE_ROLE].map((role) => ({
    role,
    password: secretOf(material, natsUserName(role)),
  }));
  const text = natsServerConfig({
    host: '0.0.0.0',
    port: NATS_PORT,
    monitoringPort: NATS_MONITORING_PORT,
    monitoringHost: storeNameOf(server),
    storeDir: '/data',
    users,
    tls: { certFile: '/etc/holdfast/server.crt', keyFile: '/etc/holdfast/server.key' },
    cluster: {
      serverName: server,
      host: storeNameOf(server),
      port: NATS_ROUTES_PORT,
      routes: config.storeServers.map((each) => `${storeNameOf(each)}:${NATS_ROUTES_PORT}`),
      caFile: '/etc/holdfast/ca.crt',
    },
  });
  folder.write('nats.conf', text);
  folder.write('ca.crt', pki.caCertificate);
  await writeCertificate(material, {
    folder: server,
    file: 'server',
    uid: ROOT_UID,
    subject: { user: server, group: undefined, purpose: 'peer' },
    dnsNames: [server, storeNameOf(server), 'localhost'],
    nowMs,
  });
}

/** The name of a server on the network of the store. */
const storeNameOf = (server: string): string => `${server}.store`;

/** Valid for the name that other components use, and for local access. */
function writeServerCertificate(material: Material, name: string, uid: number, nowMs: number): Promise<void> {
  const subject = { user: name, group: undefined, purpose: 'server' } as const;
  return writeCertificate(material, {
    folder: name,
    file: 'server',
    uid,
    subject,
    dnsNames: [name, 'localhost'],
    nowMs,
  });
}

function writeApiServer(material: Material, serviceAccountKey: string): void {
  const { config, pki, credentials } = material;
  const folder = new StateFolder(path.join(config.stateDirectory, 'apiserver'), config.componentUid);
  const busUser = natsUserName({ kind: 'apiserver' });
  folder.write('ca.crt', pki.caCertificate);
  folder.write('server.crt', pki.serverCertificate);
  folder.write('server.key', pki.serverKey);
  folder.write('service-account.key', serviceAccountKey);
  folder.write('tokens.csv', formatTokenFile(credentials.values()));
  folder.write('bus-password', secretOf(material, busUser));
  folder.write('store-password', secretOf(material, natsUserName(STORE_ROLE)));
  folder.write('service.env', environmentFile({ ...storeVariables(material), HOLDFAST_BUS_USER: busUser }));
}

function storeVariables(material: Material): Readonly<Record<string, string>> {
  const { storeServers } = material.config;
  if (storeServers.length === 0)
    return { HOLDFAST_STORE: `rediss://apiserver:${secretOf(material, REDIS_SECRET)}@redis:${REDIS_PORT}` };
  return {
    HOLDFAST_STORE: storeServers.map((server) => `tls://${server}:${NATS_PORT}`).join(),
    HOLDFAST_STORE_MONITORS: storeServers.map((s) => `http://${storeNameOf(s)}:${NATS_MONITORING_PORT}`).join(),
    HOLDFAST_STORE_REPLICAS: String(storeServers.length),
    HOLDFAST_STORE_USER: natsUserName(STORE_ROLE),
    HOLDFAST_STORE_PASSWORD_FILE: '/etc/holdfast/store-password',
  };
}

/** Authenticates the cluster's API servers to aggregated API servers. */
function writeFrontProxy({ config }: Material, { ca, certificate, key }: FrontProxyPki): void {
  const folder = new StateFolder(path.join(config.stateDirectory, 'apiserver'), config.componentUid);
  folder.write('front-proxy-ca.crt', ca);
  folder.write('front-proxy-client.crt', certificate);
  folder.write('front-proxy-client.key', key);
}

/** Authenticates the API servers to kubelets. */
const API_SERVER_CERTIFICATE = {
  folder: 'apiserver',
  file: 'kubelet-client',
  uid: undefined,
  subject: { ...API_SERVER_CLIENT, purpose: 'client' },
  dnsNames: [],
} as const;
const NODES_GROUP = 'system:nodes';

/** Reuses the certificate of an earlier run when it is still valid, otherwise writes a new one. */
async function writeCertificate(
  { config, pki }: Material,
  wanted: {
    readonly folder: string;
    readonly file: string;
    /** Default: the user of the components. */
    readonly uid: number | undefined;
    readonly subject: {
      readonly user: string;
      readonly group: string | undefined;
      readonly purpose: 'server' | 'client' | 'peer';
    };
    readonly dnsNames: readonly string[];
    readonly ipAddresses?: readonly string[];
    readonly nowMs: number;
  },
): Promise<void> {
  const { file, subject, dnsNames, ipAddresses = [], nowMs } = wanted;
  const folder = new StateFolder(path.join(config.stateDirectory, wanted.folder), wanted.uid ?? config.componentUid);
  const kept = folder.read(`${file}.crt`);
  const isSame = kept !== undefined && isSignedBy(kept, pki.caCertificate) && isOf(kept, subject);
  if (isSame && stillFits(kept, { dnsNames, ipAddresses }, nowMs)) return;
  const { issueCertificate } = await import('@holdfast/pki/cluster-pki');
  const { user, group, purpose } = subject;
  const issued = await issueCertificate(pki, {
    user,
    ...(group === undefined ? {} : { group }),
    purpose,
    names: { dnsNames, ipAddresses },
    nowMs,
  });
  folder.write(`${file}.key`, issued.key);
  folder.write(`${file}.crt`, issued.certificate);
}

/** Earlier versions had no group. */
const isOf = (
  certificate: string,
  { user, group }: { readonly user: string; readonly group: string | undefined },
): boolean =>
  new X509Certificate(certificate).subject ===
  [...(group === undefined ? [] : [`O=${group}`]), `CN=${user}`].join('\n');

function writeComponent(
  material: Material,
  component: {
    readonly folder: string;
    readonly uid: number;
    readonly user: string;
    readonly role: NatsRole;
  },
): void {
  const folder = new StateFolder(path.join(material.config.stateDirectory, component.folder), component.uid);
  const busUser = natsUserName(component.role);
  folder.write('ca.crt', material.pki.caCertificate);
  folder.write('token', tokenOf(material, component.user));
  const password = secretOf(material, busUser);
  folder.write('service.env', environmentFile({ HOLDFAST_BUS_USER: busUser, HOLDFAST_BUS_PASSWORD: password }));
}

/** What a node with networks for its pods reads services, nodes and policies with. */
function writeProxyIdentity(material: Material, nodeName: string): void {
  const folder = new StateFolder(path.join(material.config.stateDirectory, nodeName), ROOT_UID);
  folder.write('proxy-token', tokenOf(material, PROXY_USER));
}

/** Additional identities of the controller manager for restricted actions, and the key that one of them signs with. */
function writeControllerIdentities(material: Material): void {
  const { config, pki } = material;
  const folder = new StateFolder(path.join(config.stateDirectory, 'controller-manager'), config.componentUid);
  folder.write('pod-gc-token', tokenOf(material, POD_GC_USER));
  folder.write('certificates-token', tokenOf(material, CERTIFICATE_CONTROLLER_USER));
  folder.write('cluster-signing.key', pki.caKey);
}

/** Optional, so it has no bus user: it watches the API. */
function writeFencer(material: Material): void {
  const { config, pki } = material;
  const folder = new StateFolder(path.join(config.stateDirectory, 'fencer'), config.componentUid);
  folder.write('ca.crt', pki.caCertificate);
  folder.write('token', tokenOf(material, FENCER_USER));
}

/** Optional. It knows nothing of the API; the keys of its volumes come from its master key. */
async function writeStorageServer(material: Material, nowMs: number): Promise<void> {
  const { config, pki } = material;
  const folder = new StateFolder(path.join(config.stateDirectory, 'storage'), config.componentUid);
  folder.write('ca.crt', pki.caCertificate);
  folder.write('master.key', secretOf(material, STORAGE_SECRET));
  await writeServerCertificate(material, 'storage', config.componentUid, nowMs);
}

/** It has a certificate and no credential: it speaks to the API as whoever has signed in. */
function writeConsole(material: Material, nowMs: number): Promise<void> {
  const { config, pki } = material;
  const folder = new StateFolder(path.join(config.stateDirectory, 'console'), config.componentUid);
  folder.write('ca.crt', pki.caCertificate);
  return writeCertificate(material, {
    folder: 'console',
    file: 'server',
    uid: config.componentUid,
    subject: { user: 'console', group: undefined, purpose: 'server' },
    dnsNames: ['console', 'localhost'],
    ipAddresses: ['127.0.0.1', '::1'],
    nowMs,
  });
}

function writeKubeconfig({ config, pki, credentials }: Material, directory: DataDirectory): void {
  const token = credentials.get(ADMIN_USER)?.token ?? '';
  const contexts = config.apiPorts.map((port, index) => ({
    name: index === 0 ? COMPOSE_CONTEXT : `${COMPOSE_CONTEXT}-${index + 1}`,
    server: `https://127.0.0.1:${port}`,
  }));
  const console = `https://127.0.0.1:${config.consolePort}`;
  directory.writeKubeconfig(formatKubeconfig({ contexts, caCertificate: pki.caCertificate, token, console }));
  if (config.ownerOf === undefined) return;
  // Its owner has to get through the folder; all the other files are their containers' alone.
  chmodSync(directory.path, PASSABLE_FOLDER);
  if (process.getuid?.() !== ROOT_UID) return;
  const { uid, gid } = statSync(config.ownerOf);
  chownSync(directory.kubeconfigFile, uid, gid);
}

function environmentFile(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

function tokenOf({ credentials }: Material, user: string): string {
  const token = credentials.get(user)?.token;
  invariant(token !== undefined, 'every component has a credential', { user });
  return token;
}

function secretOf({ secrets }: Material, name: string): string {
  const secret = secrets[name];
  invariant(secret !== undefined, 'every password was made before it is used', { name });
  return secret;
}
