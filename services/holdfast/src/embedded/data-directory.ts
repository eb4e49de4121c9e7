import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import type { Authority, ClusterPki, FrontProxyPki } from '@holdfast/pki/cluster-pki';
import { type Credential, createCredentials, formatTokenFile, parseTokenFile } from '@holdfast/pki/credentials';
import { authorityFlaw, isSignedBy, serverFlaw } from '@holdfast/pki/flaw';
import type { PkiNames } from '@holdfast/pki/names';
import { OperatorError } from '@holdfast/platform';
import { isPrivateKey, pairFlaw } from '@holdfast/platform/pem';
import { makeFolder, OF_OTHERS, type Places, PRIVATE_FOLDER, refuseForeign, tightenModes } from './own-folder.ts';

const PRIVATE_FILE = 0o600;
/** A socket's path holds 107 bytes. */
const NETWORK_FOLDER_MAX_BYTES = 90;

/** The files of an embedded cluster: certificates, tokens, kubeconfig, and the folders of its nodes and store. */
export class DataDirectory {
  readonly path: string;

  readonly #ephemeral: boolean;
  readonly #temporary: string;

  /**
   * `ephemeral` keeps only the kubeconfig. `temporary` is for sockets; default: the directory of the machine. In a `shared`
   * directory others have folders from the beginning.
   */
  constructor(
    directory: string,
    options: {
      readonly ephemeral: boolean;
      readonly temporary?: string;
      readonly shared?: boolean;
      readonly places?: Places;
    },
  ) {
    this.path = path.resolve(directory);
    this.#ephemeral = options.ephemeral;
    this.#temporary = options.temporary ?? tmpdir();
    try {
      makeFolder(this.path);
      if (options.shared !== true) refuseForeign(this.path, options.places ?? { home: homedir(), here: process.cwd() });
      tightenModes(this.path);
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      throw new OperatorError({
        code: 'DataDirectoryUnusable',
        message: `the data directory ${this.path} cannot be created`,
        nextStep: 'Choose another one with --data-dir, or correct its permissions.',
        cause: error,
      });
    }
  }

  get kubeconfigFile(): string {
    return path.join(this.path, 'kubeconfig');
  }

  /** `undefined`: nothing of the cluster survives the process. */
  get historyFolder(): string | undefined {
    return this.#ephemeral ? undefined : path.join(this.path, 'history');
  }

  nodeFolder(nodeName: string): string {
    return path.join(this.path, 'nodes', nodeName);
  }

  writeKubeconfig(text: string): void {
    this.#write('kubeconfig', text);
  }

