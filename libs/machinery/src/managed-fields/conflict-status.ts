import { formatPath } from '../fieldpath/element.ts';
import { MAX_CONFLICTS_TOLD } from '../limits.ts';
import { type StatusCause, StatusError } from '../status.ts';
import { compareText, identifierOf, type ManagerId } from './entries.ts';
import type { FieldConflict } from './owners.ts';

/** Returns the 409 that names every field and its owner. */
export function applyConflict(conflicts: readonly FieldConflict[]): StatusError {
  const causes: StatusCause[] = conflicts.slice(0, MAX_CONFLICTS_TOLD).map(({ owner, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${describeManager(owner)}`,
    field: formatPath(path),
  }));
  return new StatusError({ code: 409, reason: 'Conflict', message: conflictMessage(conflicts), details: { causes } });
}

function conflictMessage(conflicts: readonly FieldConflict[]): string {
  const [only] = conflicts;
  if (only !== undefined && conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${describeManager(only.owner)}: ${formatPath(only.path)}`;
  }
  const told = conflicts.slice(0, MAX_CONFLICTS_TOLD);
  const byManager = Map.groupBy(told, ({ owner }) => identifierOf(owner));
  const lines = [...byManager]
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([, group]) => [
      ...group.slice(0, 1).map(({ owner }) => `conflicts with ${describeManager(owner)}:`),
      ...group.map(({ path }) => `- ${formatPath(path)}`),
    ]);
  const rest = conflicts.length > told.length ? [`and ${conflicts.length - told.length} more`] : [];
  return `Apply failed with ${conflicts.length} conflicts: ${[...lines, ...rest].join('\n')}`;
}

function describeManager({ manager, operation, apiVersion, subresource }: ManagerId): string {
  const name = JSON.stringify(manager) + (subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`);
  return operation === 'Update' ? `${name} using ${apiVersion}` : name;
}
