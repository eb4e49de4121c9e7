import path from 'node:path';
import { isJsonObject, type Json, type JsonObject, ownValue } from '@holdfast/machinery';
import { type Clock, OperatorError } from '@holdfast/platform';
import { nodeHttps } from '@holdfast/platform/http';
import { readSettingFile } from '@holdfast/platform/setting-files';
import { AUDIT_WEBHOOK_CALL_MS } from '../limits.ts';
import { failureOf } from '../proxy/proxy-exchange.ts';
import { parseSettingYaml } from '../setting-yaml.ts';
import type { WebhookSinkDeps } from './webhook-sink.ts';

interface Target {
  readonly url: URL;
  readonly tls: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly servername?: string;
  };
  readonly authorization: string | undefined;
}

/** The way to the webhook of a kubeconfig: its current context, or the only cluster and user. */
export async function openAuditWebhook(file: string, clock: Clock): Promise<Pick<WebhookSinkDeps, 'send' | 'close'>> {
  const target = await readTarget(file);
  const agent = new (nodeHttps().Agent)({ keepAlive: true, maxSockets: 1, ...target.tls });
  return {
    send: (body) => post({ target, agent, body }, clock),
    close: async () => agent.destroy(),
  };
}

interface Sending {
  readonly target: Target;
  readonly agent: InstanceType<ReturnType<typeof nodeHttps>['Agent']>;
  readonly body: string;
}

function post({ target, agent, body }: Sending, clock: Clock): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const request = nodeHttps().request(target.url, {
    agent,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'kube-apiserver-audit',
      ...(target.authorization === undefined ? {} : { authorization: target.authorization }),
    },
  });
  const deadline = clock.timer(AUDIT_WEBHOOK_CALL_MS, () => request.destroy(new Error('no answer in time')));
  request.on('error', (error) => reject(new Error(failureOf(error), { cause: error })));
  request.once('response', (answer) => {
    answer.resume();
    answer.on('error', reject);
    answer.once('end', () => {
      const status = answer.statusCode ?? 0;
      if (status >= 200 && status <= 299) resolve();
      else reject(new Error(`the webhook answered with status ${status}`));
    });
  });
  request.end(body);
  return promise.finally(() => deadline.cancel());
}

async function readTarget(file: string): Promise<Target> {
  const config = await parseSettingYaml(await readSettingFile(file), file);
  const root = isJsonObject(config) ? config : {};
  const context = entryOf(root, 'context', textOf(root, 'current-context'));
  const cluster = entryOf(root, 'cluster', textOf(context, 'cluster'));
  const user = entryOf(root, 'user', textOf(context, 'user'));
  const server = textOf(cluster, 'server') ?? '';
  if (!URL.canParse(server) || new URL(server).protocol !== 'https:') {
    throw unusable(
      file,
      `its cluster names the server ${JSON.stringify(server)}, and it has to be https://host:port/path`,
    );
  }
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw unusable(
      file,
      'it uses insecure-skip-tls-verify; name the authority of the server in certificate-authority instead',
    );
  }
  const pem = (of: JsonObject, field: string): Promise<string | undefined> =>
    inlineOrFile(of, field, path.dirname(file));
  const [ca, cert, key] = await Promise.all([
    pem(cluster, 'certificate-authority'),
    pem(user, 'client-certificate'),
    pem(user, 'client-key'),
  ]);
  if ((cert === undefined) !== (key === undefined)) {
    throw unusable(file, 'it has only one of client-certificate and client-key');
  }
  const servername = textOf(cluster, 'tls-server-name');
  return {
    url: new URL(server),
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
      ...(servername === undefined ? {} : { servername }),
    },
    authorization: await authorizationOf(user, path.dirname(file)),
  };
}

async function authorizationOf(user: JsonObject, folder: string): Promise<string | undefined> {
  const file = textOf(user, 'tokenFile');
  const read = file === undefined ? undefined : (await readSettingFile(path.resolve(folder, file))).trim();
  const token = textOf(user, 'token') ?? read;
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
