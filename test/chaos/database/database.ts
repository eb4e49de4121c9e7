import { createSystemClock } from '@holdfast/platform';
import { waitFor } from '../../support/wait.ts';
import { brokenMessages, type Published } from '../checkers/messages.ts';
import { overlapsOf } from '../losses/judge.ts';
import { signsOf } from '../losses/workloads.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { createMembers, MEMBERS } from './members.ts';
import { createStream, isComplete, publish, readStream } from './stream.ts';
import { Way } from './way.ts';

const PUBLISHERS = ['a', 'b'] as const;
const START_DEADLINE_MS = 240_000;
const READ_WITHIN_MS = 60_000;
const PAUSE_MS = 50;
const AGAIN_MS = 200;
const SHOWN = 3;

const clock = createSystemClock();

/**
 * A database on the nodes, and clients outside of them. Each publishes one numbered message after the other, to any
 * member that answers, and under the same id until it is acknowledged.
 */
export class Database implements AsyncDisposable {
  readonly #cluster: ComposeCluster;
  readonly #way: Way;
  readonly #published: Published[] = [];
  #isOver = false;
  #running: Promise<unknown> = Promise.resolve();

  private constructor(cluster: ComposeCluster) {
    this.#cluster = cluster;
    this.#way = new Way(cluster);
  }

  /** Creates it. The clients begin when all members have the stream. */
  static async start(cluster: ComposeCluster): Promise<Database> {
    const database = new Database(cluster);
    await createMembers(cluster);
    await waitFor('the database to have a stream', () => database.#isCreated(), START_DEADLINE_MS);
    await waitFor('all members to have the stream', () => database.#isComplete(), START_DEADLINE_MS);
    database.#running = Promise.all(PUBLISHERS.map((name) => database.#publishAs(name)));
    return database;
  }

  /** Nobody publishes any more. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /** All members have the stream, and a message was acknowledged that is from after this moment. */
  async isWhole(sinceMs: number): Promise<boolean> {
    const isWritten = this.#published.some((each) => each.beganMs > sinceMs && each.acknowledged !== undefined);
    return isWritten && (await this.#isComplete());
  }

  /** After `stop`: sentences about what must not be. */
  async broken(): Promise<readonly string[]> {
    const signs = await Promise.all(MEMBERS.map((member) => signsOf(this.#cluster, member)));
    const stored = await waitFor('the stream to be read', () => this.#way.once(readStream), READ_WITHIN_MS).catch(
      () => undefined,
    );
    const wrong =
      stored === undefined
        ? [`nobody says within ${READ_WITHIN_MS / 1000} s what is in the stream`]
        : brokenMessages(this.#published, stored).slice(0, SHOWN);
    return [...signs.flatMap(overlapsOf), ...wrong.map((story) => `database: ${story}`)];
  }

  /** Waits until it is whole, ends its clients, and judges what they were told. */
  async finish(withinMs: number): Promise<readonly string[]> {
    const sinceMs = clock.monotonic();
    const whole = waitFor('the database to be whole', () => this.isWhole(sinceMs), withinMs);
    const late = await whole.then(
      () => [],
      () => [`database: not whole within ${withinMs / 1000} s`],
    );
    await this.stop();
    return [...late, ...(await this.broken())];
  }

  /** What there was to judge, and the longest time without an acknowledged message. */
  facts(): string {
    const ends = this.#published.flatMap(({ acknowledged }) => acknowledged?.atMs ?? []).toSorted((a, b) => a - b);
    const longest = Math.max(0, ...ends.slice(1).map((at, index) => at - (ends[index] ?? at)));
    return `${ends.length} messages of the database, the longest time without one ${(longest / 1000).toFixed(1)} s`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#way[Symbol.asyncDispose]();
  }

  async #publishAs(name: string): Promise<void> {
    await using way = new Way(this.#cluster);
    for (let number = 0; !this.#isOver; number++) {
      const published: Published = { message: `${name}-${number}`, beganMs: clock.monotonic() };
      this.#published.push(published);
      while (published.acknowledged === undefined && !this.#isOver) {
        const sequence = await way.once((connection) => publish(connection, published.message));
        if (sequence === undefined) await clock.sleep(AGAIN_MS);
        else published.acknowledged = { atMs: clock.monotonic(), sequence };
      }
      await clock.sleep(PAUSE_MS);
    }
  }

  async #isCreated(): Promise<boolean> {
    return (await this.#way.once(createStream)) === true;
  }

  async #isComplete(): Promise<boolean> {
    return (await this.#way.once(isComplete)) === true;
  }
}
