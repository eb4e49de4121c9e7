import { request } from 'node:https';
import { createInterface } from 'node:readline';
import type { Target } from './tls-connection.ts';

interface WatchedPod {
  readonly metadata: {
    readonly name: string;
    readonly deletionTimestamp?: string;
    readonly resourceVersion: string;
  };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** The pods of a workload at one revision. */
export interface Counts {
  /** There, and not on their way out. */
  readonly active: number;
  readonly running: number;
  readonly ready: number;
  /** Including terminating ones. */
  readonly all: number;
}

/** Watches the pods of one namespace and reports the counts after every event, in revision order. */
export class PodCounter {
  readonly #pods = new Map<string, WatchedPod>();
  readonly #counts = { active: 0, running: 0, ready: 0, all: 0 };
  readonly #close: () => void;
  onEvent: (counts: Counts) => void = () => {};

  private constructor(close: () => void) {
    this.#close = close;
  }

  static open({ host, port, token }: Target, namespace: string): Promise<PodCounter> {
    return new Promise((resolve, reject) => {
      const path = `/api/v1/namespaces/${namespace}/pods?watch=1&resourceVersion=0`;
      const headers = { authorization: `Bearer ${token}` };
      const sent = request({ host, port, path, headers, rejectUnauthorized: false, agent: false }, (answer) => {
        const watch = new PodCounter(() => sent.destroy());
        const lines = createInterface({ input: answer });
        lines.on('line', (line) => watch.#take(JSON.parse(line)));
        // Closing the watch ends its answer early.
        lines.on('error', () => {});
        resolve(watch);
      });
      sent.on('error', reject);
      sent.end();
    });
  }

  counts(): Counts {
    return { ...this.#counts };
  }

  /** Resolves when the counts reach the condition. */
  until(isReached: (counts: Counts) => boolean, deadlineMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`not reached in ${deadlineMs} ms: ${JSON.stringify(this.#counts)}`)),
        deadlineMs,
      );
      const before = this.onEvent;
      const look = (): boolean => {
        if (!isReached(this.#counts)) return false;
        clearTimeout(timer);
        this.onEvent = before;
        resolve();
        return true;
      };
      if (look()) return;
      this.onEvent = (counts) => {
        before(counts);
        look();
      };
    });
  }

  close(): void {
    this.#close();
  }

  #take({ type, object }: { readonly type: string; readonly object: WatchedPod }): void {
    if (type === 'BOOKMARK') return;
    const { name } = object.metadata;
    this.#add(this.#pods.get(name), -1);
    if (type === 'DELETED') this.#pods.delete(name);
    else {
      this.#pods.set(name, object);
      this.#add(object, 1);
    }
    this.onEvent(this.#counts);
  }

  #add(pod: WatchedPod | undefined, by: number): void {
    if (pod === undefined) return;
    this.#counts.all += by;
    if (pod.metadata.deletionTimestamp !== undefined) return;
    this.#counts.active += by;
    if (pod.status?.phase === 'Running') this.#counts.running += by;
    if (pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true) {
      this.#counts.ready += by;
    }
  }
}
