import type { Catalog } from '../endpoints/catalog.ts';
import { VERSION } from '../endpoints/version.ts';
import { groupVersion } from '../objects/object-keys.ts';
import { type Parts, whole } from '../turns/parts.ts';
import { signpostNames, signposts, versionSignpost } from './signposts.ts';
import { openApi3Parts } from './version-3.ts';

const nameOf = (of: { readonly group: string; readonly version: string }): string =>
  `${of.group === '' ? 'api' : 'apis'}/${groupVersion(of)}`;

/** The OpenAPI 3 documents: `api/v1`, `apis/apps/v1`, ..., and the paths that lead there. */
export const documentNames3 = (catalog: Catalog): readonly string[] =>
  [...catalog.versionsByGroup().map(nameOf), ...signpostNames()].sort();

/** The one of that name. */
export const documentOf3 = (catalog: Catalog, name: string): unknown => whole(documentParts3(catalog, name));

export function documentParts3(catalog: Catalog, name: string): Parts<unknown> {
  const of = catalog.versionsByGroup().find((each) => nameOf(each) === name);
  if (of === undefined) return openApi3Parts({ paths: signposts(name), kinds: [] }, VERSION.gitVersion);
  const kinds = catalog.kindsOf(of.group, of.version);
  return openApi3Parts({ paths: [versionSignpost(of.group, of.version)], kinds }, VERSION.gitVersion);
}

/**
 * Identifies the content of documents that definitions extend, without composing them. `undefined` for a built-in
 * document, which never changes.
 */
export function contentOf3(catalog: Catalog): ReadonlyMap<string, string> {
  const contents = new Map<string, string>();
  for (const of of catalog.versionsByGroup()) {
    const custom = catalog.kindsOf(of.group, of.version).flatMap((each) => each.custom ?? []);
    if (custom.length === 0) continue;
    contents.set(nameOf(of), custom.map(({ uid, generation }) => `${uid}/${generation}`).join(' '));
  }
  return contents;
}
