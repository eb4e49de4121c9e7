import { CONFIG_MAPS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { createSystemClock } from '@holdfast/platform';

const NAMESPACE = 'default';
const PAUSE_MS = 50;
const AGAIN_MS = 100;
/** A server that needs longer is left for the next one; the write can be repeated. */
const PATIENCE_MS = 2_000;

export const PATIENT = 'patient-';

/** A write from its first attempt to the answer that it is stored. */
export interface Answered {
  readonly beganMs: number;
  readonly endedMs: number;
}

const clock = createSystemClock();

/**
 * Clients that write one object each, again and again, and ask the next API server after every refusal: what they are
 * told in the end is what a user of a cluster notices of a fault.
 */
export class PatientClients {
  readonly answered: Answered[] = [];
  readonly #users: readonly ApiClient[];
  readonly #running: Promise<unknown>;
  /** By the name of the object: the last content that was acknowledged. */
  readonly #stored = new Map<string, number>();
  /** Sentences about what was acknowledged and not there later. */
  readonly #gone = new Set<string>();
  /** Attempts that nobody waits for any more, too. */
  readonly #underWay = new Set<Promise<boolean>>();
  #isOver = false;

  constructor(users: readonly ApiClient[]) {
    this.#users = users;
    this.#running = Promise.all(users.map((_, first) => this.#run(first)));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.all(this.#underWay);
  }

  /** Sentences about what must not be. `within`: how long a write may have taken, in seconds. */
  async broken(admin: ApiClient, within: number | undefined): Promise<readonly string[]> {
    const { items } = await admin.list(CONFIG_MAPS, { namespace: NAMESPACE });
    const lost = [...this.#stored].flatMap(([name, count]) => {
      const found = Number(items.find(({ metadata }) => metadata.name === name)?.data?.['count'] ?? Number.NaN);
      // One more may be stored, whose answer nobody waited for.
      return found >= count ? [] : [`${name} has ${found}, and ${count} was acknowledged`];
    });
    const slow = this.answered.filter((each) => within !== undefined && lengthOf(each) > within * 1000);
    return [
      ...this.#gone,
      ...lost,
      ...slow
        .slice(0, 1)
        .map((each) => `a write took ${(lengthOf(each) / 1000).toFixed(1)} s, and ${within} s are the limit`),
    ];
  }

  /** The longest time without an acknowledged write of anybody between two moments. */
  longestWithout(fromMs: number, toMs: number): number {
    const ends = this.answered.map(({ endedMs }) => endedMs).toSorted((a, b) => a - b);
    const within = ends.filter((at) => at > fromMs && at < toMs);
    const places = [fromMs, ...within, toMs];
    return Math.max(...places.slice(1).map((at, i) => at - (places[i] ?? at)));
  }

  facts(): string {
    const longest = Math.max(0, ...this.answered.map(lengthOf));
    return `${this.answered.length} writes of patient clients, the slowest ${(longest / 1000).toFixed(1)} s`;
  }

  async #run(first: number): Promise<void> {
    const name = `${PATIENT}${first}`;
    for (let count = 0, turn = first; !this.#isOver; count++) {
      const beganMs = clock.monotonic();
      while (!(await this.#attempt(turn, name, count))) {
        turn++;
        if (this.#isOver) return void this.answered.push({ beganMs, endedMs: clock.monotonic() });
        await clock.sleep(AGAIN_MS);
      }
      this.answered.push({ beganMs, endedMs: clock.monotonic() });
      this.#stored.set(name, count);
      await clock.sleep(PAUSE_MS);
    }
  }

  /** Each write reads first: what was acknowledged before has to be there, or something newer. */
  #look(name: string, found: number, least: number | undefined): void {
    // Not `found < least`: no number was found where the object is gone.
    if (least !== undefined && !(found >= least))
      this.#gone.add(`${name} had ${found} at a time, and ${least} was acknowledged before`);
  }

  async #attempt(turn: number, name: string, count: number): Promise<boolean> {
    const user = this.#users[turn % this.#users.length];
    const late = new AbortController();
    const tooLate = clock.sleep(PATIENCE_MS, late.signal).then(
      () => false,
      () => false,
    );
    const least = this.#stored.get(name);
    const written = write(user, name, count, (found) => this.#look(name, found, least)).then(
      () => true,
      () => false,
    );
    this.#underWay.add(written);
    void written.then(() => this.#underWay.delete(written));
    const isStored = await Promise.race([written, tooLate]);
    late.abort();
    return isStored;
  }
}

const lengthOf = ({ beganMs, endedMs }: Answered): number => endedMs - beganMs;

/**
 * An attempt that comes late changes nothing: it finds something newer, or what it found is not the newest any more.
 */
async function write(
  user: ApiClient | undefined,
  name: string,
  count: number,
  look: (found: number) => void,
): Promise<void> {
  const target = { namespace: NAMESPACE, name };
  const data = { count: String(count) };
  const found = await user?.find(CONFIG_MAPS, target);
  const stored = Number(found?.data?.['count'] ?? Number.NaN);
  look(stored);
  if (stored >= count) return;
  if (found !== undefined) return void (await user?.update(CONFIG_MAPS, { ...found, data }));
  await user?.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: target, data });
}
