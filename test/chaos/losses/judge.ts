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
 * Judges the volume of one identity: each acknowledged record is there with its writer, and no writer wrote on after its
 * successor had begun.
 */
export function damageOf(signs: readonly Sign[], records: readonly string[]): readonly string[] {
  const lost = signs
    .filter(({ what, record, uid }) => what === 'wrote' && records[record] !== uid)
    .map(({ record, uid, pod }) => `record ${record} of ${pod} is of ${records[record] ?? 'nobody'}, not of ${uid}`);
  const writers = records.filter((uid, index) => uid !== records[index - 1]);
  const returned = writers.filter((uid, index) => writers.indexOf(uid) < index);
  return [...lost, ...returned.map((uid) => `the records of ${uid} are mixed with those of its successor`)];
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
