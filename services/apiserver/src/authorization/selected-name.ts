import { type FieldSelectorMatcher, parseFieldSelector, SelectorError } from '@holdfast/machinery';
import { IS_NO_PART, type RequestInfo } from '../http/request-info.ts';

/** Who lists or watches the one object of a name asks for that object: a role may name it, and a refusal does. */
export function withSelectedName(info: RequestInfo): RequestInfo {
  if (info.kind === 'path' || info.name !== '' || info.fieldSelector === undefined) return info;
  if (info.verb !== 'list' && info.verb !== 'watch') return info;
  const name = selectorIn(info.fieldSelector)?.requiredValue('metadata.name');
  return name === undefined || name === '' || IS_NO_PART.test(name) ? info : { ...info, name };
}

/** `undefined` for what is none, as the client will be told. */
export function selectorIn(text: string): FieldSelectorMatcher | undefined {
  try {
    return parseFieldSelector(text);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
