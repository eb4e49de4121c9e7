import { type FieldError, invalid, notSupported, required } from '@holdfast/machinery';
import { type Check, dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from './formats.ts';
import { CIDR_TEXT, IP_TEXT, isIp, parseCidr } from './ip.ts';

/** Reports every problem that a text check finds. */
export function validateText(out: FieldError[], path: string, value: string | undefined, check: Check): void {
  // A missing field reaches the checks as undefined, whatever its type says.
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

/** Returns a function that reports whether a value came before. */
export function repeats<T>(): (value: T) => boolean {
  const seen = new Set<T>();
  return (value) => seen.size === seen.add(value).size;
}

/** Checks an enum; an empty value is missing rather than invalid. */
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
