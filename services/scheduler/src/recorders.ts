import type { KubeObject } from '@holdfast/api';
import { createEventRecorder, type EventRecorder, type RunningEventRecorder } from '@holdfast/client';
import { EVENT_MESSAGE_MAX } from './limits.ts';
import type { SchedulerDeps } from './scheduler-deps.ts';

/** Behind a message that is too long; the condition of the pod has all of it. */
const CUT = ' ...';

/** Who writes events: one recorder per profile, because its name is in them. */
export class Recorders {
  readonly #byName: ReadonlyMap<string, RunningEventRecorder>;

  constructor({ client, clock, ids, log }: SchedulerDeps, schedulerNames: Iterable<string>) {
    this.#byName = new Map(
      [...schedulerNames].map((component) => [component, createEventRecorder({ client, component, clock, ids, log })]),
    );
  }

  of(schedulerName: string): EventRecorder {
    const recorder = this.#byName.get(schedulerName);
    if (recorder === undefined) throw new Error(`no profile is called ${schedulerName}`);
    return recorder;
  }

  failed(about: KubeObject, schedulerName: string, message: string): void {
    const told =
      message.length <= EVENT_MESSAGE_MAX ? message : `${message.slice(0, EVENT_MESSAGE_MAX - CUT.length)}${CUT}`;
    this.of(schedulerName).event(about, {
      type: 'Warning',
      reason: 'FailedScheduling',
      action: 'Scheduling',
      message: told,
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
