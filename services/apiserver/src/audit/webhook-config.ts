import path from 'node:path';
import { isJsonObject, type Json, type JsonObject, ownValue } from '@holdfast/machinery';
import { OperatorError } from '@holdfast/platform';
import { pairFlaw } from '@holdfast/platform/pem';
import { readSettingFile } from '@holdfast/platform/setting-files';
import type { TlsClient } from '@holdfast/platform/tls-client';
import { parseSettingYaml } from '../setting-yaml.ts';

/** The webhook of a kubeconfig: its current context, or the only cluster and user. */
export interface WebhookTarget {
  readonly url: URL;
  readonly servername: string | undefined;
  /** Reads the files that the kubeconfig names. Throws when they cannot be used. */
  readonly readCredentials: () => Promise<WebhookCredentials>;
}

export interface WebhookCredentials {
  readonly tls: TlsClient;
  readonly authorization: string | undefined;
}

export async function readWebhookTarget(file: string): Promise<WebhookTarget> {
  const config = await parseSettingYaml(await readSettingFile(file), file);
  const root = isJsonObject(config) ? config : {};
  const context = entryOf(root, 'context', textOf(root, 'current-context'));
  const cluster = entryOf(root, 'cluster', textOf(context, 'cluster'));
  const user = entryOf(root, 'user', textOf(context, 'user'));
  const server = textOf(cluster, 'server') ?? '';
  const flaw = flawOf(server, cluster, user);
  if (flaw !== undefined) throw unusable(file, flaw);
  return {
    url: new URL(server),
    servername: textOf(cluster, 'tls-server-name'),
    readCredentials: () => readCredentials({ file, cluster, user }),
  };
}

const USER_FIELDS: ReadonlySet<string> = new Set([
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
  'token',
  'tokenFile',
  'username',
  'password',
  'extensions',
]);

function flawOf(server: string, cluster: JsonObject, user: JsonObject): string | undefined {
  if (!URL.canParse(server) || new URL(server).protocol !== 'https:')
    return `its cluster names the server ${JSON.stringify(server)}, and it has to be https://host:port/path`;
  if (cluster['insecure-skip-tls-verify'] === true)
    return 'it uses insecure-skip-tls-verify; name the authority of the server in certificate-authority instead';
  const others = Object.keys(user).filter((field) => !USER_FIELDS.has(field));
  return others.length === 0
    ? undefined
    : `its user has ${others.join(', ')}, which is not supported; use a token, a tokenFile or a client certificate`;
}

interface CredentialFields {
  readonly file: string;
  readonly cluster: JsonObject;
  readonly user: JsonObject;
}

async function readCredentials({ file, cluster, user }: CredentialFields): Promise<WebhookCredentials> {
  const folder = path.dirname(file);
  const [ca, cert, key, authorization] = await Promise.all([
    inlineOrFile(cluster, 'certificate-authority', folder),
    inlineOrFile(user, 'client-certificate', folder),
    inlineOrFile(user, 'client-key', folder),
    authorizationOf(user, folder),
  ]);
  const authority = ca === undefined ? {} : { ca };
  if (cert === undefined && key === undefined) return { tls: authority, authorization };
  if (cert === undefined || key === undefined)
    throw unusable(file, 'it has only one of client-certificate and client-key');
  const flaw = pairFlaw({ name: 'client-certificate', text: cert }, { name: 'client-key', text: key });
  if (flaw !== undefined) throw unusable(file, flaw);
  return { tls: { ...authority, cert, key }, authorization };
}

/** A file counts before a token that is written beside it, as in Kubernetes. */
async function authorizationOf(user: JsonObject, folder: string): Promise<string | undefined> {
  const file = textOf(user, 'tokenFile');
  const read = file === undefined ? '' : (await readSettingFile(path.resolve(folder, file))).trim();
  const token = read === '' ? textOf(user, 'token') : read;
  if (token !== undefined) return `Bearer ${token}`;
  const [name, password] = [textOf(user, 'username'), textOf(user, 'password')];
  if (name === undefined || password === undefined) return undefined;
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}

/** The entry of this name in the list `clusters`, `users` or `contexts`; the only one, when none is named. */
function entryOf(config: JsonObject, part: 'cluster' | 'user' | 'context', name: string | undefined): JsonObject {
  const list: Json | undefined = ownValue(config, `${part}s`);
  const entries = Array.isArray(list) ? list.filter(isJsonObject) : [];
  const found = name === undefined && entries.length === 1 ? entries[0] : entries.find((each) => each['name'] === name);
  const entry = found === undefined ? undefined : ownValue(found, part);
  return isJsonObject(entry) ? entry : {};
}

async function inlineOrFile(fields: JsonObject, field: string, folder: string): Promise<string | undefined> {
  const inline = textOf(fields, `${field}-data`);
  if (inline !== undefined) return Buffer.from(inline, 'base64').toString('utf8');
  const file = textOf(fields, field);
  return file === undefined ? undefined : readSettingFile(path.resolve(folder, file));
}

function textOf(fields: JsonObject, field: string): string | undefined {
  const value = ownValue(fields, field);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const unusable = (file: string, why: string): OperatorError =>
  new OperatorError({
    code: 'AUDIT_WEBHOOK',
    message: `The audit webhook of ${file} cannot be used: ${why}.`,
    nextStep: 'Correct the kubeconfig of --audit-webhook-config-file.',
    exitCode: 2,
  });
