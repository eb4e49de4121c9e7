import { type FieldError, invalid } from '@holdfast/machinery';

const isAbsolute = (path: string): boolean => path.startsWith('/');

export function validateNoBacksteps(out: FieldError[], path: string, target: string): void {
  if (target.split('/').includes('..')) out.push(invalid(path, target, "must not contain '..'"));
}

/** Accepts a relative path that stays inside its start directory. */
export function validateDescendingPath(out: FieldError[], path: string, target: string): void {
  if (isAbsolute(target)) out.push(invalid(path, target, 'must be a relative path'));
  validateNoBacksteps(out, path, target);
}

/** The volume's writer reserves names that begin with two dots. */
export function validateLocalPath(out: FieldError[], path: string, target: string): void {
  validateDescendingPath(out, path, target);
  if (target.startsWith('..') && !target.startsWith('../')) {
    out.push(invalid(path, target, "must not start with '..'"));
  }
}

export function validateAbsolutePath(out: FieldError[], path: string, target: string): void {
  if (!isAbsolute(target)) out.push(invalid(path, target, 'must be an absolute path'));
}

const FILE_MODE_TEXT = 'must be a number between 0 and 0777 (octal), both inclusive';

export function validateFileMode(out: FieldError[], path: string, mode: number | undefined): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) out.push(invalid(path, mode, FILE_MODE_TEXT));
}
