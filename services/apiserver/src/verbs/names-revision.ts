import type { ApiRequest } from '@holdfast/client';
import { isJsonObject, type Json, parseJson } from '@holdfast/machinery';
import { bodyText } from '../http/body.ts';

/**
 * Whether the body of an update names a state. A patch without one applies to any state, and the patched object does
 * not show the difference. Bodies that are not JSON count as naming none.
 */
export function namesRevision(request: ApiRequest): boolean {
  try {
    const { value } = parseJson(bodyText(request));
    return Array.isArray(value) ? value.some(isAboutRevision) : isNamed(value);
  } catch {
    return false;
  }
}

const isAboutRevision = (operation: Json): boolean =>
  isJsonObject(operation) && operation['path'] === '/metadata/resourceVersion' && operation['op'] !== 'remove';

function isNamed(body: Json): boolean {
  const metadata = isJsonObject(body) ? body['metadata'] : undefined;
  const version = isJsonObject(metadata) ? metadata['resourceVersion'] : undefined;
  return typeof version === 'string' && version !== '' && version !== '0';
}
