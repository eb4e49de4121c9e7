import { PODS, type Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { createSystemClock } from '@holdfast/platform';
import type { Step } from '../../sim/hunt/plan.ts';
import { LOSSES } from '../../sim/hunt/recovery.ts';

const POLL_MS = 100;

interface Loss {
  readonly what: Step['do'];
  readonly atMs: number;
  readonly deadline: number;
}

const clock = createSystemClock();

/** As in the simulator: when a node is lost for longer, its identities run on another node by then. */
export class Recoveries {
  readonly #admin: ApiClient;
  readonly #say: (line: string) => void;
  readonly #awaited: Promise<string | undefined>[] = [];

  constructor(admin: ApiClient, say: (line: string) => void) {
    this.#admin = admin;
    this.#say = say;
  }

  /** Before the step begins. `lasts` and `within`: seconds. */
  async expect({ do: what, target }: Step, lasts: number, within: number | undefined): Promise<void> {
    if (within === undefined || !LOSSES.has(what) || lasts <= within) return;
    const lost = (await identitiesNow(this.#admin)).filter(({ spec }) => spec.nodeName === target);
    const atMs = clock.monotonic();
    const loss = { what, atMs, deadline: atMs + within * 1000 };
    for (const pod of lost) this.#awaited.push(this.#await(pod, loss));
  }

  /** Resolves with sentences about those that came too late. */
  async late(): Promise<readonly string[]> {
    return (await Promise.all(this.#awaited)).flatMap((each) => each ?? []);
  }

  async #await(pod: Pod, { what, atMs, deadline }: Loss): Promise<string | undefined> {
    const { name } = pod.metadata;
    for (;;) {
      const now = await identitiesNow(this.#admin).catch((): readonly Pod[] => []);
      const runs = now.find((each) => each.metadata.name === name && each.metadata.uid !== pod.metadata.uid);
      if (runs?.status.phase === 'Running' && runs.spec.nodeName !== pod.spec.nodeName) {
        this.#say(`  ${name} runs on ${runs.spec.nodeName} after ${((clock.monotonic() - atMs) / 1000).toFixed(1)} s`);
        return undefined;
      }
      if (clock.monotonic() > deadline) break;
      await clock.sleep(POLL_MS);
    }
    const seconds = ((deadline - atMs) / 1000).toFixed(0);
    return `${name} of ${pod.spec.nodeName} (${what}) did not run elsewhere within ${seconds} s`;
  }
}

async function identitiesNow(admin: ApiClient): Promise<readonly Pod[]> {
  const { items } = await admin.list(PODS, { namespace: 'default', labelSelector: 'app in (db,database)' });
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}
