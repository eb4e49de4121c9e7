import { EVENTS, type Event, type KubeObject, type ObjectReference } from '@holdfast/api';
import { isNamespaceTerminating, StatusError } from '@holdfast/machinery';
import { type Clock, Fifo, type Ids, type Log, type Service } from '@holdfast/platform';
import type { EventDraft } from './event-correlator.ts';
import { createEventForm, type EventForm, type EventFormName } from './event-forms.ts';
import {
  EVENT_ATTEMPTS_MAX,
  EVENT_LATE_TURN_MS,
  EVENT_PATIENCE_MS,
  EVENT_QUEUE_MAX,
  EVENT_RETRY_MS,
  EVENTS_PER_TURN,
} from './limits.ts';
import type { ApiClient, EventRecorder } from './port.ts';

export interface EventRecorderOptions {
  readonly client: ApiClient;
  /** `source.component` and `reportingComponent`: `default-scheduler`, `kubelet`. */
  readonly component: string;
  /** `source.host`, for components of a node. In the `series` form it is a part of `reportingInstance`. */
  readonly host?: string | undefined;
  /** Default: `classic`. */
  readonly form?: EventFormName;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export interface RunningEventRecorder extends EventRecorder, Service {
  /** Events lost because the queue was full, the object exceeded its budget, or the API rejected them. */
  dropped(): number;
  waiting(): number;
}

/**
 * Writes events one after another in the background. It writes several in each turn of the event loop, but only one
 * when turns are late: then the process is busy with client work. `stop` drops the queued events.
 */
export function createEventRecorder(options: EventRecorderOptions): RunningEventRecorder {
  return new BackgroundRecorder(options);
}

interface Waiting {
  readonly reference: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly action?: string;
  readonly related?: ObjectReference;
  readonly key: string;
  readonly atMs: number;
  readonly sinceMs: number;
  lastAtMs: number;
  times: number;
}

const STOPPING = new Error('the event recorder is stopping');

class BackgroundRecorder implements RunningEventRecorder {
  readonly name: string;
  readonly #options: EventRecorderOptions;
  /** Made with the first event: most controllers of a cluster of a test write none. */
  #made: EventForm | undefined;
  readonly #waiting = new Fifo<Waiting>();
  readonly #waitingByKey = new Map<string, Waiting>();
  readonly #stopping = new AbortController();
  #writing: Promise<void> | undefined;
  #lastNanos = 0n;
  #dropped = 0;

  constructor(options: EventRecorderOptions) {
    this.name = `event recorder of ${options.component}`;
    this.#options = options;
  }

  get #form(): EventForm {
    const { component, host, form = 'classic', clock } = this.#options;
    return (this.#made ??= createEventForm(form, { component, host }, { clock }));
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.#stopping.abort(STOPPING);
    await this.#writing;
  }

  dropped(): number {
    return this.#dropped;
  }

  waiting(): number {
    return this.#waiting.size;
  }

  event(about: KubeObject, event: Parameters<EventRecorder['event']>[1]): void {
    if (this.#stopping.signal.aborted) return;
    const { clock } = this.#options;
    const nowMs = clock.now();
    const key = keyOf(about, event);
    const same = this.#waitingByKey.get(key);
    if (same !== undefined) {
      same.times++;
      same.lastAtMs = nowMs;
      return;
    }
    if (this.#waiting.size >= EVENT_QUEUE_MAX) {
      this.#dropped++;
      return;
    }
    const { fieldPath, related, ...text } = event;
    const reference = fieldPath === undefined ? referenceTo(about) : { ...referenceTo(about), fieldPath };
    const other = related === undefined ? {} : { related: referenceTo(related) };
    const sinceMs = clock.monotonic();
    const waiting = { ...text, ...other, key, reference, atMs: nowMs, lastAtMs: nowMs, sinceMs, times: 1 };
    this.#waiting.push(waiting);
    this.#waitingByKey.set(key, waiting);
    this.#writing ??= this.#drain();
  }

  #next(): Waiting | undefined {
    const next = this.#waiting.shift();
    if (next !== undefined) this.#waitingByKey.delete(next.key);
    return next;
  }

