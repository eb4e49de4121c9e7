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

/** What an acknowledged record of a volume may have become. */
export interface VolumeRules {
  /** Pods of one node may use it at the same time: those of a Deployment, which have no identity. */
  readonly isShared?: boolean;
}

/**
 * Judges one volume: each acknowledged record is there with its writer, and no writer wrote on after its successor had
 * begun. Of pods that share it, those that live at the same time on one node may overwrite each other.
 */
export function damageOf(
  signs: readonly Sign[],
  records: readonly string[],
  { isShared = false }: VolumeRules = {},
): readonly string[] {
  const lives = livesOf(signs);
  const lost = signs
    .filter(({ what, record, uid }) => {
      const writer = records[record];
      return what === 'wrote' && writer !== uid && !(isShared && meet(lives.get(writer ?? ''), lives.get(uid)));
    })
    .map(({ record, uid, pod }) => `record ${record} of ${pod} is of ${records[record] ?? 'nobody'}, not of ${uid}`);
  const turnOf = (uid: string): string => (isShared ? (lives.get(uid)?.node ?? uid) : uid);
  const returned = returnedWriters(records, turnOf);
  return [...lost, ...returned.map((uid) => `the records of ${uid} are mixed with those of its successor`)];
}

interface Life {
  readonly node: string;
  readonly fromMs: number;
  toMs: number;
}

/** By uid. Times of one node can be compared. */
function livesOf(signs: readonly Sign[]): ReadonlyMap<string, Life> {
  const lives = new Map<string, Life>();
  for (const { uid, node, atMs } of signs) {
    const life = lives.get(uid);
    if (life === undefined) lives.set(uid, { node, fromMs: atMs, toMs: atMs });
    else life.toMs = Math.max(life.toMs, atMs);
  }
  return lives;
}

const meet = (one: Life | undefined, other: Life | undefined): boolean =>
  one !== undefined &&
  other !== undefined &&
  one.node === other.node &&
  one.fromMs <= other.toMs &&
  other.fromMs <= one.toMs;

/** Writers that took a second turn: there are records of another between theirs. */
function returnedWriters(records: readonly string[], turnOf: (uid: string) => string): readonly string[] {
  const turns = new Map<string, number>();
  const returned = new Set<string>();
  let turn = 0;
  for (const [index, uid] of records.entries()) {
    if (index > 0 && turnOf(uid) !== turnOf(records[index - 1] ?? '')) turn += 1;
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
