import { type FieldSelectorMatcher, parseFieldSelector, SelectorError } from '@holdfast/machinery';
import { IS_NO_PART, type RequestInfo } from './request-info.ts';

/** A list or watch of a single name counts as a request for that object: a role may name it, and so does a refusal. */
export function withSelectedName(info: RequestInfo): RequestInfo {
  if (info.kind === 'path' || info.name !== '' || info.fieldSelector === undefined) return info;
  if (info.verb !== 'list' && info.verb !== 'watch') return info;
  const name = selectorIn(info.fieldSelector)?.requiredValue('metadata.name');
  return name === undefined || name === '' || IS_NO_PART.test(name) ? info : { ...info, name };
}

/** Returns `undefined` for an invalid selector, which is reported later. */
export function selectorIn(text: string): FieldSelectorMatcher | undefined {
  try {
    return parseFieldSelector(text);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
