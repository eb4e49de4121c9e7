import type { ObjectMeta, PodSpec } from '@holdfast/api';
import { BASELINE } from './baseline.ts';
import type { Candidate, Check, Violation } from './check.ts';
import type { LeveledVersion } from './levels.ts';
import { RESTRICTED } from './restricted.ts';

export interface PodShape {
  readonly metadata: Readonly<ObjectMeta> | undefined;
  readonly spec: Readonly<PodSpec>;
}

/** Returns the violations of a level by a pod: baseline controls first, each group by name. */
export function violations(shape: PodShape, { level, minor }: LeveledVersion): readonly Violation[] {
  if (level === 'privileged') return [];
  const candidate: Candidate = { ...shape, minor };
  const active = (checks: readonly Check[]): readonly Check[] => checks.filter((check) => applies(check, candidate));
  const restricted = level === 'restricted' ? active(RESTRICTED) : [];
  const baseline = active(BASELINE).filter(({ replacedBy }) => restricted.every(({ id }) => id !== replacedBy));
  // A control that does not apply to an operating system does not restore the weaker one that it replaces.
  return [...baseline, ...restricted].flatMap(
    (check) => (isExempt(check, candidate) ? [] : check.find(candidate)) ?? [],
  );
}

const applies = ({ since }: Check, { minor }: Candidate): boolean => minor >= since;

const isExempt = ({ notForWindowsSince }: Check, { spec, minor }: Candidate): boolean =>
  notForWindowsSince !== undefined && minor >= notForWindowsSince && spec.os?.name === 'windows';

/** `reason (detail), reason (detail)` */
export const detailsText = (found: readonly Violation[]): string =>
  found.map(({ reason, detail }) => `${reason} (${detail})`).join(', ');

export const reasonsText = (found: readonly Violation[]): string => found.map(({ reason }) => reason).join(', ');
