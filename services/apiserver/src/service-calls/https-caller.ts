import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Agent } from 'node:https';
import { type Clock, describeError } from '@holdfast/platform';
import { nodeHttps } from '@holdfast/platform/http';
import { WEBHOOK_ANSWER_BYTES_MAX, WEBHOOK_IDLE_CONNECTIONS_MAX } from '../limits.ts';
import type { NodeGateway } from '../proxy/node-gateway.ts';
import { securePodAgent } from '../proxy/pod-agent.ts';
import { type CallTarget, WebhookCallError, type WebhookCaller } from './port.ts';
import { isStaleConnection, tlsFailureOf, tlsOptionsOf } from './tls.ts';

/** Calls over HTTPS. Connections stay open between calls; one that is idle keeps no process alive. */
export function createHttpsWebhookCaller(clock: Clock, dial?: NodeGateway['dial']): WebhookCaller {
  let agent: Agent | undefined;
  const alone = (): Agent => securePodAgent(dial);
  return {
    call: (target, body, timeoutMs) => {
      const open = (agent ??= newAgent(dial));
      return post({ target, body, agent: open, alone }, clock, timeoutMs);
    },
  };
}

const newAgent = (dial: NodeGateway['dial']): Agent =>
  securePodAgent(dial, { keepAlive: true, maxFreeSockets: WEBHOOK_IDLE_CONNECTIONS_MAX });

interface Call {
  readonly target: CallTarget;
  readonly body: string;
  readonly agent: Agent;
  /** For a connection of its own. */
  readonly alone: () => Agent;
}

function post(call: Call, clock: Clock, timeoutMs: number): Promise<string> {
  const exchange = new Exchange(call);
  const deadline = clock.timer(timeoutMs, () => exchange.fail('context deadline exceeded'));
  return exchange.run().finally(() => deadline.cancel());
}

/** One call, which is repeated once when the server closed its idle connection. */
class Exchange {
  readonly #call: Call;
  readonly #result = Promise.withResolvers<string>();
  #request: ClientRequest | undefined;
  #isOver = false;

  constructor(call: Call) {
    this.#call = call;
  }

  run(): Promise<string> {
    this.#send(this.#call);
    return this.#result.promise;
  }

  fail(why: string, cause?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const shown = `Post ${JSON.stringify(this.#call.target.url)}`;
    this.#result.reject(new WebhookCallError(`${shown}: ${why}`, { cause }));
    this.#request?.destroy();
  }

  #send(call: Call): void {
    let request: ClientRequest;
    try {
      request = open(call);
    } catch (error) {
      this.fail(describeError(error), error);
      return;
    }
    this.#request = request;
    let isAnswered = false;
    request.on('error', (error) => {
      if (!this.#isOver && !isAnswered && isStaleConnection(request, error))
        this.#send({ ...call, agent: call.alone() });
      else this.fail(tlsFailureOf(error), error);
    });
    request.once('response', (answer) => {
      isAnswered = true;
      this.#receive(answer);
    });
    request.end(call.body);
  }

  #receive(answer: IncomingMessage): void {
    const chunks: Buffer[] = [];
    let size = 0;
    answer.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > WEBHOOK_ANSWER_BYTES_MAX) this.#refuse(`the answer has more than ${WEBHOOK_ANSWER_BYTES_MAX} bytes`);
      else chunks.push(chunk);
    });
    answer.once('aborted', () => this.#refuse('unexpected EOF'));
    answer.once('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const status = answer.statusCode ?? 0;
      if (status < 200 || status > 299) this.#refuse(statusText(status, text));
      this.#isOver = true;
      this.#result.resolve(text);
    });
  }

  /** Reports errors of a response without the address. */
  #refuse(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#result.reject(new WebhookCallError(why));
    this.#request?.destroy();
  }
}

function open({ target, body, agent }: Call): ClientRequest {
  const url = new URL(target.url);
  return nodeHttps().request({
    agent,
    method: 'POST',
    path: `${url.pathname}${url.search}`,
    ...tlsOptionsOf(target),
    headers: {
      host: url.host,
      accept: 'application/json, */*',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'kube-apiserver-admission',
    },
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
