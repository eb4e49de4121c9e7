import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@holdfast/platform';
import { nodeHttps } from '@holdfast/platform/http';
import { AUDIT_WEBHOOK_CALL_MS, AUDIT_WEBHOOK_CREDENTIALS_MS } from '../limits.ts';
import { failureOf } from '../proxy/proxy-exchange.ts';
import { readWebhookTarget, type WebhookCredentials, type WebhookTarget } from './webhook-config.ts';
import type { WebhookSinkDeps } from './webhook-sink.ts';

type Agent = InstanceType<ReturnType<typeof nodeHttps>['Agent']>;

type WebhookTools = Pick<WebhookSinkDeps, 'clock' | 'log'>;

/** The way to the webhook of a kubeconfig. */
export async function openAuditWebhook(
  file: string,
  tools: WebhookTools,
): Promise<Pick<WebhookSinkDeps, 'send' | 'close'>> {
  const target = await readWebhookTarget(file);
  const client = new WebhookClient(target, await target.readCredentials(), tools);
  return { send: (body) => client.send(body), close: async () => client.close() };
}

/** Tokens and client certificates in files are replaced before they expire. */
class WebhookClient {
  readonly #target: WebhookTarget;
  readonly #tools: WebhookTools;
  #credentials: WebhookCredentials;
  #agent: Agent;
  #readAt: number;
  /** The last call failed: its credentials may have expired before their time. */
  #isDoubtful = false;
  #isUnreadable = false;

  constructor(target: WebhookTarget, credentials: WebhookCredentials, tools: WebhookTools) {
    this.#target = target;
    this.#tools = tools;
    this.#credentials = credentials;
    this.#agent = agentOf(target, credentials);
    this.#readAt = tools.clock.monotonic();
  }

  async send(body: string): Promise<void> {
    const isOld = this.#tools.clock.monotonic() - this.#readAt >= AUDIT_WEBHOOK_CREDENTIALS_MS;
    if (isOld || this.#isDoubtful) await this.#refresh();
    this.#isDoubtful = true;
    const { authorization } = this.#credentials;
    await post({ url: this.#target.url, authorization, agent: this.#agent, body }, this.#tools.clock);
    this.#isDoubtful = false;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** The last ones stay while the files cannot be used: they may be half replaced. */
  async #refresh(): Promise<void> {
    const { clock, log } = this.#tools;
    this.#readAt = clock.monotonic();
    try {
      this.#use(await this.#target.readCredentials());
      this.#isUnreadable = false;
    } catch (error) {
      if (!this.#isUnreadable) log.warn('the credentials of the audit webhook cannot be read again', { error });
      this.#isUnreadable = true;
    }
  }

  #use(credentials: WebhookCredentials): void {
    const before = this.#credentials;
    this.#credentials = credentials;
    if (isDeepStrictEqual(before.tls, credentials.tls)) return;
    this.#agent.destroy();
    this.#agent = agentOf(this.#target, credentials);
  }
}

const agentOf = ({ servername }: WebhookTarget, { tls }: WebhookCredentials): Agent =>
  new (nodeHttps().Agent)({
    keepAlive: true,
    maxSockets: 1,
    ...tls,
    ...(servername === undefined ? {} : { servername }),
  });

interface Sending {
  readonly url: URL;
  readonly authorization: string | undefined;
  readonly agent: Agent;
  readonly body: string;
}

function post({ url, authorization, agent, body }: Sending, clock: Clock): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const request = nodeHttps().request(url, {
    agent,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'kube-apiserver-audit',
      ...(authorization === undefined ? {} : { authorization }),
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
