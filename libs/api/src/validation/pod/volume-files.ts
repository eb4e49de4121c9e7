import { type FieldError, invalid, required } from '@holdfast/machinery';
import type { DownwardAPIVolumeFile, KeyToPath } from '../../generated/types.ts';
import { validateFileMode, validateLocalPath } from '../paths.ts';
import { VOLUME_FIELDS, validateFieldRef, validateResourceFieldRef } from './environment.ts';
import { validateRequiredFields } from './volume-sources.ts';

export function validateKeysToPaths(out: FieldError[], path: string, items: readonly KeyToPath[] | undefined): void {
  for (const [i, item] of (items ?? []).entries()) validateKeyToPath(out, `${path}[${i}]`, item);
}

export function validateKeyToPath(out: FieldError[], path: string, item: Readonly<KeyToPath>): void {
  validateRequiredFields(out, path, item, ['key', 'path']);
  validateLocalPath(out, `${path}.path`, item.path ?? '');
  validateFileMode(out, `${path}.mode`, item.mode);
}

export function validateDownwardFile(out: FieldError[], path: string, file: Readonly<DownwardAPIVolumeFile>): void {
  validateRequiredFields(out, path, file, ['path']);
  validateLocalPath(out, `${path}.path`, file.path ?? '');
  if (file.fieldRef !== undefined) {
    validateFieldRef(out, `${path}.fieldRef`, file.fieldRef, VOLUME_FIELDS);
    if (file.resourceFieldRef !== undefined) {
      out.push(invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'));
    }
  } else if (file.resourceFieldRef !== undefined) {
    validateResourceFieldRef(out, `${path}.resourceFieldRef`, file.resourceFieldRef, true);
  } else out.push(required(path, 'one of fieldRef and resourceFieldRef is required'));
  validateFileMode(out, `${path}.mode`, file.mode);
}