  async #drain(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    do {
      const askedMs = clock.monotonic();
      // Yields before the first event, too: the caller of `event` must not run the client's code.
      await clock.sleep(0, signal).catch(() => {});
      const isBusy = clock.monotonic() - askedMs > EVENT_LATE_TURN_MS;
      if (!signal.aborted) await this.#turn(isBusy);
    } while (this.#waiting.size > 0 && !signal.aborted);
    this.#writing = undefined;
  }

  async #turn(isBusy: boolean): Promise<void> {
    for (let written = 0; written < EVENTS_PER_TURN; written++) {
      const next = this.#next();
      if (next === undefined || this.#stopping.signal.aborted) return;
      await this.#record(next);
      const isLate = this.#options.clock.monotonic() - next.sinceMs >= EVENT_PATIENCE_MS;
      if (isBusy && !isLate) return;
    }
  }

  async #record(event: Waiting): Promise<void> {
    const draft = this.#form.correlator.correlate(event);
    if (draft === undefined) this.#dropped++;
    else await this.#deliver(draft);
  }

  async #deliver(draft: EventDraft): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stopping;
    for (let attempt = 1; attempt <= EVENT_ATTEMPTS_MAX && !signal.aborted; attempt++) {
      try {
        this.#form.correlator.remember(draft, await this.#write(draft));
        return;
      } catch (error) {
        if (isRefusal(error) || attempt === EVENT_ATTEMPTS_MAX) {
          this.#dropped++;
          log[isNamespaceTerminating(error) ? 'debug' : 'warn']('an event was not recorded', {
            reason: draft.reason,
            error,
          });
          return;
        }
        await clock.sleep(EVENT_RETRY_MS, signal).catch(() => {});
      }
    }
  }

  async #write(draft: EventDraft): Promise<Event> {
    const { client } = this.#options;
    const namespace = draft.reference.namespace ?? 'default';
    if (draft.name !== undefined) {
      const body = this.#form.again(draft);
      try {
        return await client.patch(EVENTS, { namespace, name: draft.name }, { type: 'merge', body });
      } catch (error) {
        if (!(error instanceof StatusError && error.code === 404)) throw error;
      }
    }
    return client.create(EVENTS, this.#compose(draft, namespace));
  }

  /**
   * Formats the nanoseconds of a name as Kubernetes does. Lists, and so `kubectl describe`, then show the events of one
   * second in order. The part below a millisecond is arbitrary, because other recorders name events of the same
   * objects.
   */
  #suffix(atMs: number): string {
    const nanos = BigInt(Math.trunc(atMs)) * NANOS_PER_MS + BigInt(fractionOf(this.#options.ids.suffix(16)));
    this.#lastNanos = nanos > this.#lastNanos ? nanos : this.#lastNanos + 1n;
    return this.#lastNanos.toString(16).padStart(16, '0');
  }

  #compose(draft: EventDraft, namespace: string): Event {
    const { annotations, action, related } = draft;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {
        name: `${draft.reference.name}.${this.#suffix(draft.firstAtMs)}`,
        namespace,
        ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
      },
      involvedObject: draft.reference,
      reason: draft.reason,
      message: draft.message,
      type: draft.type,
      ...(action === undefined ? {} : { action }),
      ...(related === undefined ? {} : { related }),
      ...this.#form.told(draft),
    };
  }
}

const NANOS_PER_MS = 1_000_000n;

/** Derives a number of nanoseconds below one millisecond from the text. */
function fractionOf(text: string): number {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum = (sum * 31 + text.charCodeAt(i)) % Number(NANOS_PER_MS);
  return sum;
}

/** Equal queued events count as one event that happened several times. */
function keyOf(
  { kind, metadata: { uid, name, namespace } }: KubeObject,
  event: Parameters<EventRecorder['event']>[1],
): string {
  const { type, reason, fieldPath = '', message, annotations } = event;
  const noted = annotations === undefined ? '' : JSON.stringify(annotations);
  return `${kind}/${namespace ?? ''}/${name ?? ''}/${uid ?? ''}/${type}/${reason}/${fieldPath}/${noted}/${message}`;
}

/** True when the server validated and rejected the event: a retry cannot help. */
function isRefusal(error: unknown): boolean {
  return error instanceof StatusError && error.code >= 400 && error.code < 500 && error.code !== 429;
}

function referenceTo(object: KubeObject): ObjectReference {
  const { name, namespace, uid, resourceVersion } = object.metadata;
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}
