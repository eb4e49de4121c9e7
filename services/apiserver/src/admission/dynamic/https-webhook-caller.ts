import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Agent } from 'node:https';
import { type Clock, describeError } from '@holdfast/platform';
import { nodeHttps } from '@holdfast/platform/http';
import { failureOf } from '../../http-exchange.ts';
import { WEBHOOK_ANSWER_BYTES_MAX, WEBHOOK_IDLE_CONNECTIONS_MAX } from '../../limits.ts';
import { WebhookCallError, type WebhookCaller, type WebhookTarget } from './webhook-caller.ts';

/** Calls over HTTPS. Connections stay open between calls; one that is idle keeps no process alive. */
export function createHttpsWebhookCaller(clock: Clock): WebhookCaller {
  let agent: Agent | undefined;
  return {
    call: (target, body, timeoutMs) => {
      const open = (agent ??= newAgent());
      return post({ target, body, agent: open }, clock, timeoutMs);
    },
  };
}

const newAgent = (): Agent =>
  new (nodeHttps().Agent)({ keepAlive: true, maxFreeSockets: WEBHOOK_IDLE_CONNECTIONS_MAX });

interface Call {
  readonly target: WebhookTarget;
  readonly body: string;
  readonly agent: Agent;
}

async function post(call: Call, clock: Clock, timeoutMs: number): Promise<string> {
  const { target, body } = call;
  const shown = `Post ${JSON.stringify(target.url)}`;
  let request: ClientRequest;
  try {
    request = open(call);
  } catch (error) {
    throw new WebhookCallError(`${shown}: ${describeError(error)}`, { cause: error });
  }
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const fail = (why: string, cause?: unknown): void => {
    reject(new WebhookCallError(why, { cause }));
    request.destroy();
  };
  const deadline = clock.timer(timeoutMs, () => fail(`${shown}: context deadline exceeded`));
  request.on('error', (error) => fail(`${shown}: ${tlsText(error) ?? failureOf(error)}`, error));
  request.once('response', (answer) => receive(answer, resolve, fail));
  request.end(body);
  return promise.finally(() => deadline.cancel());
}

function open({ target, body, agent }: Call): ClientRequest {
  const url = new URL(target.url);
  return nodeHttps().request({
    agent,
    method: 'POST',
    host: target.connectTo?.host ?? url.hostname.replace(/^\[|\]$/g, ''),
    port: target.connectTo?.port ?? (url.port === '' ? 443 : Number(url.port)),
    path: `${url.pathname}${url.search}`,
    servername: /^[\d.]+$|:/.test(url.hostname) ? '' : url.hostname,
    ...(target.ca === undefined ? {} : { ca: target.ca }),
    headers: {
      host: url.host,
      accept: 'application/json, */*',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'kube-apiserver-admission',
    },
  });
}

function receive(answer: IncomingMessage, done: (text: string) => void, fail: (why: string) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  answer.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > WEBHOOK_ANSWER_BYTES_MAX) fail(`the answer has more than ${WEBHOOK_ANSWER_BYTES_MAX} bytes`);
    else chunks.push(chunk);
  });
  answer.once('aborted', () => fail('unexpected EOF'));
  answer.once('end', () => {
    const text = Buffer.concat(chunks).toString('utf8');
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status <= 299) done(text);
    else fail(statusText(status, text));
  });
}

const SHOWN_CHARS = 200;

function statusText(status: number, body: string): string {
  if (status === 404) return 'the server could not find the requested resource';
  if (status >= 500) {
    const shown = JSON.stringify(body.trim().slice(0, SHOWN_CHARS) || 'unknown');
    return `an error on the server (${shown}) has prevented the request from succeeding`;
  }
  return `the server rejected our request for an unknown reason (status ${status})`;
}

const TLS_TEXTS: ReadonlyMap<string, string> = new Map([
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'x509: certificate signed by unknown authority'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'x509: certificate signed by unknown authority'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'x509: certificate signed by unknown authority'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'x509: certificate signed by unknown authority'],
  ['CERT_HAS_EXPIRED', 'x509: certificate has expired or is not yet valid'],
  ['CERT_NOT_YET_VALID', 'x509: certificate has expired or is not yet valid'],
]);

function tlsText(error: Error & { code?: string; host?: string; reason?: string }): string | undefined {
  const { code = '' } = error;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `tls: failed to verify certificate: x509: certificate is not valid for ${error.host ?? 'this name'}`;
  }
  const known = TLS_TEXTS.get(code);
  return known === undefined ? undefined : `tls: failed to verify certificate: ${known}`;
}
