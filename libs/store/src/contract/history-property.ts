import { test } from 'node:test';
import fc from 'fast-check';
import type { Revision, Store, StoreKey, WriteOperation, WriteResult } from '../port.ts';
import { checkHistory, type HistoryEvent } from './history-check.ts';
import { type CreateStore, changesUpTo, pod, withStore } from './support.ts';

export interface StoreHistoryOptions {
  readonly runs: number;
  readonly stepsPerClient: number;
}

type Verb = 'create' | 'update' | 'staleUpdate' | 'delete';
type Step =
  | { readonly kind: 'write'; readonly targets: readonly { readonly key: StoreKey; readonly verb: Verb }[] }
  | { readonly kind: 'get'; readonly key: StoreKey }
  | { readonly kind: 'list'; readonly limit: number | undefined };

const PREFIX = 'core/pods/default/';
const KEYS = ['a', 'b', 'c', 'd', 'e'].map((name) => pod(name));

/** Registers the property: the answers to concurrent clients and the changes agree on one history. */
export function storeHistoryProperty(name: string, createStore: CreateStore, options: StoreHistoryOptions): void {
  void test(`${name}: any concurrent use is linearizable per key and is what the changes tell`, async () => {
    const programs = fc.array(fc.array(arbitraryStep(), { maxLength: options.stepsPerClient }), {
      minLength: 2,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(programs, (clients) => withStore(createStore, (store) => runAndCheck(store, clients))),
      { numRuns: options.runs },
    );
  });
}

function arbitraryStep(): fc.Arbitrary<Step> {
  const key = fc.constantFrom(...KEYS);
  const verb = fc.constantFrom<Verb>('create', 'update', 'update', 'staleUpdate', 'delete');
  const targets = fc.uniqueArray(fc.record({ key, verb }), {
    selector: (target) => target.key,
    minLength: 1,
    maxLength: 3,
  });
  return fc.oneof(
    { weight: 5, arbitrary: targets.map((list): Step => ({ kind: 'write', targets: list })) },
    { weight: 2, arbitrary: key.map((one): Step => ({ kind: 'get', key: one })) },
    { weight: 1, arbitrary: fc.constantFrom(undefined, 2).map((limit): Step => ({ kind: 'list', limit })) },
  );
}

async function runAndCheck(store: Store, programs: readonly (readonly Step[])[]): Promise<void> {
  const recorder = new Recorder(store);
  await Promise.all(programs.map((steps, client) => recorder.runClient(client, steps)));
  const revision = await store.currentRevision();
  checkHistory(recorder.events, await changesUpTo(store, 0, revision));
}

class Recorder {
  readonly events: HistoryEvent[] = [];
  readonly #store: Store;
  #moment = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  async runClient(client: number, steps: readonly Step[]): Promise<void> {
    const known = new Map<StoreKey, Revision>();
    for (const [index, step] of steps.entries()) await this.#run(step, known, `${client}.${index}`);
  }

  async #run(step: Step, known: Map<StoreKey, Revision>, tag: string): Promise<void> {
    const began = this.#moment++;
    if (step.kind === 'write') {
      const operations = step.targets.map(({ key, verb }) => operationOf(verb, key, known.get(key), `${tag}.${key}`));
      const result = await this.#store.write(operations, { writeId: tag });
      this.events.push({ kind: 'write', operations, result, began, ended: this.#moment++ });
      learn(known, operations, result);
      return;
    }
    const read = step.kind === 'get' ? await this.#get(step.key) : await this.#list(step.limit);
    this.events.push({ kind: 'read', began, ended: this.#moment++, ...read });
  }

  async #get(key: StoreKey): Promise<{ revision: Revision; values: Map<StoreKey, string | undefined> }> {
    const { revision, object } = await this.#store.get(key);
    return { revision, values: new Map([[key, object?.value]]) };
  }

  async #list(limit: number | undefined): Promise<{ revision: Revision; values: Map<StoreKey, string | undefined> }> {
    const page = await this.#store.list(PREFIX, limit === undefined ? {} : { limit });
    const seen = new Map(page.objects.map((object) => [object.key, object.value]));
    const last = page.objects.at(-1)?.key ?? '';
    const covered = KEYS.filter((key) => !page.more || key <= last);
    return { revision: page.revision, values: new Map(covered.map((key) => [key, seen.get(key)])) };
  }
}

function operationOf(verb: Verb, key: StoreKey, known: Revision | undefined, value: string): WriteOperation {
  const expectedRevision = known ?? 1;
  switch (verb) {
    case 'create':
      return { kind: 'create', key, value };
    case 'update':
      return { kind: 'update', key, value, expectedRevision };
    case 'staleUpdate':
      return { kind: 'update', key, value, expectedRevision: Math.max(1, expectedRevision - 1) };
    case 'delete':
      return { kind: 'delete', key, value, expectedRevision };
  }
}

function learn(known: Map<StoreKey, Revision>, operations: readonly WriteOperation[], result: WriteResult): void {
  if (result.outcome === 'committed') {
    for (const [index, operation] of operations.entries()) known.set(operation.key, result.firstRevision + index);
    return;
  }
  const key = operations[result.index]?.key ?? '';
  if (result.outcome !== 'notFound') known.set(key, result.currentRevision);
}
