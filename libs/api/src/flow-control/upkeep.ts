import { deepEqual } from '@holdfast/machinery';
import type { FlowSchema, FlowSchemaCondition, ObjectMeta } from '../generated/types.ts';
import type { BootstrapObject } from './bootstrap-object.ts';

/** Annotation that decides whether the API server maintains the spec of a suggested object. */
export const AUTOUPDATE_SPEC = 'apf.kubernetes.io/autoupdate-spec';

interface Stored<Spec> {
  readonly metadata: ObjectMeta;
  readonly spec: Spec;
}

/**
 * Returns the corrected object; `undefined` when it is correct. The spec of a mandatory object is always restored. The
 * spec of a suggested object is restored unless its annotation says "false", or the annotation is absent and a user has
 * changed the spec.
 */
export function upToDate<Spec, T extends Stored<Spec>>(stored: T, wanted: BootstrapObject<Spec>): T | undefined {
  const said = booleanOf(stored.metadata.annotations?.[AUTOUPDATE_SPEC]);
  const isKept = wanted.isMandatory || (said ?? stored.metadata.generation === 1);
  const isSpecRight = !isKept || deepEqual(stored.spec, wanted.spec);
  if (isSpecRight && said === isKept) return undefined;
  const annotations = { ...stored.metadata.annotations, [AUTOUPDATE_SPEC]: String(isKept) };
  return {
    ...stored,
    metadata: { ...stored.metadata, ...(said === isKept ? {} : { annotations }) },
    ...(isSpecRight ? {} : { spec: wanted.spec }),
  };
}

/** True for a suggested object of another API server version that this one does not define. */
export const isObsolete = ({ metadata }: { readonly metadata: ObjectMeta }, known: ReadonlySet<string>): boolean =>
  !known.has(metadata.name ?? '') && booleanOf(metadata.annotations?.[AUTOUPDATE_SPEC]) === true;

const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const FALSE: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

/** Parses Go booleans; `undefined` for anything else. */
function booleanOf(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

/** Returns the condition that reports whether a schema's priority level exists; `undefined` when it is up to date. */
export function danglingCondition(
  { spec, status }: Pick<FlowSchema, 'spec' | 'status'>,
  levelExists: boolean,
  now: string,
): FlowSchemaCondition | undefined {
  const named = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(spec.priorityLevelConfiguration.name)}`;
  const wanted = levelExists
    ? { status: 'False', reason: 'Found', message: `${named} and it exists` }
    : { status: 'True', reason: 'NotFound', message: `${named} but there is no such object` };
  const present = status.conditions?.find(({ type }) => type === 'Dangling');
  const says = ({ status: is, reason, message }: FlowSchemaCondition): boolean =>
    is === wanted.status && reason === wanted.reason && message === wanted.message;
  if (present !== undefined && says(present)) return undefined;
  return { type: 'Dangling', ...wanted, lastTransitionTime: now };
}