  /**
   * Reuses the certificates of an earlier start when they are still valid. The authority stays as long as possible:
   * clients trust it. A server certificate that is lost or damaged is made anew by it.
   */
  async certificates(names: PkiNames, nowMs: number): Promise<ClusterPki> {
    const kept = this.#readAuthority();
    const server = kept === undefined ? undefined : this.#readServer(kept);
    if (server !== undefined && stillFits(server.serverCertificate, names, nowMs)) return server;
    const { createClusterPki, withNewServer } = await import('@holdfast/pki/cluster-pki');
    const keepsAuthority = kept !== undefined && !endsSoon(new X509Certificate(kept.caCertificate), nowMs);
    const made = await (keepsAuthority ? withNewServer(kept, names, nowMs) : createClusterPki(names, nowMs));
    if (this.#ephemeral) return made;
    mkdirSync(path.join(this.path, 'pki'), { recursive: true, mode: PRIVATE_FOLDER });
    // An authority that stays is not written again: a crash must not be able to harm it.
    for (const [part, file] of [...(keepsAuthority ? [] : AUTHORITY_FILES), ...SERVER_FILES])
      this.#write(file, made[part]);
    return made;
  }

  /** Tokens survive restarts, so that running clients and nodes stay authenticated. New nodes get new ones. */
  credentials(nodeNames: readonly string[]): ReadonlyMap<string, Credential> {
    const kept = parseTokenFile(this.#read('tokens.csv') ?? '');
    if (kept === undefined) throw this.#damaged('tokens.csv has a line that is not a token', 'tokens.csv');
    const all = new Map([...createCredentials(nodeNames), ...kept]);
    if (!this.#ephemeral) this.#write('tokens.csv', formatTokenFile(all.values()));
    return all;
  }

  /** The network that the pods of an earlier start had. */
  podNetwork(): string | undefined {
    return this.#read('pod-network')?.trim();
  }

  keepPodNetwork(mode: string): void {
    if (!this.#ephemeral) this.#write('pod-network', `${mode}\n`);
  }

  /** The runtime that an earlier start found. */
  runtime(): string | undefined {
    return this.#read('runtime')?.trim();
  }

  keepRuntime(kind: string): void {
    if (!this.#ephemeral) this.#write('runtime', `${kind}\n`);
  }

  /** The folder of the network of pods; elsewhere when its sockets would have too long paths here. */
  get networkFolder(): string {
    const folder = this.networkPath;
    if (path.dirname(folder) !== this.path) makeOwnFolder(path.dirname(folder));
    return folder;
  }

  /** No pod may see these: they hold keys, and sockets that lead to all pods. */
  get hiddenPaths(): readonly string[] {
    return [this.path, this.networkPath];
  }

  /** Where that folder is, or will be. */
  get networkPath(): string {
    return networkPathOf(this.path, this.#temporary);
  }

  /** The key that signs service account tokens. It is kept, so that tokens outlive a restart. */
  serviceAccountKey(): string {
    const kept = this.#read(SERVICE_ACCOUNT_KEY_FILE);
    if (kept !== undefined) {
      if (isPrivateKey(kept)) return kept;
      throw this.#damaged(`${SERVICE_ACCOUNT_KEY_FILE} is not a private key`, 'pki');
    }
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const made = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    if (!this.#ephemeral) this.#write(SERVICE_ACCOUNT_KEY_FILE, made);
    return made;
  }

  /**
   * Authenticates the server to aggregated API servers. It is replaced when it expires soon or is damaged, because
   * those servers learn the new one.
   */
  async frontProxy(nowMs: number): Promise<FrontProxyPki> {
    const [ca, certificate, key] = FRONT_PROXY_FILES.map(([, file]) => this.#read(file));
    const kept =
      ca === undefined || certificate === undefined || key === undefined ? undefined : { ca, certificate, key };
    if (kept !== undefined && isFrontProxyUsable(kept, nowMs)) return kept;
    const { createFrontProxyPki } = await import('@holdfast/pki/cluster-pki');
    const made = await createFrontProxyPki(nowMs);
    if (this.#ephemeral) return made;
    mkdirSync(path.join(this.path, 'pki'), { recursive: true, mode: PRIVATE_FOLDER });
    for (const [part, file] of FRONT_PROXY_FILES) this.#write(file, made[part]);
    return made;
  }

  #readAuthority(): Authority | undefined {
    const [caCertificate, caKey, ...later] = [...AUTHORITY_FILES, ...SERVER_FILES].map(([, file]) => this.#read(file));
    if (caCertificate !== undefined && caKey !== undefined) {
      const flaw = authorityFlaw({ caCertificate, caKey });
      if (flaw !== undefined) throw this.#damaged(flaw, 'pki');
      return { caCertificate, caKey };
    }
    // A first start that was killed has written only the certificate. A missing file before an existing one was lost.
    const isLost = caKey !== undefined || later.some((file) => file !== undefined);
    if (isLost) throw this.#damaged(`pki/${caCertificate === undefined ? 'ca.crt' : 'ca.key'} is missing`, 'pki');
    return undefined;
  }

  /** Absent unless it is whole: clients trust the authority, so a new one of it can take its place at any time. */
  #readServer(authority: Authority): ClusterPki | undefined {
    const [serverCertificate, serverKey] = SERVER_FILES.map(([, file]) => this.#read(file));
    if (serverCertificate === undefined || serverKey === undefined) return undefined;
    const kept = { ...authority, serverCertificate, serverKey };
    return serverFlaw(kept) === undefined ? kept : undefined;
  }

  /** Never replaced silently: clients know the old ones. */
  #damaged(what: string, remedy: string): OperatorError {
    return new OperatorError({
      code: 'DataDirectoryDamaged',
      message: `the data directory ${this.path} is damaged: ${what}`,
      nextStep: `Restore ${remedy} from a backup, or remove it: then the next start creates a new one, and clients need the new kubeconfig.`,
    });
  }

  #read(file: string): string | undefined {
    if (this.#ephemeral) return undefined;
    try {
      return readFileSync(path.join(this.path, file), 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Atomic: after a crash the old file is intact. */
  #write(file: string, text: string): void {
    const target = path.join(this.path, file);
    writeFileSync(`${target}.new`, text, { mode: PRIVATE_FILE });
    renameSync(`${target}.new`, target);
  }
}

/** `temporary` is for sockets; default: the directory of the machine. */
export function networkPathOf(directory: string, temporary = tmpdir()): string {
  const inside = path.join(directory, 'network');
  if (Buffer.byteLength(inside) <= NETWORK_FOLDER_MAX_BYTES) return inside;
  const hash = createHash('sha256').update(directory).digest('hex').slice(0, 32);
  return path.join(temporary, `holdfast-${process.getuid?.() ?? 0}`, hash);
}

/** In a directory where everybody may create it first, and then exchange what is in it. */
function makeOwnFolder(folder: string): void {
  mkdirSync(path.dirname(folder), { recursive: true });
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) mkdirSync(folder, { mode: PRIVATE_FOLDER });
  const found = lstatSync(folder);
  if (found.isDirectory() && found.uid === process.getuid?.() && (found.mode & OF_OTHERS) === 0) return;
  throw new OperatorError({
    code: 'NetworkFolderUnsafe',
    message: `the sockets of the network of pods cannot be in ${folder}: it is not a directory of this user alone`,
    nextStep: 'Remove it, or choose a data directory with a shorter path with --data-dir.',
  });
}

const SERVICE_ACCOUNT_KEY_FILE = 'pki/service-account.key';
const AUTHORITY_FILES = [
  ['caCertificate', 'pki/ca.crt'],
  ['caKey', 'pki/ca.key'],
] as const satisfies readonly (readonly [keyof ClusterPki, string])[];
const SERVER_FILES = [
  ['serverCertificate', 'pki/server.crt'],
  ['serverKey', 'pki/server.key'],
] as const satisfies readonly (readonly [keyof ClusterPki, string])[];

const FRONT_PROXY_FILES = [
  ['ca', 'pki/front-proxy-ca.crt'],
  ['certificate', 'pki/front-proxy-client.crt'],
  ['key', 'pki/front-proxy-client.key'],
] as const satisfies readonly (readonly [keyof FrontProxyPki, string])[];

/** Renews a month early, so that a running cluster never reaches the end of its certificate. */
const RENEW_BEFORE_MS = 30 * 86_400_000;

/** PEM. */
export function stillFits(text: string, names: PkiNames, nowMs: number): boolean {
  const certificate = new X509Certificate(text);
  const named =
    names.dnsNames.every((name) => certificate.checkHost(name) !== undefined) &&
    names.ipAddresses.every((address) => certificate.checkIP(address) !== undefined);
  return named && certificate.validFromDate.getTime() <= nowMs && !endsSoon(certificate, nowMs);
}

function isFrontProxyUsable({ ca, certificate, key }: FrontProxyPki, nowMs: number): boolean {
  if (pairFlaw({ name: 'front-proxy-client.crt', text: certificate }, { name: 'its key', text: key }) !== undefined)
    return false;
  try {
    return isSignedBy(certificate, ca) && stillFits(certificate, { dnsNames: [], ipAddresses: [] }, nowMs);
  } catch {
    return false;
  }
}

const endsSoon = (certificate: X509Certificate, nowMs: number): boolean =>
  certificate.validToDate.getTime() - nowMs <= RENEW_BEFORE_MS;
