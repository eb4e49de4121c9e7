import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import { badRequest, conflict, invalid, invalidObject, unclassifiedError, Verbatim } from '@holdfast/machinery';
import type { ResourceContext } from '../http/context.ts';
import { revisionProblem } from '../http/query-values.ts';
import { storagePath, subjectOf } from '../objects/object-keys.ts';
import { placeInNamespace } from './place-in-namespace.ts';
import { mismatch, modified, nameless } from './write-results.ts';

/** An update names the object of its path, and the state that it was made from. */
export function checkIdentity(
  object: KubeObject,
  current: KubeObject,
  context: ResourceContext,
  definition: ResourceDefinition,
): void {
  const { name, namespace } = context.info;
  placeInNamespace(object, namespace, definition);
  checkName(object, name);
  const wanted = object.metadata.resourceVersion ?? '';
  const problem = wanted === '' ? undefined : revisionProblem(wanted);
  if (problem !== undefined) throw unclassifiedError(problem);
  if (wanted !== '' && wanted !== '0' && wanted !== current.metadata.resourceVersion) throw modified(definition, name);
}

/** The object's name must match the path. */
export function checkName(object: KubeObject, name: string): void {
  const own = object.metadata.name ?? '';
  if (own === '') throw nameless(name);
  if (own === name) return;
  throw badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`);
}

/** PUT names the state that it replaces, or that it replaces any. */
export function checkReplacement(object: KubeObject, current: KubeObject, definition: ResourceDefinition): void {
  const name = current.metadata.name ?? '';
  checkUid(object, current.metadata, definition);
  const version = object.metadata.resourceVersion ?? '';
  if ((version === '' || version === '0') && definition.strategy.allowUnconditionalUpdate !== true) {
    throw invalidObject({ group: definition.group, kind: definition.plural, name }, [
      invalid('metadata.resourceVersion', new Verbatim('0x0'), 'must be specified for an update'),
    ]);
  }
}

/** An absent object has the uid ''. */
export function checkUid(
  object: KubeObject,
  current: { readonly name?: string; readonly namespace?: string; readonly uid?: string },
  definition: ResourceDefinition,
): void {
  const { uid = '' } = object.metadata;
  const { name = '', uid: found = '' } = current;
  if (uid === '' || uid === found) return;
  throw conflict(
    subjectOf(definition, name),
    mismatch(storagePath(definition, current), 'UID', { wanted: uid, found }),
  );
}
