import { type HistoryFound, type ReadDocument, readChanges } from '@holdfast/client/film';
import { misuse, plainName } from '../misuse.ts';
import { resolveWords } from '../resources.ts';
import type { Session } from '../session.ts';

export interface HistoryQuestion {
  readonly since: string;
  readonly object: string | undefined;
  readonly user: string | undefined;
}

/** Reads the changes of an object, of a kind or of everything, oldest first. */
export async function readHistory(session: Session, { since, object, user }: HistoryQuestion): Promise<HistoryFound> {
  const place = object === undefined ? '' : await placeOf(object, session);
  return readChanges(readerOf(session), place, user === undefined ? { since } : { since, user });
}

/** Documents of the API, as JSON. */
export const readerOf =
  (session: Session): ReadDocument =>
  (path, query) =>
    session.read(path, 'application/json', query);

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
