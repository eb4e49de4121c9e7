import type { Worker } from 'node:worker_threads';
import type { ApiRequest } from '@holdfast/client';
import { type Json, type ParsedJson, parseJson, refuseTooManyValues, StatusError } from '@holdfast/machinery';
import type { Clock, Timer } from '@holdfast/platform';
import { startThread } from '@holdfast/platform/thread';
import { LONG_YAML_BYTES, YAML_READ_MS, YAML_THREAD_HEAP_MB, YAML_THREAD_IDLE_MS } from '../limits.ts';
import { FairQueue, type Flow } from '../turns/fair-queue.ts';
import { bodyText, isYaml, noteRead } from './body.ts';
import { parseJsonInYaml, YamlSyntaxError, yamlTooLarge } from './yaml.ts';

export type YamlOutcome =
  | { readonly kind: 'text'; readonly text: string; readonly duplicates: readonly string[] }
  | { readonly kind: 'value'; readonly value: Json; readonly duplicates: readonly string[] }
  | { readonly kind: 'too large' | 'no YAML' | 'stopped'; readonly why: string };

interface Reading {
  readonly text: string;
  readonly done: (outcome: YamlOutcome) => void;
}

export const hasLongYamlBody = (request: ApiRequest): boolean =>
  (request.body?.length ?? 0) > LONG_YAML_BYTES && request.method !== 'GET' && isYaml(request);

/**
 * Reads long YAML bodies on a thread of its own: the parser takes a hundred times as long as that of JSON. Texts are read one after the
 * other, and flows take turns. The thread starts with the first such body and ends when none came for a while.
 */
export class YamlReader {
  readonly #clock: Clock;
  readonly #start: () => Worker;
  readonly #waiting = new FairQueue<Reading>();
  #worker: Worker | undefined;
  #current: Reading | undefined;
  #idle: Timer | undefined;
  #isStopped = false;

  constructor(clock: Clock, start: () => Worker = startYamlThread) {
    this.#clock = clock;
    this.#start = start;
  }

  /** Later parsers of this request's document get this result. */
  async readAhead(flow: Flow, request: ApiRequest): Promise<void> {
    const text = bodyText(request);
    const json = parseJsonInYaml(text);
    if (json !== undefined) {
      noteRead(request, () => json);
      return;
    }
    const outcome = await new Promise<YamlOutcome>((done) => {
      this.#waiting.push(flow, { text, done });
      this.#readNext();
    });
    noteRead(request, () => documentOf(outcome));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#current?.done(STOPPED);
    await this.#endThread();
  }

  async #endThread(): Promise<void> {
    this.#idle?.cancel();
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #readNext(): void {
    if (this.#current !== undefined) return;
    const next = this.#waiting.next();
    if (next === undefined) {
      this.#endWhenIdle();
      return;
    }
    if (this.#isStopped) {
      next.item.done(STOPPED);
      this.#readNext();
      return;
    }
    this.#idle?.cancel();
    const worker = (this.#worker ??= this.#started());
    const began = this.#clock.monotonic();
    const deadline = this.#clock.timer(YAML_READ_MS, () => void worker.terminate());
    const done = (outcome: YamlOutcome): void => {
      deadline.cancel();
      this.#waiting.charge(next.flow, this.#clock.monotonic() - began);
      this.#current = undefined;
      next.item.done(outcome);
      this.#readNext();
    };
    this.#current = { text: next.item.text, done };
    worker.postMessage(next.item.text);
  }

  #started(): Worker {
    const worker = this.#start();
    worker.unref();
    worker.on('message', (outcome: YamlOutcome) => this.#current?.done(outcome));
    worker.on('error', () => this.#ended(worker));
    worker.on('exit', () => this.#ended(worker));
    return worker;
  }

  /** It ran out of memory or of time, and the next text gets another thread. */
  #ended(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#current?.done({ kind: 'too large', why: 'the YAML takes too much time or memory to read' });
  }

  #endWhenIdle(): void {
    this.#idle?.cancel();
    if (this.#worker === undefined) return;
    this.#idle = this.#clock.timer(YAML_THREAD_IDLE_MS, () => void this.#endThread());
  }
}

function documentOf(outcome: YamlOutcome): ParsedJson {
  switch (outcome.kind) {
    case 'text': {
      const { value } = parseJson(outcome.text);
      return { value, duplicates: outcome.duplicates };
    }
    case 'value':
      refuseTooManyValues(outcome.value);
      return outcome;
    case 'too large':
      throw yamlTooLarge(outcome.why);
    case 'no YAML':
      throw new YamlSyntaxError(outcome.why);
    case 'stopped':
      throw new StatusError({ code: 503, reason: 'ServiceUnavailable', message: outcome.why });
  }
}

const STOPPED: YamlOutcome = { kind: 'stopped', why: 'the server stops' };

const startYamlThread = (): Worker =>
  startThread(new URL('./yaml-thread-main.ts', import.meta.url), {
    data: undefined,
    resourceLimits: { maxOldGenerationSizeMb: YAML_THREAD_HEAP_MB },
  });
