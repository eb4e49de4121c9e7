import type { HistoryAuthor, HistoryChange } from '@holdfast/client/history-documents';
import { harmless } from '@holdfast/platform/harmless';

const VALUE_CHARS_MAX = 60;
const DIFFERENCES_TOLD = 3;

/** The writer in a few words: `alice (kubectl)`. */
export function writerOf({ by }: Pick<HistoryChange, 'by'>): string {
  const { user = '', userAgent = '', manager = '' } = by ?? {};
  const program = userAgent === '' ? manager : (userAgent.split('/', 1)[0] ?? '');
  if (user === '') return harmless(manager === '' ? 'unknown' : `unknown (${manager})`);
  // Components are named after their user.
  return harmless(program === '' || user.endsWith(`:${program}`) ? user : `${user} (${program})`);
}

/** The object as people write it: `deployments.apps default/web`. */
export function objectName({ group, resource, namespace, name }: HistoryChange['object']): string {
  const kind = group === '' ? resource : `${resource}.${group}`;
  return harmless(`${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`);
}

const DEEDS: Readonly<Record<HistoryChange['type'], string>> = {
  created: 'created',
  updated: 'changed',
  deleted: 'removed',
  refused: 'was refused',
};

/** What was done: `changed scale of`, `was refused`. */
export function deedOf({ type, by }: Pick<HistoryChange, 'type' | 'by'>): string {
  const part = by?.subresource;
  return part === undefined ? DEEDS[type] : `${DEEDS[type]} (${harmless(part)})`;
}

/** What differs, or why it was refused, in one line. */
export function detailOf({ reason, diff = [], diffCut }: HistoryChange): string {
  if (reason !== undefined) return harmless(reason);
  const told = diff.slice(0, DIFFERENCES_TOLD).map(differenceText);
  const more = diff.length - told.length;
  if (more > 0) told.push(`${more}${diffCut === true ? ' or more' : ''} others`);
  return told.join('; ');
}

export type Difference = NonNullable<HistoryChange['diff']>[number];

/** One difference in one line: `spec.replicas: 2 -> 5`. */
export function differenceText({ op, path, from, value }: Difference): string {
  const place = harmless(path.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~'));
  if (op === 'add') return `${place}: ${short(value)} is new`;
  return op === 'remove' ? `${place}: ${short(from)} is gone` : `${place}: ${short(from)} -> ${short(value)}`;
}

function short(value: unknown): string {
  const text = harmless(JSON.stringify(value) ?? '');
  return text.length <= VALUE_CHARS_MAX ? text : `${text.slice(0, VALUE_CHARS_MAX)}...`;
}

/** True for a write over a state that was not sent to its writer before. */
export function isBlind({ type, seen, previousRevision, by }: HistoryChange): boolean {
  if (type !== 'updated' && type !== 'deleted') return false;
  return isKnown(by) && seen?.any !== undefined && Number(seen.resource ?? 0) < Number(previousRevision ?? 0);
}

const isKnown = (by: HistoryAuthor | undefined): boolean => by?.user !== undefined;

/** The newest state that the writer had seen: of the same resource, or of whatever made it create something. */
export function newestSeen({ type, seen = {} }: HistoryChange): string | undefined {
  return type === 'created' ? (seen.any ?? seen.resource) : (seen.resource ?? seen.any);
}

/** The same for people. */
export function seenText(change: HistoryChange): string {
  const newest = newestSeen(change) ?? '-';
  return isBlind(change) ? `${newest} (not ${change.previousRevision})` : newest;
}
