import { duplicate, type FieldError, invalid, required, tooLong } from '@holdfast/machinery';
import type { StorageClass, TopologySelectorTerm } from '../../generated/types.ts';
import { repeats, validateQualifiedName, validateRequiredText, validateWord } from '../../validation/check.ts';
import { byteLength } from '../../validation/formats.ts';
import { validateLabelName } from '../../validation/labels.ts';
import { STORAGE_PARAMETER_BYTES_MAX, STORAGE_PARAMETERS_MAX, TOPOLOGY_ERRORS_MAX } from '../../validation/limits.ts';

export function validateStorageClass(out: FieldError[], storageClass: Readonly<StorageClass>): void {
  const { provisioner } = storageClass;
  if (validateRequiredText(out, 'provisioner', provisioner)) {
    validateQualifiedName(out, 'provisioner', provisioner.toLowerCase());
  }
  validateParameters(out, storageClass.parameters ?? {});
  if (storageClass.reclaimPolicy) validateWord(out, 'reclaimPolicy', storageClass.reclaimPolicy, ['Delete', 'Retain']);
  validateWord(out, 'volumeBindingMode', storageClass.volumeBindingMode, ['Immediate', 'WaitForFirstConsumer']);
  validateTopologies(out, storageClass.allowedTopologies ?? []);
}

function validateParameters(out: FieldError[], parameters: Readonly<Record<string, string>>): void {
  const entries = Object.entries(parameters);
  if (entries.length > STORAGE_PARAMETERS_MAX) {
    out.push(tooLong('parameters', STORAGE_PARAMETERS_MAX));
    return;
  }
  let bytes = 0;
  for (const [key, value] of entries) {
    if (key === '') out.push(invalid('parameters', key, 'field can not be empty.'));
    bytes += byteLength(key) + byteLength(value);
  }
  if (bytes > STORAGE_PARAMETER_BYTES_MAX) out.push(tooLong('parameters', STORAGE_PARAMETER_BYTES_MAX));
}

function validateTopologies(out: FieldError[], terms: readonly TopologySelectorTerm[]): void {
  const seen = new Map<string, number>();
  for (const [i, term] of terms.entries()) {
    const path = `allowedTopologies[${i}]`;
    validateTerm(out, path, term);
    const key = termKey(term);
    // A term that selects nothing counts as a duplicate of every term, including itself.
    const before = seen.get(key) ?? 0;
    const equals = key === '' ? terms.length + before : before;
    for (let n = 0; n < equals && out.length < TOPOLOGY_ERRORS_MAX; n++) {
      out.push(duplicate(`${path}.matchLabelExpressions`, ''));
    }
    seen.set(key, before + 1);
  }
}

/** The order of requirements does not distinguish terms. */
const termKey = (term: Readonly<TopologySelectorTerm>): string =>
  (term.matchLabelExpressions ?? [])
    .map(({ key, values }) => `${key}=${[...(values ?? [])].sort().join('|')}`)
    .sort()
    .join(',');

function validateTerm(out: FieldError[], path: string, term: Readonly<TopologySelectorTerm>): void {
  const keys = new Set<string>();
  for (const [i, { key, values }] of (term.matchLabelExpressions ?? []).entries()) {
    const at = `${path}.matchLabelExpressions[${i}]`;
    if ((values ?? []).length === 0) out.push(required(`${at}.values`));
    const isRepeated = repeats<string>();
    for (const [j, value] of (values ?? []).entries()) {
      if (isRepeated(value)) out.push(duplicate(`${at}.values[${j}]`, value));
    }
    validateLabelName(out, `${at}.key`, key ?? '');
    if (keys.has(key)) out.push(duplicate(`${at}.key`, key));
    keys.add(key);
  }
}
