/** Leaves out `metadata.managedFields`, which is most of the text and of use to few. */
export function withoutManagedFields(yaml: string): string {
  const kept: string[] = [];
  let isInside = false;
  for (const line of yaml.split('\n')) {
    if (line === '  managedFields:') isInside = true;
    else if (!(isInside && /^ {2}(?:[- ]|$)/.test(line))) {
      isInside = false;
      kept.push(line);
    }
  }
  return kept.join('\n');
}

/** Lines that are drawn: some ten thousand more stop the tab. */
const LINES_DRAWN_MAX = 4_000;

export interface DrawnLines<T> {
  readonly lines: readonly T[];
  /** Says what is left out; empty: nothing. */
  readonly left: string;
}

/** The first lines, and a sentence about the others. */
export function drawnLines<T>(lines: readonly T[]): DrawnLines<T> {
  const left = lines.length - LINES_DRAWN_MAX;
  if (left <= 0) return { lines, left: '' };
  const sentence = `${left.toLocaleString('en')} more lines are not drawn: \`kubectl get -o yaml\` prints all of them.`;
  return { lines: lines.slice(0, LINES_DRAWN_MAX), left: sentence };
}

export interface YamlPart {
  readonly kind: 'key' | 'text' | 'mark';
  readonly text: string;
}

const KEY = /^(\s*(?:- )*)((?:"[^"]*"|'[^']*'|[^\s:#'"][^:#]*?))(:)(?= |$)(.*)$/;
const ITEM = /^(\s*(?:- )+)(.*)$/;

/** Longer lines are data that somebody stored, and a pattern could take minutes for one. */
const COLOURED_MAX = 2_000;

/** The parts of a line, for colours. */
export function partsOf(line: string): readonly YamlPart[] {
  if (line.length > COLOURED_MAX) return [part('text', line)];
  const keyed = KEY.exec(line);
  if (keyed !== null) {
    const [, before = '', key = '', colon = '', rest = ''] = keyed;
    return [part('mark', before), part('key', key), part('mark', colon), part('text', rest)].filter(hasText);
  }
  const item = ITEM.exec(line);
  if (item === null) return [part('text', line)];
  return [part('mark', item[1] ?? ''), part('text', item[2] ?? '')].filter(hasText);
}

const part = (kind: YamlPart['kind'], text: string): YamlPart => ({ kind, text });
const hasText = ({ text }: YamlPart): boolean => text !== '';

/** Set by the server. The uid stays: an apply must not make an object anew that somebody deleted meanwhile. */
const OF_SERVER = /^ {2}(?:resourceVersion|generation|creationTimestamp|selfLink):/;

/** What a person may change: without what the server sets, field owners and the status. */
export function forEditing(yaml: string): string {
  const kept: string[] = [];
  let section = '';
  for (const line of withoutManagedFields(yaml).split('\n')) {
    if (line !== '' && !/^[\s-]/.test(line)) section = line.split(':', 1)[0] ?? '';
    const isLeftOut = section === 'status' || (section === 'metadata' && OF_SERVER.test(line));
    if (!isLeftOut) kept.push(line);
  }
  return `${kept.join('\n').trimEnd()}\n`;
}
