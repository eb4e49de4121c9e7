import { lifeOf, type Sign } from './signs.ts';

/**
 * Judges one identity by the order of the lines in its file. Every process of it appends to the same file, so their
 * order is the order in which they lived, and no clock is compared.
 */
export function overlapsOf(signs: readonly Sign[]): readonly string[] {
  const lives = new Map<string, { readonly first: Sign; last: Sign; readonly from: number; to: number }>();
  for (const [index, beat] of signs.filter(({ what }) => what === 'beat').entries()) {
    const life = lives.get(lifeOf(beat));
    if (life === undefined) lives.set(lifeOf(beat), { first: beat, last: beat, from: index, to: index });
    else Object.assign(life, { last: beat, to: index });
  }
  // In the order of their first beats.
  return [...lives.values()].flatMap((one, index, all) =>
    all
      .slice(index + 1)
      .filter((later) => later.from < one.to)
      .map(
        ({ first }) =>
          `${first.pod} lived as ${lifeOf(one.first)} until ${one.last.atMs - first.atMs} ms after ${lifeOf(first)} began`,
      ),
  );
}

/**
 * Judges one volume: each acknowledged record is there with its writer, and no writer wrote on after another node had begun.
 * Pods of one node may share a volume that is attached there, so they may overwrite each other: whether two of them may live
 * at once is not a question of the volume.
 */
export function damageOf(signs: readonly Sign[], records: readonly string[]): readonly string[] {
  const nodes = new Map(signs.map(({ uid, node }) => [uid, node]));
  const nodeOf = (uid: string): string => nodes.get(uid) ?? `an unknown node of ${uid}`;
  const lost = signs
    .filter(({ what, record, uid, node }) => {
      const writer = records[record];
      return what === 'wrote' && (writer === undefined || (writer !== uid && nodeOf(writer) !== node));
    })
    .map(({ record, uid, pod }) => `record ${record} of ${pod} is of ${records[record] ?? 'nobody'}, not of ${uid}`);
  const returned = returnedWriters(records, nodeOf);
  return [...lost, ...returned.map((uid) => `the records of ${uid} are mixed with those of its successor`)];
}

/** Writers with records before and after those of another node. */
function returnedWriters(records: readonly string[], nodeOf: (uid: string) => string): readonly string[] {
  const turns = new Map<string, number>();
  const returned = new Set<string>();
  let turn = 0;
  for (const [index, uid] of records.entries()) {
    if (index > 0 && nodeOf(uid) !== nodeOf(records[index - 1] ?? '')) turn += 1;
    if ((turns.get(uid) ?? turn) !== turn) returned.add(uid);
    turns.set(uid, turns.get(uid) ?? turn);
  }
  return [...returned];
}

export const refusedOf = (signs: readonly Sign[]): readonly Sign[] => signs.filter(({ what }) => what === 'refused');

/** Refusals of a writer that has no successor: it should have been the one that may write. */
export function surprisesOf(signs: readonly Sign[]): readonly string[] {
  const last = signs.findLast(({ what }) => what === 'beat')?.uid;
  const isReplaced = new Map<string, boolean>();
  for (const { uid } of signs) isReplaced.set(uid, uid !== last);
  return refusedOf(signs)
    .filter(({ uid }) => isReplaced.get(uid) !== true)
    .map((sign) => `${sign.pod} was refused as ${lifeOf(sign)}, which nobody has replaced`);
}
