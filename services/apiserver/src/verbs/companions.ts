import type { KubeObject } from '@holdfast/api';
import { invariant } from '@holdfast/platform';
import type { WriteOperation, WriteResult } from '@holdfast/store';
import type { WriteCompanion } from '../admission/port.ts';

/** Writes an object; the operations of companions follow its own. */
export type StoreObject = (object: KubeObject, companions: readonly WriteOperation[]) => Promise<WriteResult>;

/** Each companion runs inside the one before it: it sees the object as the earlier ones have completed it. */
export function writeAccompanied(
  companions: readonly WriteCompanion[],
  object: KubeObject,
  store: StoreObject,
): Promise<WriteResult> {
  const run = (index: number, current: KubeObject, before: readonly WriteOperation[]): Promise<WriteResult> => {
    const companion = companions[index];
    if (companion === undefined) return storeWith(store, current, before);
    return companion.write(current, async (completed, own) => {
      const result = await run(index + 1, completed, [...before, ...own]);
      return { result, lostOwn: lostAmong(result, before.length + 1, own.length) };
    });
  };
  return run(0, object, []);
}

async function storeWith(
  store: StoreObject,
  object: KubeObject,
  companions: readonly WriteOperation[],
): Promise<WriteResult> {
  const result = await store(object, companions);
  const isOfThisWrite = result.outcome === 'committed' || result.index <= companions.length;
  invariant(isOfThisWrite, 'the operation that lost belongs to this write', { companions: companions.length });
  return result;
}

/** The position of the operation that lost, among `count` operations from `first` on. */
function lostAmong(result: WriteResult, first: number, count: number): number | undefined {
  if (result.outcome === 'committed') return undefined;
  const position = result.index - first;
  return position >= 0 && position < count ? position : undefined;
}

/** The answer of a dry run. */
export async function rehearse(companions: readonly WriteCompanion[], object: KubeObject): Promise<KubeObject> {
  let completed = object;
  for (const companion of companions) completed = (await companion.rehearse?.(completed)) ?? completed;
  return completed;
}

/** What is stored together with the removal of the object. */
export async function releaseAll(companions: readonly WriteCompanion[]): Promise<readonly WriteOperation[]> {
  const operations: WriteOperation[] = [];
  for (const companion of companions) operations.push(...((await companion.release?.()) ?? []));
  return operations;
}
