/** One request of a client, with what it was told. All times are of one monotonic clock. */
export interface Operation<Input, Output> {
  readonly process: string;
  readonly input: Input;
  /** Absent: nobody knows whether it has happened, or whether it happens later. */
  readonly output?: Output;
  readonly beganMs: number;
  /** Ignored without an output. */
  readonly endedMs: number;
}

/** What one object does, one operation after the other. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  /**
   * The state after the operation; `undefined`: from here it cannot have had this output. Without an output it may have
   * had any.
   */
  step(state: State, input: Input, output: Output | undefined): { readonly state: State } | undefined;
  /** Equal states have equal names. */
  nameOf(state: State): string;
  inWords(input: Input, output: Output | undefined): string;
}

export type Judgement =
  | { readonly kind: 'linearizable' }
  /** The search has used its steps: neither shown to be right nor to be wrong. */
  | { readonly kind: 'undecided' }
  | { readonly kind: 'broken'; readonly story: string };

const STEPS_MAX = 300_000;

/**
 * Whether the operations on one object can have happened one after the other, each between its beginning and its end
 * (the search of Wing and Gong, which remembers where it has been, as Lowe, Knossos and Porcupine do). One whose outcome
 * is unknown may have happened at any time after its beginning, or never.
 */
export function judgeOperations<State, Input, Output>(
  model: Model<State, Input, Output>,
  operations: readonly Operation<Input, Output>[],
  stepsMax = STEPS_MAX,
): Judgement {
  return new Search(model, operations).run(stepsMax);
}

interface Frame<State, Input, Output> {
  readonly state: State;
  readonly choices: readonly Entry<Input, Output>[];
  /** The operation that led here. */
  readonly taken: Entry<Input, Output> | undefined;
  next: number;
}

interface Entry<Input, Output> {
  readonly operation: Operation<Input, Output>;
  readonly index: number;
  isDone: boolean;
}

class Search<State, Input, Output> {
  readonly #model: Model<State, Input, Output>;
  readonly #ended: readonly Entry<Input, Output>[];
  readonly #open: readonly Entry<Input, Output>[];
  readonly #seen = new Set<string>();
  /** All ended operations before this one are done. */
  #first = 0;
  #done = 0;
  #deepest: { readonly done: number; readonly story: string } = { done: -1, story: '' };

  constructor(model: Model<State, Input, Output>, operations: readonly Operation<Input, Output>[]) {
    this.#model = model;
    const entries = (of: readonly Operation<Input, Output>[]): readonly Entry<Input, Output>[] =>
      of.toSorted((a, b) => a.beganMs - b.beganMs).map((operation, index) => ({ operation, index, isDone: false }));
    this.#ended = entries(operations.filter(({ output }) => output !== undefined));
    this.#open = entries(operations.filter(({ output }) => output === undefined));
  }

  run(stepsMax: number): Judgement {
    const stack = [this.#frame(this.#model.initial, undefined)];
    for (let steps = 0; steps < stepsMax; steps++) {
      const frame = stack.at(-1);
      if (frame === undefined) return { kind: 'broken', story: this.#deepest.story };
      if (this.#done === this.#ended.length) return { kind: 'linearizable' };
      const choice = frame.choices[frame.next++];
      if (choice === undefined) {
        stack.pop();
        if (frame.taken !== undefined) this.#take(frame.taken, false);
        continue;
      }
      const { input, output } = choice.operation;
      const after = this.#model.step(frame.state, input, output);
      if (after === undefined) continue;
      // What may have happened and has changed nothing need not have happened.
      if (output === undefined && this.#model.nameOf(after.state) === this.#model.nameOf(frame.state)) continue;
      this.#take(choice, true);
      if (this.#isNew(after.state)) stack.push(this.#frame(after.state, choice));
      else this.#take(choice, false);
    }
    return { kind: 'undecided' };
  }

  #frame(state: State, taken: Entry<Input, Output> | undefined): Frame<State, Input, Output> {
    const choices = this.#choices();
    if (this.#done > this.#deepest.done) this.#deepest = { done: this.#done, story: this.#stuckAt(state, choices) };
    return { state, choices, taken, next: 0 };
  }

  /** What may come next: everything that began before the first of the others ended. */
  #choices(): readonly Entry<Input, Output>[] {
    const choices: Entry<Input, Output>[] = [];
    let limit = Number.POSITIVE_INFINITY;
    for (let at = this.#first; at < this.#ended.length; at++) {
      const entry = this.#ended[at];
      if (entry === undefined || entry.operation.beganMs > limit) break;
      if (entry.isDone) continue;
      choices.push(entry);
      limit = Math.min(limit, entry.operation.endedMs);
    }
    return [...choices, ...this.#open.filter(({ isDone, operation }) => !isDone && operation.beganMs <= limit)];
  }

  #take(entry: Entry<Input, Output>, isDone: boolean): void {
    entry.isDone = isDone;
    if (entry.operation.output === undefined) return;
    this.#done += isDone ? 1 : -1;
    if (!isDone) this.#first = Math.min(this.#first, entry.index);
    while (this.#ended[this.#first]?.isDone === true) this.#first++;
  }

  /** Two ways that have done the same operations and are in the same state have the same future. */
  #isNew(state: State): boolean {
    const ahead: number[] = [];
    for (let at = this.#first, left = this.#done - this.#first; left > 0; at++) {
      if (this.#ended[at]?.isDone !== true) continue;
      ahead.push(at);
      left--;
    }
    const open = this.#open.filter(({ isDone }) => isDone).map(({ index }) => index);
    const name = `${this.#first} ${ahead.join(',')} ${open.join(',')} ${this.#model.nameOf(state)}`;
    const isNew = !this.#seen.has(name);
    this.#seen.add(name);
    return isNew;
  }

  #stuckAt(state: State, choices: readonly Entry<Input, Output>[]): string {
    const next = choices.map(({ operation: { process, input, output, beganMs, endedMs } }) => {
      const until = output === undefined ? 'open' : `${Math.round(endedMs)}`;
      return `${process}: ${this.#model.inWords(input, output)} (${Math.round(beganMs)}..${until} ms)`;
    });
    return `after ${this.#done} operations the state is ${this.#model.nameOf(state)}, and none of these leads on: ${next.join('; ')}`;
  }
}
