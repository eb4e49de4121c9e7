import {
  type FieldError,
  forbidden,
  invalid,
  invalidObject,
  notSupported,
  required,
  tooLong,
  Verbatim,
} from '@holdfast/machinery';
import { mediaTypeOf } from '../http/body.ts';
import type { ResourceContext } from '../http/context.ts';
import { isTrue } from '../http/request-info.ts';
import { FIELD_MANAGER_BYTES_MAX } from '../limits.ts';

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore';
  readonly force: boolean;
}

type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions';

const FIELD_VALIDATION = ['Ignore', 'Strict', 'Warn'] as const;

/** Reports all errors of the options together. */
export function readWriteOptions(context: ResourceContext, kind: Exclude<OptionsKind, 'DeleteOptions'>): WriteOptions {
  const { query, headers } = context.request;
  if (query.size === 0 && !(kind === 'PatchOptions' && isApply(context)))
    return plainOptions(headers['user-agent'] ?? '');
  const force = query.get('force');
  const fieldManager = query.get('fieldManager') ?? '';
  const validation = query.get('fieldValidation') ?? '';
  const fieldValidation = validation === '' ? 'Warn' : FIELD_VALIDATION.find((each) => each === validation);
  refuseWrong(kind, [
    ...(kind === 'PatchOptions' ? patchErrors(isApply(context), force, fieldManager) : []),
    ...managerErrors(fieldManager),
    ...dryRunErrors(query.getAll('dryRun')),
    ...(fieldValidation === undefined ? [notSupported('fieldValidation', validation, ['', ...FIELD_VALIDATION])] : []),
  ]);
  return {
    dryRun: query.has('dryRun'),
    fieldManager: fieldManager || managerOf(headers['user-agent'] ?? '') || 'unknown',
    fieldValidation: fieldValidation ?? 'Warn',
    force: isTrue(force),
  };
}

/** Most requests say nothing about how to write. */
function plainOptions(userAgent: string): WriteOptions {
  return { dryRun: false, fieldManager: managerOf(userAgent) || 'unknown', fieldValidation: 'Warn', force: false };
}

export function refuseWrong(kind: OptionsKind, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind, name: '' }, errors);
}

export function dryRunErrors(values: readonly string[]): readonly FieldError[] {
  if (values.every((value) => value === 'All')) return [];
  const shown = new Verbatim(`[]string{${values.map((value) => JSON.stringify(value)).join(', ')}}`);
  return [notSupported('dryRun', shown, ['All'])];
}

function patchErrors(apply: boolean, force: string | null, fieldManager: string): readonly FieldError[] {
  if (!apply) return force === null ? [] : [forbidden('force', 'may not be specified for non-apply patch')];
  return fieldManager === '' ? [required('fieldManager', 'is required for apply patch')] : [];
}

/** Go's notion: letters, marks, numbers, punctuation, symbols and the plain space. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

function managerErrors(name: string): readonly FieldError[] {
  const long = Buffer.byteLength(name) > FIELD_MANAGER_BYTES_MAX;
  const found = UNPRINTABLE.exec(name);
  if (found === null) return long ? [tooLong('fieldManager', FIELD_MANAGER_BYTES_MAX)] : [];
  const code = (found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const position = Buffer.byteLength(name.slice(0, found.index));
  return [
    ...(long ? [tooLong('fieldManager', FIELD_MANAGER_BYTES_MAX)] : []),
    invalid('fieldManager', name, `invalid character U+${code} (at position ${position})`),
  ];
}

/** Without a named manager the program is used: `kubectl/v1.32.0 ...`, as far as it is printable and within limits. */
function managerOf(userAgent: string): string {
  const program = userAgent.slice(0, endOfProgram(userAgent));
  return PLAIN_PROGRAM.test(program) ? program : printable(program);
}

function endOfProgram(userAgent: string): number {
  const slash = userAgent.indexOf('/');
  return slash < 0 ? userAgent.length : slash;
}

/** Short, and of characters that are all printed: nothing to leave out. */
const PLAIN_PROGRAM = /^[\w.: -]{0,128}$/;

function printable(program: string): string {
  let name = '';
  for (const char of program) {
    if (UNPRINTABLE.test(char)) continue;
    if (Buffer.byteLength(name + char) > FIELD_MANAGER_BYTES_MAX) break;
    name += char;
  }
  return name;
}

export const APPLY_PATCH = 'application/apply-patch+yaml';

const isApply = (context: ResourceContext): boolean => mediaTypeOf(context.request) === APPLY_PATCH;
