import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Lineage, Revision } from '@holdfast/store';

/** What a client can prove: at this revision the history of this lineage had this write. */
export interface SeenPlace {
  /** Public name of the lineage. */
  readonly lineage: string;
  readonly revision: Revision;
  /** Digest of the write id; '' where the history did not tell. */
  readonly mark: string;
}

const NAME_CHARACTERS = 16;
const TEXT_MAX = 200;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, NAME_CHARACTERS);

/** The incarnation itself signs tokens and stays secret. */
export const lineageName = ({ incarnation, epoch }: Lineage): string => digest(`lineage ${incarnation} ${epoch}`);

export const markOf = (writeId: string | undefined): string =>
  writeId === undefined ? '' : digest(`write ${writeId}`);

/** `<lineage>.<revision>.<mark>.<signature>`: only an API server of this store can create it. */
export function tokenOf(lineage: Lineage, revision: Revision, writeId: string | undefined): string {
  const text = `${lineageName(lineage)}.${revision}.${markOf(writeId)}`;
  return `${text}.${signature(lineage, text)}`;
}

/** `undefined` for what no API server of this incarnation has signed. */
export function readToken(lineage: Lineage, token: string): SeenPlace | undefined {
  if (token.length > TEXT_MAX) return undefined;
  const cut = token.lastIndexOf('.');
  const text = token.slice(0, Math.max(cut, 0));
  const [name = '', revision = '', mark = ''] = text.split('.');
  const given = Buffer.from(token.slice(cut + 1));
  const due = Buffer.from(signature(lineage, text));
  if (given.length !== due.length || !timingSafeEqual(given, due)) return undefined;
  return { lineage: name, revision: Number(revision), mark };
}

const signature = ({ incarnation }: Lineage, text: string): string =>
  createHmac('sha256', incarnation)
    .update(text)
    .digest('hex')
    .slice(0, 2 * NAME_CHARACTERS);
