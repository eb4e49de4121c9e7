import { type Clock, describeError, type Log, type Random, type Service } from '@holdfast/platform';
import { Gate, type Life } from './gate.ts';
import { CRASH_MS_MAX } from './limits.ts';

/** A component between its start and its end. */
export interface Incarnation extends Service {
  /** Frees what the end of its process would free. What runs outside of it, such as pods, stays. */
  abandon(): Promise<void>;
}

export interface ActorOptions {
  /** `node-1`, `scheduler`: its name in scenario files. */
  readonly name: string;
  readonly kind: 'node' | 'master';
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** `isFirst`: the cluster starts. */
  readonly create: (life: Life, isFirst: boolean) => Incarnation;
}

/** A component that can be cut off, stopped and killed. Its cluster knows it as an ordinary service. */
export class Actor implements Service {
  readonly name: string;
  readonly kind: ActorOptions['kind'];
  readonly gate: Gate;
  readonly #options: ActorOptions;
  #current: { readonly incarnation: Incarnation; readonly kill: AbortController } | undefined;
  /** Kills and starts follow each other. */
  #lastWork: Promise<void> = Promise.resolve();

  constructor(options: ActorOptions) {
    this.name = options.name;
    this.kind = options.kind;
    this.gate = new Gate(options.random);
    this.#options = options;
    this.#current = this.#create(true);
  }

  get isDown(): boolean {
    return this.#current === undefined;
  }

  async start(): Promise<void> {
    await this.#current?.incarnation.start();
  }

  /** Its process ends without any preparation. */
  crash(): void {
    const killed = this.#current;
    if (killed === undefined) return;
    this.#current = undefined;
    killed.kill.abort();
    this.#work(`the end of ${this.name}`, async () => {
      const giveUp = this.#options.clock.sleep(CRASH_MS_MAX);
      await Promise.race([killed.incarnation.abandon(), giveUp]);
    });
  }

  revive(): void {
    if (this.#current !== undefined) return;
    this.#work(`the start of ${this.name}`, async () => {
      if (this.#current !== undefined) return;
      this.#current = this.#create(false);
      await this.#current.incarnation.start();
    });
  }

  async stop(): Promise<void> {
    this.revive();
    await this.#lastWork;
    await this.#current?.incarnation.stop();
  }

  #create(isFirst: boolean) {
    const kill = new AbortController();
    const life: Life = { gate: this.gate, over: kill.signal };
    return { kill, incarnation: this.#options.create(life, isFirst) };
  }

  #work(what: string, run: () => Promise<void>): void {
    this.#lastWork = this.#lastWork.then(run).catch((error: unknown) => {
      this.#options.log.error(`${what} failed`, { error: describeError(error) });
    });
  }
}
