import { kindsOf, versionsByGroup } from '../endpoints/served-kinds.ts';
import { VERSION } from '../endpoints/version.ts';
import { groupVersion } from '../served.ts';
import { pathsOf } from './operations.ts';
import { signpostNames, signposts, versionSignpost } from './signposts.ts';
import { openApi3 } from './version-3.ts';

const nameOf = (of: { readonly group: string; readonly version: string }): string =>
  `${of.group === '' ? 'api' : 'apis'}/${groupVersion(of)}`;

/** The OpenAPI 3 documents: `api/v1`, `apis/apps/v1`, ..., and the paths that lead there. */
export const documentNames3 = (): readonly string[] => [...versionsByGroup().map(nameOf), ...signpostNames()].sort();

/** The one of that name. */
export function documentOf3(name: string): unknown {
  const of = versionsByGroup().find((each) => nameOf(each) === name);
  if (of === undefined) return openApi3({ paths: signposts(name), kinds: [] }, VERSION.gitVersion);
  const kinds = kindsOf(of.group, of.version);
  const paths = [versionSignpost(of.group, of.version), ...kinds.flatMap(pathsOf)];
  return openApi3({ paths, kinds }, VERSION.gitVersion);
}
