import { type FieldError, invalid, notSupported, required } from '@holdfast/machinery';
import { type Check, dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from './formats.ts';
import { CIDR_TEXT, IP_TEXT, isIp, parseCidr } from './ip.ts';

/** Reports every problem that a text check finds. */
export function validateText(out: FieldError[], path: string, value: string | undefined, check: Check): void {
  // What a body leaves out reaches the checks as nothing, whatever the type promises.
  for (const text of check(value ?? '')) out.push(invalid(path, value ?? '', text));
}

export const validateDnsLabel = (out: FieldError[], path: string, value: string | undefined): void =>
  validateText(out, path, value, dnsLabelErrors);

export const validateDnsSubdomain = (out: FieldError[], path: string, value: string | undefined): void =>
  validateText(out, path, value, dnsSubdomainErrors);

export const validateQualifiedName = (out: FieldError[], path: string, value: string | undefined): void =>
  validateText(out, path, value, qualifiedNameErrors);

export function validateRequiredText(out: FieldError[], path: string, value: string | undefined, detail = ''): boolean {
  if (value !== undefined && value !== '') return true;
  out.push(required(path, detail));
  return false;
}

/** Tells of one value after the other whether it came before. */
export function repeats<T>(): (value: T) => boolean {
  const seen = new Set<T>();
  return (value) => seen.size === seen.add(value).size;
}

/** One of a few words; an empty one is missing rather than wrong. */
export function validateRequiredWord(
  out: FieldError[],
  path: string,
  value: string | undefined,
  words: readonly string[],
): void {
  if (validateRequiredText(out, path, value) && value !== undefined) validateWord(out, path, value, words);
}

export function validateWord(
  out: FieldError[],
  path: string,
  value: string | undefined,
  words: readonly string[],
): void {
  if (value !== undefined && !words.includes(value)) out.push(notSupported(path, value, words));
}

export function validateIp(out: FieldError[], path: string, value: string): boolean {
  if (isIp(value)) return true;
  out.push(invalid(path, value, IP_TEXT));
  return false;
}

export function validateCidr(out: FieldError[], path: string, value: string): void {
  if (parseCidr(value) === undefined) out.push(invalid(path, value, CIDR_TEXT));
}
