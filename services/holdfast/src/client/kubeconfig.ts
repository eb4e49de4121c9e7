import { readFileSync } from 'node:fs';
import path from 'node:path';
import { rootCertificates } from 'node:tls';
import { CONSOLE_EXTENSION } from '@holdfast/pki/kubeconfig';
import { OperatorError } from '@holdfast/platform';
import { parse } from 'yaml';

/** Server and credentials of the current context of a kubeconfig. */
export interface Access {
  readonly server: string;
  /** Where the console of the cluster is. */
  readonly console: string;
  readonly caPem: string;
  readonly namespace: string;
  readonly token: string | undefined;
  readonly clientCertificate: { readonly certPem: string; readonly keyPem: string } | undefined;
}

export function readAccess(file: string): Access {
  const config = asRecord(parseFile(file));
  const entry = (part: Part, name = ''): Fields => {
    const found = entryOf(config, part, name);
    if (found !== undefined) return found;
    throw unusable(`${file} has no ${part} "${name}"`, 'Correct the file, or name another one with --kubeconfig.');
  };
  const context = entry('context', textOf(config, 'current-context'));
  const cluster = entry('cluster', textOf(context, 'cluster'));
  const user = entry('user', textOf(context, 'user'));
  refuseOthers(cluster, CLUSTER_FIELDS, file);
  refuseOthers(user, USER_FIELDS, file);
  const pem = (of: Fields, field: string): string | undefined => inlineOrFile(of, field, path.dirname(file));
  const [certPem, keyPem] = [pem(user, 'client-certificate'), pem(user, 'client-key')];
  if ((certPem === undefined) !== (keyPem === undefined))
    throw unusable(`${file} has only one of client-certificate and client-key`, 'Add the other one.');
  const server = serverOf(cluster, file);
  return {
    server,
    console: consoleOf(cluster) ?? server,
    caPem: pem(cluster, 'certificate-authority') ?? rootCertificates.join('\n'),
    namespace: textOf(context, 'namespace') ?? 'default',
    token: tokenOf(user, path.dirname(file)),
    clientCertificate: certPem === undefined || keyPem === undefined ? undefined : { certPem, keyPem },
  };
}

type Fields = Readonly<Record<string, unknown>>;
type Part = 'cluster' | 'user' | 'context';

const CLUSTER_FIELDS = ['server', 'certificate-authority', 'certificate-authority-data', 'extensions'];
const USER_FIELDS = [
  'token',
  'tokenFile',
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
  'extensions',
];

function parseFile(file: string): unknown {
  const text = readText(
    file,
    'Start a cluster with `npm start`, or name a kubeconfig with --kubeconfig or KUBECONFIG; `holdfast status` names that of `up`.',
  );
  try {
    return parse(text);
  } catch (cause) {
    throw unusable(`${file} is not valid YAML`, 'Name another file with --kubeconfig.', cause);
  }
}

/** Returns the entry of this name in the list `clusters`, `users` or `contexts`. */
function entryOf(config: Fields, part: Part, name: string): Fields | undefined {
  const list = config[`${part}s`];
  const found = (Array.isArray(list) ? list.map(asRecord) : []).find((entry) => entry['name'] === name);
  return found === undefined ? undefined : asRecord(found[part]);
}

/** Refuses unsupported fields instead of ignoring them. */
function refuseOthers(fields: Fields, known: readonly string[], file: string): void {
  const other = Object.keys(fields).find((field) => !known.includes(field));
  if (other === undefined) return;
  throw unusable(`${file} uses "${other}", which this client does not know`, 'Use kubectl with this file.');
}

function serverOf(cluster: Fields, file: string): string {
  const server = textOf(cluster, 'server') ?? '';
  if (URL.canParse(server) && new URL(server).pathname === '/') return server;
  throw unusable(`${file} names the server "${server}"`, 'It has to be of the form https://host:port.');
}

/** `undefined`: at the API server. */
function consoleOf(cluster: Fields): string | undefined {
  const { extensions } = cluster;
  const named = (Array.isArray(extensions) ? extensions.map(asRecord) : []).find(
    ({ name }) => name === CONSOLE_EXTENSION,
  );
  const address = named === undefined ? undefined : textOf(asRecord(named['extension']), 'address');
  return address !== undefined && URL.canParse(address) && new URL(address).pathname === '/' ? address : undefined;
}

function tokenOf(user: Fields, folder: string): string | undefined {
  const file = textOf(user, 'tokenFile');
  return textOf(user, 'token') ?? (file === undefined ? undefined : readText(path.resolve(folder, file)).trim());
}

function inlineOrFile(fields: Fields, field: string, folder: string): string | undefined {
  const inline = textOf(fields, `${field}-data`);
  if (inline !== undefined) return Buffer.from(inline, 'base64').toString('utf8');
  const file = textOf(fields, field);
  return file === undefined ? undefined : readText(path.resolve(folder, file));
}

function readText(file: string, nextStep = 'Check the path and the permissions of the file.'): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw unusable(`${file} cannot be read`, nextStep, cause);
  }
}

const textOf = (fields: Fields, field: string): string | undefined => {
  const value = fields[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

const asRecord = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};

function unusable(message: string, nextStep: string, cause?: unknown): OperatorError {
  return new OperatorError({ code: 'Kubeconfig', message, nextStep, exitCode: 2, cause });
}
