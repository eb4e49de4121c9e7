import type { KubeObject } from '@holdfast/api';
import { createEventRecorder, type EventRecorder, type RunningEventRecorder } from '@holdfast/client';
import { EVENT_MESSAGE_BYTES_MAX } from './limits.ts';
import type { SchedulerDeps } from './scheduler-deps.ts';

/** Marks a truncated message; the pod's condition has all of it. */
const CUT = ' ...';

/** One event recorder per profile, because events contain its name. */
export class Recorders {
  readonly #byName: ReadonlyMap<string, RunningEventRecorder>;

  constructor({ client, clock, ids, log, host }: SchedulerDeps, schedulerNames: Iterable<string>) {
    const same = { client, clock, ids, log, host, form: 'series' } as const;
    this.#byName = new Map(
      [...schedulerNames].map((component) => [component, createEventRecorder({ ...same, component })]),
    );
  }

  of(schedulerName: string): EventRecorder {
    const recorder = this.#byName.get(schedulerName);
    if (recorder === undefined) throw new Error(`no profile is called ${schedulerName}`);
    return recorder;
  }

  failed(about: KubeObject, schedulerName: string, message: string): void {
    this.of(schedulerName).event(about, {
      type: 'Warning',
      reason: 'FailedScheduling',
      action: 'Scheduling',
      message: cut(message),
    });
  }

  counts(): { readonly dropped: number; readonly waiting: number } {
    let [dropped, waiting] = [0, 0];
    for (const recorder of this.#byName.values()) {
      dropped += recorder.dropped();
      waiting += recorder.waiting();
    }
    return { dropped, waiting };
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#byName.values()].map((recorder) => recorder.stop()));
  }
}

/** Truncates to the API's limit, which counts bytes. */
function cut(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= EVENT_MESSAGE_BYTES_MAX) return message;
  const kept = bytes.subarray(0, EVENT_MESSAGE_BYTES_MAX - CUT.length).toString();
  return `${kept.replace(/\uFFFD$/, '')}${CUT}`;
}
