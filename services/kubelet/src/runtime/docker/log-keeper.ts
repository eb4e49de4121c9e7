import { type Clock, describeError, type Log, parseTime } from '@holdfast/platform';
import { isCode } from '../engine-errors.ts';
import type { LogLimits } from '../log-limits.ts';
import { type Engine, part } from './engine.ts';
import type { InspectedContainer } from './engine-types.ts';
import { FrameReader } from './frames.ts';
import { LISTEN_RETRY_MS, LOG_DRAIN_MS } from './limits.ts';
import { type LogLine, logLine, SkipKnown, sinceOf, TerminalLines } from './log-lines.ts';
import { LogWriter } from './log-writer.ts';

export interface LogKeeperDeps {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: LogLimits;
}

export interface ContainerLog {
  readonly id: string;
  readonly path: string;
  readonly tty: boolean;
}

/**
 * Carries the logs of containers from the engine, which may run elsewhere and keep them in any form, to files of the node. The engine
 * keeps what is written while no kubelet runs; the next one continues after the last line of the file.
 */
export class LogKeeper {
  readonly #deps: LogKeeperDeps;
  /** By id: resolves when the whole log of an ended container is in its file. */
  readonly #carried = new Map<string, Promise<void>>();

  constructor(deps: LogKeeperDeps) {
    this.#deps = deps;
  }

  follow(container: ContainerLog): void {
    void this.#carrying(container);
  }

  /** Resolves when the file is complete, or after a while: a container is not kept from ending by its log. */
  async drained(container: ContainerLog): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = this.#deps.clock.timer(LOG_DRAIN_MS, () => late.resolve());
    await Promise.race([this.#carrying(container), late.promise]).finally(() => timer.cancel());
  }

  /** Keeps no memory of containers that are gone. */
  forget(present: ReadonlySet<string>): void {
    for (const id of this.#carried.keys()) if (!present.has(id)) this.#carried.delete(id);
  }

  /** Resolves when nothing writes any more: files can be removed. */
  async ended(id: string): Promise<void> {
    await this.#carried.get(id);
    this.#carried.delete(id);
  }

  #carrying(container: ContainerLog): Promise<void> {
    const known = this.#carried.get(container.id);
    if (known !== undefined) return known;
    const carrying = this.#carryAll(container);
    this.#carried.set(container.id, carrying);
    return carrying;
  }

  /** Never rejects. */
  async #carryAll(container: ContainerLog): Promise<void> {
    const { engine, clock, log } = this.#deps;
    while (!engine.closed.aborted) {
      try {
        await this.#carry(container, true);
        if (!(await this.#isRunning(container.id))) {
          // An engine may close what is followed before the last lines of a container that ends.
          await this.#carry(container, false);
          return;
        }
      } catch (error) {
        if (engine.closed.aborted || isCode(error, 'NotFound')) return;
        log.warn('the log of a container is not read, will retry', { id: container.id, error: describeError(error) });
      }
      await clock.sleep(LISTEN_RETRY_MS, engine.closed).catch(() => undefined);
    }
  }

  async #isRunning(id: string): Promise<boolean> {
    const path = `/containers/${part(id)}/json`;
    const { State } = await this.#deps.engine.json<InspectedContainer>({ method: 'GET', path });
    return State.Running;
  }

  /** Followed: until the container ends or the engine goes away. */
  async #carry({ id, path, tty }: ContainerLog, follow: boolean): Promise<void> {
    const { engine, limits } = this.#deps;
    const { writer, place } = await LogWriter.open(path, limits);
    try {
      const since = place === undefined ? undefined : sinceOf(place, parseTime);
      const answer = await engine.open({
        method: 'GET',
        path: `/containers/${part(id)}/logs`,
        query: { ...EVERYTHING, follow: String(follow), ...(since === undefined ? {} : { since }) },
      });
      const skip = new SkipKnown(place);
      for await (const lines of linesOf(answer, tty)) await writer.append(lines.filter((line) => !skip.isKnown(line)));
    } finally {
      await writer.close();
    }
  }
}

const EVERYTHING = { stdout: 'true', stderr: 'true', timestamps: 'true' };

async function* linesOf(answer: AsyncIterable<Buffer>, tty: boolean): AsyncGenerator<readonly LogLine[]> {
  const frames = new FrameReader();
  const lines = new TerminalLines();
  for await (const chunk of answer) {
    if (tty) yield lines.push(chunk).map((bytes) => logLine('stdout', bytes));
    else yield frames.push(chunk).map(({ output, bytes }) => logLine(output, bytes));
  }
  yield lines.rest().map((bytes) => logLine('stdout', bytes));
}
