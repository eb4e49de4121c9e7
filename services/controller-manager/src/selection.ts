import type { ResourceRef } from '@holdfast/api';
import { type Log, OperatorError } from '@holdfast/platform';
import type { ControllerDefinition } from './common/context.ts';

/** The controllers to run: `*` = all, `name` = this one, `-name` = not this one. Mandatory ones run in any case. */
export function selectControllers(
  all: readonly ControllerDefinition[],
  wanted: readonly string[],
  of: { readonly resources: readonly ResourceRef[]; readonly log: Log },
): readonly ControllerDefinition[] {
  refuseUnknown(all, wanted);
  const served = new Set(of.resources.map(pathOf));
  return all.filter((definition) => {
    if (!isWanted(definition, wanted)) return false;
    const missing = definition.watches.filter((kind) => !served.has(pathOf(kind)));
    if (missing.length === 0) return true;
    of.log.warn('a controller does not start because the API does not serve its kinds', {
      controller: definition.name,
      missing: missing.map(({ plural }) => plural),
    });
    return false;
  });
}

const pathOf = ({ group, version, plural }: ResourceRef): string => `${group}/${version}/${plural}`;

function isWanted({ name, isMandatory }: ControllerDefinition, wanted: readonly string[]): boolean {
  if (isMandatory === true || wanted.includes(name)) return true;
  return wanted.includes('*') && !wanted.includes(`-${name}`);
}

function refuseUnknown(all: readonly ControllerDefinition[], wanted: readonly string[]): void {
  const known = new Set(['*', ...all.flatMap(({ name }) => [name, `-${name}`])]);
  const unknown = wanted.filter((name) => !known.has(name));
  const fixed = all.filter(({ name, isMandatory }) => isMandatory === true && wanted.includes(`-${name}`));
  if (unknown.length === 0 && fixed.length === 0) return;
  throw new OperatorError({
    code: 'BadControllers',
    message:
      unknown.length > 0
        ? `there is no controller named ${unknown.join(', ')}`
        : `${fixed.map(({ name }) => name).join(', ')} cannot be switched off: without it the pods of a lost node are never released`,
    nextStep: `choose from *, ${all.map(({ name }) => name).join(', ')}; a leading minus leaves one out`,
    exitCode: 2,
  });
}
