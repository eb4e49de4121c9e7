import { mediaTypeOf } from '../http/body.ts';
import type { ResourceContext } from '../http/context.ts';
import { invalidOptions } from '../http/options-error.ts';

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore';
  readonly force: boolean;
}

const FIELD_VALIDATION = ['Ignore', 'Strict', 'Warn'] as const;

export function readWriteOptions(
  context: ResourceContext,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
): WriteOptions {
  const { query, headers } = context.request;
  const force = query.get('force');
  if (force !== null && kind === 'PatchOptions' && !isApply(context)) {
    throw invalidOptions(kind, 'force', 'Forbidden', 'may not be specified for non-apply patch');
  }
  return {
    dryRun: readDryRun(query.getAll('dryRun'), kind),
    fieldManager: query.get('fieldManager') || (headers['user-agent'] ?? '').split('/')[0] || 'unknown',
    fieldValidation: readFieldValidation(query.get('fieldValidation') ?? '', kind),
    force: force === 'true' || force === '1',
  };
}

export function readDryRun(values: readonly string[], kind: string): boolean {
  if (values.length === 0) return false;
  if (values.every((value) => value === 'All')) return true;
  const shown = `[]string{${values.map((value) => JSON.stringify(value)).join(', ')}}`;
  throw invalidOptions(kind, 'dryRun', 'Unsupported value', `${shown}: supported values: "All"`);
}

function readFieldValidation(text: string, kind: string): WriteOptions['fieldValidation'] {
  if (text === '') return 'Warn';
  const known = FIELD_VALIDATION.find((each) => each === text);
  if (known !== undefined) return known;
  throw invalidOptions(
    kind,
    'fieldValidation',
    'Unsupported value',
    `${JSON.stringify(text)}: supported values: "", "Ignore", "Strict", "Warn"`,
  );
}

export const APPLY_PATCH = 'application/apply-patch+yaml';

const isApply = (context: ResourceContext): boolean => mediaTypeOf(context.request) === APPLY_PATCH;
