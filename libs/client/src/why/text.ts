import { parseTime } from '@holdfast/platform/time';
import { type Finding, isWait, lengthOf } from './finding.ts';

export interface Explained {
  /** `pod default/web-1` */
  readonly subject: string;
  readonly finding: Finding;
  /** Resources that the user may not read. */
  readonly unread: readonly string[];
}

/** One paragraph. */
export function paragraphOf({ subject, finding, unread }: Explained, now: number): string {
  const hidden = unread.length === 0 ? '' : ` You may not read ${unread.join(', ')}, so something may be missing here.`;
  if (!isWait(finding)) return `${subject} waits for nothing: ${finding.rests}.${hidden}`;
  const { waitsFor, endsWhen, since } = finding;
  const began = parseTime(since ?? '');
  const long = began === undefined ? '' : ` It has waited for ${lengthOf(now - began)} (since ${since}).`;
  return `${subject} waits: ${waitsFor}. The wait ends when ${endsWhen}.${long}${hidden}`;
}

/** The same for programs; `waitsFor` is null for an object that waits for nothing. */
export function documentOf({ subject, finding, unread }: Explained): object {
  const hidden = unread.length === 0 ? {} : { unread };
  if (!isWait(finding))
    return { subject, waitsFor: null, endsWhen: null, since: null, state: finding.rests, ...hidden };
  const { waitsFor, endsWhen, since = null } = finding;
  return { subject, waitsFor, endsWhen, since, ...hidden };
}
