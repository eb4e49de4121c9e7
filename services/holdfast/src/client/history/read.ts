import type { HistoryChange, HistoryChangeList } from '@holdfast/apiserver/history-documents';
import { misuse, plainName } from '../misuse.ts';
import { resolveWords } from '../resources.ts';
import type { Session } from '../session.ts';

const PATH = '/holdfast.io/history/v1/changes';
const PAGE = 2_000;
/** More are no longer read by people. */
export const CHANGES_MAX = 20_000;

export interface HistoryQuestion {
  readonly since: string;
  readonly object: string | undefined;
  readonly user: string | undefined;
}

export interface HistoryFound {
  readonly changes: readonly HistoryChange[];
  /** True when later ones are left out. */
  readonly isCut: boolean;
}

/** Reads the changes of an object, of a kind or of everything, oldest first. */
export async function readHistory(session: Session, { since, object, user }: HistoryQuestion): Promise<HistoryFound> {
  const place = object === undefined ? '' : await placeOf(object, session);
  return readChanges(session, place, user === undefined ? { since } : { since, user });
}

/** Reads the changes below a path of the API page by page, oldest first. */
export async function readChanges(
  session: Session,
  place: string,
  asked: Readonly<Record<string, string>>,
): Promise<HistoryFound> {
  const changes: HistoryChange[] = [];
  let to = '';
  for (let token = ''; ; ) {
    const query = new URLSearchParams({ ...asked, limit: String(PAGE) });
    if (token !== '') query.set('continue', token);
    // A later page ends where the first one does.
    if (to !== '') query.set('to', to);
    const page = (await session.read(`${PATH}${place}`, 'application/json', query)) as HistoryChangeList;
    changes.push(...page.items);
    to = page.metadata.resourceVersion;
    token = page.metadata.continue ?? '';
    if (token === '') return { changes, isCut: false };
    if (changes.length >= CHANGES_MAX) return { changes, isCut: true };
  }
}

/** `KIND/NAME`, `KIND/NAMESPACE/NAME` or `KIND`. */
async function placeOf(object: string, session: Session): Promise<string> {
  const [kind = '', ...names] = object.split('/');
  if (kind === '' || names.length > 2 || names.includes('')) {
    throw misuse(`"${object}" is not an object`, 'Give it as KIND/NAMESPACE/NAME, as in --object pod/default/web.');
  }
  const { resource } = await resolveWords([kind], session);
  const { group, version, plural, namespaced } = resource;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const [first, second] = names;
  if (!namespaced && second !== undefined)
    throw misuse(`${plural} have no namespace`, `Use --object ${kind}/${second}.`);
  const namespace = second === undefined ? session.namespace : plainName(first ?? '');
  const scope = namespaced && names.length > 0 ? `/namespaces/${namespace}` : '';
  const name = second ?? first;
  return `${root}${scope}/${plural}${name === undefined ? '' : `/${plainName(name)}`}`;
}
